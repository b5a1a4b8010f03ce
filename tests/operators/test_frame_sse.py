"""Server-sent events by the WHATWG rules, whatever the cuts (USERS 12, 16; formats 0.1)."""

from typing import get_args

import pytest
from conftest import recordings
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut, feed_all, peak_bytes, push, through_rx
from reactivex.subject import Subject

from penstock.errors import UsageError
from penstock.operators.frame_error import FrameError
from penstock.operators.frame_sse import OnTruncated, ServerSentEvent, frame_sse


def events(stream: bytes | str, on_truncated: OnTruncated = "discard") -> list[ServerSentEvent | FrameError]:
    return push(frame_sse(on_truncated=on_truncated), [stream])


def data_of(stream: bytes | str, on_truncated: OnTruncated = "discard") -> list[str]:
    return [event.data for event in events(stream, on_truncated) if isinstance(event, ServerSentEvent)]


def reference(stream: bytes) -> list[ServerSentEvent]:
    """The rules of the HTML standard, section 9.2.6, character by character and as plainly as they are written."""
    text = stream.decode("utf-8", "replace").removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    *lines, _ = text.split("\n")
    out: list[ServerSentEvent] = []
    data, event, last_id, retry = "", "", "", None
    for line in lines:
        if line == "":
            if data:
                out.append(ServerSentEvent(event or "message", data[:-1], last_id, retry))
            data = event = ""
        elif not line.startswith(":"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "data":
                data += value + "\n"
            elif field == "event":
                event = value
            elif field == "id" and "\0" not in value:
                last_id = value
            elif field == "retry" and value and all(digit in "0123456789" for digit in value):
                retry = int(value)
    return out


NAMES = [b"data", b"event", b"id", b"retry", b":", b": ", b" ", b"{}", b"12", b"\0", "é\u2028".encode()]
ENDS = [b"\n", b"\r", b"\r\n", b"\n\n"]
LINES = [b"data: x\n\n", b"data: y\r\n", b"id: 7\n", b"retry: 9\n", b": hm\n", b"\xef\xbb\xbf", b"\xe2\x80"]
streams = st.lists(st.sampled_from(NAMES + ENDS + LINES), max_size=24).map(b"".join)


@given(st.data())
def test_any_stream_cut_anywhere_gives_what_the_standard_says(data: st.DataObject) -> None:
    stream = data.draw(streams)
    pieces = data.draw(cuts(stream))
    assert push(frame_sse(on_truncated="discard"), pieces) == reference(stream)


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_every_line_end_works_at_every_cut(end: bytes) -> None:
    stream = end.join([b"event: a", b"data: 1", b"data: 2", b"", b": note", b"data:3", b"", b""])
    for pieces in every_cut(stream):
        out = push(frame_sse(on_truncated="discard"), pieces)
        assert out == [ServerSentEvent("a", "1\n2"), ServerSentEvent("message", "3")]


def test_an_event_leaves_with_the_first_byte_of_the_line_end_that_ends_it() -> None:
    chain = frame_sse().chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    chain.feed(b"data: a\r\n\r")
    assert seen == [ServerSentEvent(data="a")]
    chain.feed(b"\ndata: b\n\n")
    assert seen == [ServerSentEvent(data="a"), ServerSentEvent(data="b")]


def test_only_cr_lf_and_crlf_end_a_line() -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    assert data_of(f"data: {text}\n\n") == [text]


def test_a_byte_order_mark_is_dropped_at_the_start_alone() -> None:
    for pieces in every_cut(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\ndata: c\n\n"):
        assert [event.data for event in push(frame_sse(), pieces)] == ["a", "c"]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("data\n\n", [""]),
        ("data:\ndata:\n\n", ["\n"]),
        ("data:  two spaces\n\n", [" two spaces"]),
        ("data: a: b\n\n", ["a: b"]),
        ("Data: a\n\n", []),
        (" data: a\n\n", []),
        ("event: lonely\n\ndata: a\n\n", ["a"]),
        (": keep-alive\n\n\n\n", []),
        ("data: [DONE]\n\n", ["[DONE]"]),
    ],
)
def test_fields_are_read_to_the_letter(stream: str, expected: list[str]) -> None:
    assert data_of(stream) == expected


def test_ids_and_retry_times_stay_until_they_change() -> None:
    stream = "id: 1\nretry: 50\ndata: a\n\ndata: b\n\nid: x\0y\nretry: 5s\ndata: c\n\nid\n\ndata: d\n\n"
    assert events(stream) == [
        ServerSentEvent(data="a", id="1", retry_ms=50),
        ServerSentEvent(data="b", id="1", retry_ms=50),
        ServerSentEvent(data="c", id="1", retry_ms=50),
        ServerSentEvent(data="d", id="", retry_ms=50),
    ]


@pytest.mark.parametrize("retry", ["", "-1", "1.5", "٣", "9" * 5000])
def test_a_retry_that_is_no_sensible_number_is_ignored(retry: str) -> None:
    assert events(f"retry: {retry}\ndata: a\n\n") == [ServerSentEvent(data="a")]


