"""Where output is not a terminal: exactly the visible text (USERS 9, 10)."""

import io

import pytest

from penstock.growing import TextView
from penstock.sinks.text import TextSink
from penstock.updates import AssistantUpdate, Completed


def shown(*items: AssistantUpdate | Completed, stream: io.TextIOBase | None = None) -> str:
    stream = stream or io.StringIO()
    sink = TextSink(stream).open("t")  # type: ignore[arg-type]
    for item in items:
        sink.on_next(item)
    sink.close()
    return stream.getvalue() if isinstance(stream, io.StringIO) else ""


def text(accumulated: str, chunk: str, is_new: bool = False) -> AssistantUpdate:
    return AssistantUpdate(TextView.of(accumulated), chunk, is_new)


def test_text_is_written_as_it_streams_and_ends_in_one_line_feed() -> None:
    assert shown(text("Hel", "Hel", True), text("Hello", "lo"), Completed("Hello")) == "Hello\n"
    assert shown(text("Hello\n", "Hello\n", True), Completed("Hello\n")) == "Hello\n"


def test_rounds_are_separated_by_one_blank_line() -> None:
    for first in ("one", "one\n", "one\n\n"):
        rounds = text(first, first, True), text("two", "two", True)
        assert shown(*rounds, Completed("two")) == "one\n\ntwo\n"


def test_a_final_message_that_the_turn_names_is_written_too() -> None:
    assert shown(text("one", "one", True), Completed("two")) == "one\n\ntwo\n"
    assert shown(Completed("only")) == "only\n"


def test_a_final_message_that_was_written_already_is_not_written_again() -> None:
    assert shown(text("one\n", "one\n", True), Completed("one")) == "one\n"


def test_a_turn_without_text_writes_nothing() -> None:
    assert shown(Completed("")) == ""


def test_no_escape_and_no_carriage_return_is_written_even_when_cut_between_chunks() -> None:
    pieces = ["a\x1b", "]52;c;aGk", "=\x07b\r", "\nc"]
    assert shown(*(text("", piece, at == 0) for at, piece in enumerate(pieces)), Completed("")) == "ab\nc\n"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "latin-1", "cp437", "shift_jis"])
def test_no_character_is_too_much_for_an_encoding(encoding: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="")
    everything = "aé日👩‍🔧\u0301\ufffd" + "".join(map(chr, range(0x20, 0x2000, 7)))
    shown(text(everything, everything, True), Completed(everything), stream=stream)
    assert raw.getvalue().startswith(b"a")
    assert b"\x1b" not in raw.getvalue()


def test_every_turn_begins_anew() -> None:
    stream = io.StringIO()
    sink = TextSink(stream)
    for _ in range(2):
        turn = sink.open("t")
        turn.on_next(text("x", "x", True))
        turn.close()
    assert stream.getvalue() == "x\nx\n"
