"""The framing of the default pipeline: it finds out what it gets, and no cut changes what comes out (law 1, 5)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import cuts, every_cut, feed_all, peak_bytes, push, through_rx
from reactivex.subject import Subject

from penstock.operators.frame import Frame, frame
from penstock.operators.frame_error import FrameError, too_large
from penstock.operators.frame_sse import ServerSentEvent, frame_sse
from penstock.operators.line_splitter import as_bytes
from penstock.operators.stage import Operator


class CarefulFrame(Frame):
    """The same without its short cut: every line takes the plain way."""

    def feed(self, item: bytes | str) -> None:
        self._is_held_here = False
        self._feed_with_care(as_bytes(item))


def careful_frame(limit: int) -> Operator[bytes | str, bytes | FrameError]:
    return Operator("frame", lambda: CarefulFrame(limit))


def payloads_of(stream: bytes) -> list[bytes | FrameError]:
    """The payloads, the same at every cut."""
    whole = push(frame(), [stream])
    for pieces in every_cut(stream):
        assert push(frame(), pieces) == whole, f"cut as {pieces}"
    return whole


def parsed(payloads: list[bytes | FrameError]) -> list[Any]:
    return [json.loads(payload) for payload in payloads if isinstance(payload, bytes)]


# ── event streams ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_the_data_of_an_event_stream_is_the_payload(end: bytes) -> None:
    events = [b": hello", b'data: {"a":1}', end.join([b"event: x", b"id: 7", b'data:{"b":2}']), b"data: [DONE]"]
    assert payloads_of(b"".join(event + end + end for event in events)) == [b'{"a":1}', b'{"b":2}', b"[DONE]"]


def test_several_data_lines_are_one_payload() -> None:
    stream = b'data: {"a":\nevent: e\ndata: 1,\ndata:\ndata: "b":2}\n\ndata:\n\ndata: {}\n\n'
    assert payloads_of(stream) == [b'{"a":\n1,\n\n"b":2}', b"{}"]


def test_bytes_pass_as_they_are() -> None:
    payload = '{"a":"é漢👩‍👩‍👧‍👦\u2028\u2029\x85"}'.encode() + b"\xff\xe2\x82"
    assert payloads_of(b"data: " + payload + b"\n\n") == [payload]


def test_a_bare_json_line_amid_events_is_a_payload_and_other_lines_are_nothing() -> None:
    stream = b'data: {"a":1}\n{"error":1}\nnonsense\nfield: x\ndata: {"b":2}\n\n{"c":3}\n'
    assert payloads_of(stream) == [b'{"a":1}', b'{"error":1}', b'{"b":2}', b'{"c":3}']


@pytest.mark.parametrize("tail", [b'data: {"b":2}', b'data: {"b":2}\n', b'data: {"b":2}\r', b'{"b":2}'])
def test_a_last_event_that_nothing_ended_is_delivered(tail: bytes) -> None:
    assert payloads_of(b'data: {"a":1}\n\n' + tail) == [b'{"a":1}', b'{"b":2}']


def test_a_payload_leaves_with_the_blank_line_that_ends_it() -> None:
    chain = frame().chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    chain.feed(b"data: 1\n")
    assert seen == []
    chain.feed(b"\n")
    assert seen == [b"1"]


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────


def test_json_lines_are_the_payloads_and_noise_among_them_passes() -> None:
    stream = b'{"a":1}\r\n\n  \n\x1b[2mWARN\x1b[0m slow\n {"b":2}\n[1]\n[{"c":3}]\n{"d":"x\r y"}'
    assert payloads_of(stream) == [
        b'{"a":1}',
        b"\x1b[2mWARN\x1b[0m slow",
        b' {"b":2}',
        b"[1]",
        b'[{"c":3}]',
        b'{"d":"x\r y"}',
    ]


def test_data_lines_amid_json_lines_are_payloads() -> None:
    assert payloads_of(b'{"a":1}\nevent: x\ndata: {"b":2}\n\ndata: 3\n{"c":4}\n: bye\n') == [
        b'{"a":1}',
        b'{"b":2}',
        b"3",
        b'{"c":4}',
    ]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'data: {"a":1}\n\n', [b'{"a":1}']),
        (b'[{"a":1},\n{"b":2}]\n', [b'{"a":1}', b'{"b":2}']),
    ],
)
def test_log_noise_before_the_first_record_passes_and_the_decision_waits_for_it(
    rest: bytes, expected: list[bytes]
) -> None:
    noise = b"Loading model...\n\n\x1b[32m INFO\x1b[0m ready\r\n[2025-01-01] start\n[\n>> {}\n[WARN] x\n"
    assert payloads_of(noise + rest) == [
        b"Loading model...",
        b"\x1b[32m INFO\x1b[0m ready",
        b"[2025-01-01] start",
        b"[",
        b">> {}",
        b"[WARN] x",
        *expected,
    ]


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"oops", [b"oops"]),
        (b"oops\n[INFO", [b"oops", b"[INFO"]),
        (b"[", [b"["]),
        (b"[ \n\n", [b"["]),
        (b"x\n\xef\xbb", [b"x", b"\xef\xbb"]),
    ],
)
def test_an_input_that_never_decides_passes_as_it_is(stream: bytes, expected: list[bytes]) -> None:
    assert payloads_of(stream) == expected


# ── JSON documents ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_gives_its_elements_and_afterwards_it_is_decided_anew(indent: int | None) -> None:
    records = [{"a": ["x]}", {}]}, {"b": 'y"'}]
    array = json.dumps(records, indent=indent).encode()
    payloads = payloads_of(b"\n " + array + b"\n" + array + b'\ndata: {"c":3}\n\n')
    assert [json.loads(payload) for payload in payloads if isinstance(payload, bytes)] == [
        *records,
        *records,
        {"c": 3},
    ]


def test_an_element_of_an_array_on_one_line_does_not_wait_for_its_end() -> None:
    chain = frame().chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    for piece in (b"[", b'{"a"', b":1}", b","):
        chain.feed(piece)
    assert seen == [b'{"a":1}']


def test_records_printed_over_several_lines_come_out_whole() -> None:
    records = [{"type": "x", "deep": [{"a": 1}, []]}, {"b": {"c": "{"}}]
    stream = b"\n".join(json.dumps(record, indent=2).encode() for record in records)
    payloads = payloads_of(stream + b'\n{"d": 1,\n "e": 2}\n')
    assert [json.loads(payload) for payload in payloads if isinstance(payload, bytes)] == [
        *records,
        {"d": 1, "e": 2},
    ]


def test_byte_order_marks_are_dropped() -> None:
    for rest, expected in ((b'{"a":1}', b'{"a":1}'), (b"data: 1\n\n", b"1"), (b'[{"a":1}]', b'{"a":1}')):
        assert payloads_of(b"\xef\xbb\xbf" + rest) == [expected]


def test_text_is_encoded_first() -> None:
    assert push(frame(), ['\ufeffdata: {"é":', '"\ud83d"}\n', "\n"]) == ['{"é":"'.encode() + b'\xed\xa0\xbd"}']


def test_an_empty_stream_gives_nothing() -> None:
    assert push(frame(), []) == push(frame(), [b"", b"\n\r\n \n"]) == []


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────

EVENTS = [b"data: {}\n\n", b"data: [DONE]\n\n", b"event: a\ndata: {}\n\n", b": ping\n\n", b"data: {}\r\n\r\n"]
PIECES = [b"data: ", b"data:", b"data", b"event: x", b"{", b"}", b'{"a":1}', b" ", b"x"]
ENDS = [b"\n", b"\n", b"\r\n", b"\r", b"\n\n"]
events = st.lists(st.sampled_from(EVENTS + PIECES + ENDS), max_size=16).map(b"".join)
anything = st.lists(
    st.sampled_from([*EVENTS, *PIECES, *ENDS, b"[{", b"]", b",", b'"', b"{\n", b"[", b"\xef\xbb\xbf"]),
    max_size=16,
).map(b"".join)


@settings(max_examples=300)
@given(st.data())
def test_no_cut_changes_anything(data: st.DataObject) -> None:
    stream = data.draw(anything)
    assert push(frame(), data.draw(cuts(stream))) == push(frame(), [stream])


@settings(max_examples=300)
@given(st.data())
def test_no_cut_changes_anything_near_the_limit(data: st.DataObject) -> None:
    stream = data.draw(events)
    limit = data.draw(st.integers(1, 24))
    assert push(frame(limit), data.draw(cuts(stream))) == push(frame(limit), [stream])


@settings(max_examples=300)
@given(st.data())
def test_the_short_cut_gives_exactly_what_the_plain_way_gives(data: st.DataObject) -> None:
    stream = data.draw(events)
    limit = data.draw(st.sampled_from([4, 16, 40, 4096]))
    assert push(frame(limit), data.draw(cuts(stream))) == push(careful_frame(limit), [stream])


@given(st.data())
def test_an_event_stream_gives_the_data_that_the_standard_says(data: st.DataObject) -> None:
    stream = b"data: first\n\n" + data.draw(events)
    # Bare JSON lines and a `data` without its colon are where `frame` is not the standard; without them, it is.
    stream = re.sub(rb"(?<=[\r\n])(\{|data(?!:))", b"x", stream)
    standard = push(frame_sse(), [stream])
    expected = [event.data.encode() for event in standard if isinstance(event, ServerSentEvent) and event.data]
    assert push(frame(), data.draw(cuts(stream))) == expected


def test_an_error_of_the_source_comes_after_the_payload_it_cut() -> None:
    for torn, payload in ((b"data: {}", b"{}"), (b'{"a"', b'{"a"'), (b'[{"a"', b'{"a"'), (b"noise", b"noise")):
        source: Subject[bytes | str] = Subject()
        seen: list[object] = []
        source.pipe(frame()).subscribe(seen.append, seen.append)
        source.on_next(torn)
        broken = RuntimeError("broken")
        source.on_error(broken)
        assert seen == [payload, broken]


def test_state_belongs_to_a_subscription() -> None:
    operator = frame()
    assert through_rx(operator, [b"data: {"]) == [b"{"]
    assert through_rx(operator, [b'{"a":1}\n']) == [b'{"a":1}']


# ── the size limit ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("before", "large", "after", "error"),
    [
        (b"data: {}\n\n", b"data: " + b"x" * 40 + b"\n\n", b"data: {}\n\n", too_large("an event", 40, 20)),
        (b"data: {}\n\n", b"data: xxxxxxxxx\n" * 4 + b"\n", b"data: {}\n\n", too_large("an event", 39, 20)),
        (b"{}\n", b"{" + b"x" * 39 + b"\n", b"{}\n", too_large("a line", 40, 20)),
        (b"{}\n", b"data: " + b"x" * 40 + b"\n", b"{}\n", too_large("an event", 40, 20)),
        (b"{}\n", b"noise" * 8 + b"\n", b"{}\n", too_large("a line", 40, 20)),
        (b"", b"noise" * 8 + b"\n", b"{}\n{}\n", too_large("a line", 40, 20)),
        (b"[{},", b'{"a":"' + b"x" * 32 + b'"}', b",{}]", too_large("a JSON value", 40, 20)),
    ],
)
def test_what_is_too_large_is_reported_in_its_place_and_the_stream_goes_on(
    before: bytes, large: bytes, after: bytes, error: FrameError
) -> None:
    for pieces in every_cut(before + large + after):
        out = push(frame(20), pieces)
        assert [item for item in out if item != b"{}"] == [error]
        assert len(out) == 3
        assert out.index(error) == (1 if before else 0)


def test_a_comment_of_any_length_is_nothing() -> None:
    for pieces in every_cut(b"data: {}\n:" + b"-" * 60 + b"\n\n"):
        assert push(frame(20), pieces) == [b"{}"]


def test_exactly_the_limit_is_delivered() -> None:
    for stream in (b"data: " + b"x" * 20 + b"\n\n", b"data: " + b"x" * 20, b"{" + b"x" * 19 + b"\r\n"):
        for pieces in every_cut(b"data: 1\n\n" + stream):
            assert len(push(frame(20), pieces)[1]) == 20


@pytest.mark.parametrize("start", [b"", b"data: {}\n\ndata: ", b"{}\n", b"[{},", b"data: ", b"{", b'[{"a":"'])
def test_what_is_too_large_is_not_kept(start: bytes) -> None:
    chain = frame(max_payload_bytes=100_000).chain()
    errors: list[object] = []
    chain.stages[-1].emit = errors.append
    chain.feed(start)
    assert peak_bytes(lambda: feed_all(chain, [b"x" * 10_000] * 1000)) < 1_000_000
    chain.finish()
    assert any(isinstance(error, FrameError) and error.dropped_bytes >= 10_000_000 for error in errors)


# ── real streams ─────────────────────────────────────────────────────────────────────────────────────────

FOLDERS = (
    "acp",
    "anthropic-messages",
    "claude-cli",
    "codex-app-server",
    "codex-exec",
    "cursor-cli",
    "gemini-api",
    "gemini-cli",
    "ollama",
    "openai-chat",
    "openai-responses",
)


def expected_payloads(file: Path) -> list[bytes]:
    stream = file.read_bytes()
    if ".sse" in file.name:
        return [event.data.encode() for event in push(frame_sse(), [stream])]
    if file.suffix == ".json":
        return [json.dumps(record).encode() for record in json.loads(stream)]
    return [line.removesuffix(b"\r") for line in stream.split(b"\n") if line.strip()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_real_recordings_come_apart_into_their_records_at_any_cut(folder: str) -> None:
    files = recordings(folder)
    if not files:
        pytest.skip("the recordings are not beside this checkout")
    for number, file in enumerate(files):
        stream = file.read_bytes()
        size = 37 + 11 * number
        payloads = push(frame(), [stream[at : at + size] for at in range(0, len(stream), size)])
        assert payloads == push(frame(), [stream])
        if file.suffix == ".json":
            payloads = [json.dumps(json.loads(payload)).encode() for payload in payloads]
        assert payloads == expected_payloads(file), file.name