def test_bytes_that_are_not_utf_8_become_replacement_characters_in_their_event_alone() -> None:
    assert data_of(b"data: a\xe2\x82\ndata: \xffb\n\ndata: c\n\n") == ["a\ufffd\n\ufffdb", "c"]


def test_text_is_taken_too_and_a_lone_surrogate_does_no_harm() -> None:
    assert data_of("data: é\ud800!\n\n") == ["é\ufffd\ufffd\ufffd!"]


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tail", ["data: b", "data: b\n", "event: x\ndata: b"])
def test_an_event_that_nothing_ended_is_delivered_reported_or_discarded(tail: str) -> None:
    stream = "data: a\n\n" + tail
    assert data_of(stream, "deliver") == ["a", "b"]
    assert data_of(stream, "discard") == ["a"]
    before, error = events(stream, "error")
    assert before == ServerSentEvent(data="a")
    assert isinstance(error, FrameError)
    assert error.code == "truncated"


def test_delivering_is_the_default_so_that_the_last_words_of_a_model_are_not_lost() -> None:
    assert push(frame_sse(), [b'data: {"last":1}']) == [ServerSentEvent(data='{"last":1}')]


@pytest.mark.parametrize("stream", ["", "data: a\n\n", "data: a\n\n: bye", "data: a\n\nevent: x\n"])
def test_an_end_between_events_is_no_error(stream: str) -> None:
    assert not [event for event in events(stream, "error") if isinstance(event, FrameError)]


def test_a_torn_field_name_is_an_error_where_one_is_asked_for() -> None:
    (error,) = events("dat", "error")
    assert isinstance(error, FrameError)


def test_a_wrong_choice_is_refused_at_once() -> None:
    assert set(get_args(OnTruncated)) == {"deliver", "error", "discard"}
    with pytest.raises(UsageError, match="'keep'"):
        frame_sse(on_truncated="keep")  # type: ignore[arg-type]


def test_an_error_of_the_source_comes_after_the_event_it_cut() -> None:
    source: Subject[bytes | str] = Subject()
    seen: list[object] = []
    source.pipe(frame_sse()).subscribe(seen.append, lambda _: seen.append("error"))
    source.on_next(b"data: a")
    source.on_error(RuntimeError("torn"))
    assert seen == [ServerSentEvent(data="a"), "error"]


# ── the size limit ───────────────────────────────────────────────────────────────────────────────────────


@given(st.data())
def test_with_a_limit_too_the_cuts_change_nothing(data: st.DataObject) -> None:
    stream = data.draw(streams)
    limit = data.draw(st.integers(1, 30))
    assert push(frame_sse(limit), data.draw(cuts(stream))) == push(frame_sse(limit), [stream])


def test_an_oversized_event_is_reported_in_its_place_and_the_stream_goes_on() -> None:
    stream = b"data: a\n\ndata: " + b"x" * 100 + b"\nevent: e\ndata: y\n\ndata: b\n\n"
    for pieces in every_cut(stream):
        before, error, after = push(frame_sse(max_event_bytes=50), pieces)
        assert (before, after) == (ServerSentEvent(data="a"), ServerSentEvent(data="b"))
        assert (error.code, error.dropped_bytes) == ("too_large", 106 + 8 + 7)


def test_many_small_lines_make_an_oversized_event_too() -> None:
    (error,) = push(frame_sse(max_event_bytes=50), [b"data: x\n"] * 100 + [b"\n"])
    assert error == FrameError("too_large", "skipped an event of 700 bytes, over the limit of 50", 700)


def test_a_comment_of_any_length_is_nothing() -> None:
    assert push(frame_sse(max_event_bytes=20), [b"data: a\n", b":" + b"-" * 999, b"-\n", b"\n"]) == [
        ServerSentEvent(data="a")
    ]


def test_what_is_too_large_is_not_kept() -> None:
    chain = frame_sse(max_event_bytes=100_000).chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    chain.feed(b"data: ")
    assert peak_bytes(lambda: feed_all(chain, [b"x" * 10_000] * 1000)) < 1_000_000
    chain.feed(b"\n\ndata: a\n\n")
    error, after = seen
    assert isinstance(error, FrameError)
    assert error.dropped_bytes == 10_000_006
    assert after == ServerSentEvent(data="a")


def test_state_belongs_to_a_subscription() -> None:
    operator = frame_sse(on_truncated="discard")
    assert through_rx(operator, [b"id: 1\ndata: a\n"]) == []
    assert through_rx(operator, [b"data: b\n\n"]) == [ServerSentEvent(data="b")]


# ── real streams ─────────────────────────────────────────────────────────────────────────────────────────


def test_real_event_streams_are_read_as_the_standard_says() -> None:
    files = recordings("openai-chat", "openai-responses", "anthropic-messages", "gemini-api")
    streams = [file.read_bytes() for file in files if ".sse" in file.name]
    if not streams:
        pytest.skip("the recordings are not beside this checkout")
    for stream in streams:
        pieces = [stream[at : at + 97] for at in range(0, len(stream), 97)]
        assert push(frame_sse(on_truncated="discard"), pieces) == reference(stream)
