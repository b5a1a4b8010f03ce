"""JSON lines: cut at LF alone, any length, in bounded memory (formats 0.2)."""

import pytest
from conftest import recordings
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut, feed_all, peak_bytes, push, through_rx
from reactivex.subject import Subject

from penstock.operators.frame_error import FrameError, too_large
from penstock.operators.frame_lines import frame_lines


def reference(stream: bytes, limit: int) -> list[bytes | FrameError]:
    """What is promised, for the whole stream at once."""
    *lines, last = stream.split(b"\n")
    lines = [*[line.removesuffix(b"\r") for line in lines], last]
    lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
    return [
        line if len(line) <= limit else too_large("a line", len(line), limit)
        for line in lines
        if line.strip() or len(line) > limit
    ]


PIECES = [b"{}", b'{"a":1}', b"\n", b"\r", b"\r\n", b" ", b"\t", b"x" * 9, "\u2028\x85".encode()]
streams = st.lists(st.sampled_from(PIECES), max_size=20).map(b"".join)


@given(st.data())
def test_any_stream_cut_anywhere_gives_its_lines(data: st.DataObject) -> None:
    stream = data.draw(streams)
    limit = data.draw(st.sampled_from([1, 5, 12, 20, 30, 1000]))
    assert push(frame_lines(limit), data.draw(cuts(stream))) == reference(stream, limit)


def test_blank_lines_are_skipped_and_a_cr_before_the_lf_is_taken_away() -> None:
    for pieces in every_cut(b'{"a":1}\r\n\r\n  \n{"b":2}\n\n'):
        assert push(frame_lines(), pieces) == [b'{"a":1}', b'{"b":2}']


def test_only_lf_ends_a_line() -> None:
    line = '{"a":"x\u2028y\u2029z\x85\x0b\x0c"}\r '.encode()
    for pieces in every_cut(line + b"\n{}"):
        assert push(frame_lines(), pieces) == [line, b"{}"]


def test_a_line_leaves_with_its_end_and_the_last_one_without() -> None:
    assert push(frame_lines(), [b'{"a"', b":1}\n{", b"}"]) == [b'{"a":1}', b"{}"]


def test_text_is_encoded_and_a_byte_order_mark_dropped() -> None:
    assert push(frame_lines(), ["\ufeff", "é\n", "漢"]) == ["é".encode(), "漢".encode()]


def test_an_overlong_line_is_reported_in_its_place_and_the_stream_goes_on() -> None:
    for pieces in every_cut(b"{}\n" + b"x" * 40 + b"\r\n[]\n"):
        before, error, after = push(frame_lines(20), pieces)
        assert (before, after) == (b"{}", b"[]")
        assert error == FrameError("too_large", "skipped a line of 40 bytes, over the limit of 20", 40)


def test_a_line_of_exactly_the_limit_is_delivered_whatever_ends_it() -> None:
    for end in (b"\n", b"\r\n", b""):
        for pieces in every_cut(b"x" * 20 + end):
            assert push(frame_lines(20), pieces) == [b"x" * 20]


def test_a_line_of_megabytes_in_small_pieces_arrives_whole() -> None:
    line = b'{"image":"' + b"A" * 3_000_000 + b'"}'
    pieces = [line[at : at + 1024] for at in range(0, len(line), 1024)]
    assert push(frame_lines(), [*pieces, b"\n"]) == [line]


def test_200_megabytes_in_one_line_are_dropped_in_bounded_memory() -> None:
    chain = frame_lines(max_line_bytes=1_000_000).chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    assert peak_bytes(lambda: feed_all(chain, [b"x" * 1_000_000] * 200)) < 8_000_000
    chain.feed(b"\n{}\n")
    assert seen == [too_large("a line", 200_000_000, 1_000_000), b"{}"]


def test_an_overlong_last_line_is_reported_at_the_end() -> None:
    assert push(frame_lines(20), [b"x" * 15, b"x" * 15]) == [too_large("a line", 30, 20)]


def test_an_error_of_the_source_comes_after_the_line_it_cut() -> None:
    source: Subject[bytes | str] = Subject()
    seen: list[object] = []
    source.pipe(frame_lines()).subscribe(seen.append, lambda _: seen.append("error"))
    source.on_next(b'{"a":1}\n{"b"')
    source.on_error(RuntimeError("torn"))
    assert seen == [b'{"a":1}', b'{"b"', "error"]


def test_state_belongs_to_a_subscription() -> None:
    operator = frame_lines()
    assert through_rx(operator, [b"{"]) == [b"{"]
    assert through_rx(operator, [b"}\n"]) == [b"}"]


def test_real_json_lines_come_out_line_by_line() -> None:
    files = [file for file in recordings("codex-exec", "ollama", "cursor-cli") if file.suffix == ".jsonl"]
    if not files:
        pytest.skip("the recordings are not beside this checkout")
    for file in files:
        stream = file.read_bytes()
        pieces = [stream[at : at + 101] for at in range(0, len(stream), 101)]
        assert push(frame_lines(), pieces) == reference(stream, 1 << 20)
