"""Plain text: the bytes are the message."""

from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, cuts, every_cut, merged, push
from reading import errors, one, only, said

from penstock.backends.registry import backend_named
from penstock.events import MessageStart, MessageStop, StreamError, TextDelta, TurnCompleted, Unknown
from penstock.operators.normalize import normalize

WORDS = "漢字 \u2028 العربية 👩‍👩‍👧\r\n\tend"


def test_whatever_is_printed_is_the_message() -> None:
    events = push(normalize("text"), ["Hel", "lo\n", "world"])
    check_balance(events)
    assert said(events) == "Hello\nworld"
    assert one(MessageStop, events).stop_reason == "end"
    assert one(TurnCompleted, events).stop_reason == "end"


def test_characters_cut_between_bytes_are_whole_again() -> None:
    for pieces in every_cut(WORDS.encode()):
        assert said(push(normalize("text"), pieces)) == WORDS


@given(st.data())
def test_any_bytes_decode_as_if_they_had_come_at_once(data: st.DataObject) -> None:
    whole = data.draw(st.binary(max_size=40))
    events = push(normalize("text"), data.draw(cuts(whole)))
    assert said(events) == whole.decode("utf-8", "replace")
    assert merged(events) == merged(push(normalize("text"), [whole]))


def test_no_text_is_no_message_and_no_error() -> None:
    for nothing in ([], [b""], [""]):
        events = push(normalize("text"), nothing)
        assert not only(MessageStart, events)
        assert not errors(events)
        assert one(TurnCompleted, events)


def test_text_that_looks_like_records_is_still_text() -> None:
    assert said(push(normalize("text"), [b'{"type":"ping"}', b"data: [DONE]"])) == '{"type":"ping"}data: [DONE]'


def test_what_is_no_text_is_kept_or_told() -> None:
    events = push(normalize("text"), ["a", {"b": 1}, StreamError("gap", is_fatal=False), "c"])
    assert one(Unknown, events).payload == {"b": 1}
    assert errors(events) == ["gap"]
    assert [delta.text for delta in only(TextDelta, events)] == ["a", "c"]


def test_it_asks_for_unframed_bytes_and_is_never_guessed() -> None:
    backend = backend_named("text")
    assert backend.framing == "text"
    assert not backend.recognize({"text": "a"})
