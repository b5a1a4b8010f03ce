"""The laws that hold for every operator alike, over one table of all of them (design, section 4)."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_takes, merged, push
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock import operators
from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
    Unknown,
    Usage,
)
from penstock.operators import Operator


def chat(count: int) -> list[bytes]:
    def record(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({"id": "c", "choices": [choice]}).encode() + b"\n\n"

    pieces = [record({"content": f"word {number} "}) for number in range(count)]
    return [*pieces, record({}, "stop"), b"data: [DONE]\n\n"]


def events(count: int) -> list[Event]:
    """A message with all kinds of blocks; `count` deltas in all."""
    third = count // 3
    arguments = ['{"path": "a.py", "content": "', *["line\\n"] * third, '"}']
    return [
        MessageStart("m"),
        BlockStart("thinking", 0, "m"),
        *(ThinkingDelta("hm ", 0, "m") for _ in range(third)),
        BlockStop(0, "m"),
        BlockStart("text", 1, "m"),
        *(TextDelta(f"word {number} ", 1, "m") for number in range(third)),
        BlockStop(1, "m"),
        BlockStart("tool", 2, "m", "call", "write_file"),
        *(ToolInputDelta(piece, 2, "call", "m") for piece in arguments),
        BlockStop(2, "m"),
        MessageStop("m", "tool_calls"),
        ToolProgress("call", "", "write_file", "m"),
        ToolCompletion("call", "ok", False, "write_file", "m"),
        Usage(1, 2, message_id="m"),
        TurnCompleted("completed"),
    ]


def payloads(count: int) -> list[bytes]:
    return [chunk[6:-2] for chunk in chat(count)]


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"sequence_number": number, "x": number} for number in range(count)]


BYTES: dict[str, Callable[[], Operator[Any, Any]]] = {
    "decode_utf8": operators.decode_utf8,
    "frame": operators.frame,
    "frame_sse": operators.frame_sse,
    "frame_lines": operators.frame_lines,
    "frame_json": operators.frame_json,
    "read": lambda: operators.read("openai-chat"),
}
EVENTS: dict[str, Callable[[], Operator[Any, Any]]] = {
    "batch": lambda: operators.batch(0.25, 4096),
    "coalesce": lambda: operators.coalesce(0.05),
    "finalize": operators.finalize,
    "limit_silence": lambda: operators.limit_silence(60, 60),
    "phase": operators.phase,
    "route_tags": operators.route_tags,
    "streaming_tool_calls": operators.streaming_tool_calls,
    "structured_tools": operators.structured_tools,
    "to_deltas": lambda: operators.to_deltas("mixed"),
    "tool_engine": lambda: operators.tool_engine("tags"),
    "track_messages": operators.track_messages,
    "track_tools": operators.track_tools,
}
OTHERS: dict[str, tuple[Callable[[], Operator[Any, Any]], Callable[[int], Sequence[Any]]]] = {
    "normalize": (lambda: operators.normalize("openai-chat"), payloads),
    "reorder": (operators.reorder, numbered),
}
ALL: dict[str, tuple[Callable[[], Operator[Any, Any]], Callable[[int], Sequence[Any]]]] = {
    **{name: (make, chat) for name, make in BYTES.items()},
    **{name: (make, events) for name, make in EVENTS.items()},
    **OTHERS,
}
DELTAS_OF_TEXT = (TextDelta("word ", 0, "m"), ThinkingDelta("hm ", 1, "m", "call", True))


@pytest.mark.parametrize("name", EVENTS)
def test_what_says_that_it_ignores_text_passes_it_on_untouched(name: str) -> None:
    """Such a stage is left out of the way of text, so nobody would see that it did something after all."""
    stages = [stage for stage in EVENTS[name]().chain().stages if stage.ignores_text]
    out: list[Event] = []
    for stage in stages:
        stage.emit = stage.emit_text = out.append
        for delta in DELTAS_OF_TEXT:
            stage.feed(delta)
    assert out == [*DELTAS_OF_TEXT] * len(stages)
    assert bool(stages) is (name == "track_tools")


KNOWN_ELSEWHERE = {"Operator", "Stage", "FrameError", "ServerSentEvent", "View", "hide", "redact", "view_gate"}
"""What is no operator, or has its laws in a test of its own, because it takes updates or patterns."""

every_operator = pytest.mark.parametrize("name", sorted(ALL))


def test_the_table_has_every_operator() -> None:
    assert set(ALL) | KNOWN_ELSEWHERE >= set(operators.__all__)


class Listener:
    """A subscriber that remembers what it heard, and how it ended."""

    def __init__(self, source: "Subject[Any]", operator: Operator[Any, Any]) -> None:
        self.heard: list[Any] = []
        self.ended: list[str] = []
        self.subscription = source.pipe(operator).subscribe(
            self.heard.append,
            lambda error: self.ended.append(str(error)),
            lambda: self.ended.append("completed"),
            scheduler=TestScheduler(),
        )


def listen(name: str, ending: str) -> tuple[Listener, "Subject[Any]"]:
    make, items = ALL[name]
    source: Subject[Any] = Subject()
    listener = Listener(source, make())
    for item in items(12):
        source.on_next(item)
    if ending == "completed":
        source.on_completed()
    elif ending == "error":
        source.on_error(RuntimeError("torn"))
    elif ending == "dispose":
        listener.subscription.dispose()
    return listener, source


@every_operator
def test_completion_and_error_deliver_the_same_and_end_once(name: str) -> None:
    completed, source = listen(name, "completed")
    torn, _ = listen(name, "error")
    assert completed.ended == ["completed"]
    assert torn.ended == ["torn"]
    assert merged(torn.heard) == merged(completed.heard) == merged(push(ALL[name][0](), ALL[name][1](12)))
    heard = len(completed.heard)
    source.on_next(ALL[name][1](12)[0])
    assert len(completed.heard) == heard


@every_operator
def test_after_disposal_nothing_is_heard(name: str) -> None:
    listener, source = listen(name, "dispose")
    heard = len(listener.heard)
    for item in ALL[name][1](12):
        source.on_next(item)
    source.on_completed()
    assert len(listener.heard) == heard
    assert listener.ended == []


@every_operator
def test_an_empty_stream_completes(name: str) -> None:
    source: Subject[Any] = Subject()
    listener = Listener(source, ALL[name][0]())
    source.on_completed()
    assert listener.ended == ["completed"]


@every_operator
def test_one_operator_serves_interleaved_subscriptions(name: str) -> None:
    make, items = ALL[name]
    operator = make()
    first: Subject[Any] = Subject()
    second: Subject[Any] = Subject()
    one, other = Listener(first, operator), Listener(second, operator)
    for item in items(12):
        first.on_next(item)
        second.on_next(item)
    first.on_completed()
    second.on_completed()
    assert merged(one.heard) == merged(other.heard) == merged(push(make(), items(12)))


@pytest.mark.parametrize("name", sorted(BYTES))
@given(
    chunks=st.lists(st.binary(max_size=40) | st.sampled_from([b"data: ", b"\n\n", b"{", b"\r", b"["]), max_size=12)
)
def test_no_bytes_raise(name: str, chunks: list[bytes]) -> None:
    assert isinstance(push(BYTES[name](), chunks), list)


text = st.text(max_size=6)
index = st.integers(0, 3)
who = st.sampled_from(["", "m", "n"])
junk = st.one_of(
    st.builds(MessageStart, who),
    st.builds(MessageStop, who, st.sampled_from(["", "stop", "length"])),
    st.builds(BlockStart, st.sampled_from(["text", "thinking", "tool"]), index, who, who, text),
    st.builds(BlockStop, index, who),
    st.builds(TextDelta, text, index, who, who, st.booleans()),
    st.builds(ThinkingDelta, text, index, who, who, st.booleans()),
    st.builds(ToolInputDelta, text, index, who, who),
    st.builds(Text, text, index, who),
    st.builds(Thinking, text, index, who),
    st.builds(ToolInvocation, who, text, st.just({}), index, who),
    st.builds(ToolCompletion, who, text, st.booleans()),
    st.builds(ToolProgress, who, text),
    st.builds(StreamError, text),
    st.builds(Unknown, text, text),
    st.builds(TurnCompleted, text, st.none() | text),
)


@pytest.mark.parametrize("name", sorted(EVENTS))
@given(items=st.lists(junk, max_size=20))
def test_no_order_of_events_raises(name: str, items: list[Event]) -> None:
    assert isinstance(push(EVENTS[name](), items), list)


@every_operator
def test_ten_times_the_items_take_about_ten_times_as_long(name: str) -> None:
    make, items = ALL[name]
    small, large = items(2_000), items(20_000)

    check_takes(lambda: push(make(), large), lambda: push(make(), small), at_most=16)
