"""Deltas and finals reconciled, block by block (seed 003: two phases, never doubled)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, merged, push, through_rx

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
    ToolInputDelta,
    ToolInvocation,
)
from penstock.operators.finalize import finalize


def finals(events: list[Any]) -> list[Any]:
    return [e for e in events if isinstance(e, Text | Thinking | ToolInvocation | StreamError)]


def message(*inside: Event, stop_reason: str = "stop") -> list[Event]:
    return [MessageStart("m"), *inside, MessageStop("m", stop_reason)]


def text_block(*pieces: str, index: int = 0) -> list[Event]:
    deltas = [TextDelta(piece, index, "m") for piece in pieces]
    return [BlockStart("text", index, "m"), *deltas, BlockStop(index, "m")]


def tool_block(*pieces: str, index: int = 0) -> list[Event]:
    deltas = [ToolInputDelta(piece, index, "c", "m") for piece in pieces]
    return [BlockStart("tool", index, "m", "c", "edit"), *deltas, BlockStop(index, "m")]


def test_a_block_without_a_copy_ends_in_its_joined_deltas_right_after_its_stop() -> None:
    out = push(finalize(), message(*text_block("Hel", "lo")))
    assert out[-3:] == [BlockStop(0, "m"), Text("Hello", 0, "m"), MessageStop("m", "stop")]


def test_an_empty_block_has_no_final() -> None:
    assert finals(push(finalize(), message(*text_block()))) == []


def test_a_copy_while_the_block_is_open_is_the_final_and_comes_once() -> None:
    events = message(BlockStart("text", 0, "m"), TextDelta("Hi", 0, "m"), Text("Hi", 0, "m"), BlockStop(0, "m"))
    assert finals(push(finalize(), events)) == [Text("Hi", 0, "m")]


def test_a_late_copy_that_says_the_same_is_dropped() -> None:
    events = [*message(*text_block("Hi")), Text("Hi", 0, "m")]
    assert finals(push(finalize(), events)) == [Text("Hi", 0, "m")]


def test_a_late_copy_that_differs_passes_as_a_replacement() -> None:
    events = [*message(*text_block("Hi")), Text("Ho", 0, "m")]
    assert finals(push(finalize(), events)) == [Text("Hi", 0, "m"), Text("Ho", 0, "m")]


def test_finals_alone_pass_and_the_same_one_twice_passes_once() -> None:
    events = message(Text("whole", 0, "m"), Text("whole", 0, "m"), ToolInvocation("c", "ls", {}, 1, "m"))
    assert finals(push(finalize(), events)) == [Text("whole", 0, "m"), ToolInvocation("c", "ls", {}, 1, "m")]


def test_a_replacing_delta_restarts_the_text() -> None:
    block: list[Event] = [
        BlockStart("text", 0, "m"),
        TextDelta("no", 0, "m"),
        TextDelta("yes", 0, "m", replace=True),
    ]
    assert finals(push(finalize(), message(*block, BlockStop(0, "m")))) == [Text("yes", 0, "m")]


def test_tool_arguments_are_parsed_once_and_no_arguments_mean_none_needed() -> None:
    out = push(finalize(), message(*tool_block('{"a"', ":1}"), *tool_block(index=1)))
    assert [f.input for f in finals(out)] == [{"a": 1}, {}]


def test_arguments_that_are_no_json_stay_what_they_are_and_say_so() -> None:
    (call,) = finals(push(finalize(), message(*tool_block("{a:1}"), stop_reason="tool_calls")))
    assert (call.input, call.is_malformed) == ("{a:1}", True)


@pytest.mark.parametrize("stop_reason", ["length", "max_tokens", ""])
@pytest.mark.parametrize("arguments", ['{"path": "a', ""])
def test_a_call_cut_off_by_a_limit_or_a_tear_is_an_error_and_never_a_call(stop_reason: str, arguments: str) -> None:
    (error,) = finals(push(finalize(), message(*tool_block(arguments), stop_reason=stop_reason)))
    assert (error.code, error.call_id, error.is_fatal) == ("incomplete_tool_call", "c", False)


def test_a_fatal_error_before_the_stop_makes_an_unparsable_call_incomplete() -> None:
    start, delta, stop = tool_block('{"a"')
    events = message(start, delta, StreamError("truncated"), stop, stop_reason="tool_calls")
    assert [e.code for e in finals(push(finalize(), events))] == ["truncated", "incomplete_tool_call"]


def test_a_stream_that_just_ends_reports_the_call_it_cut() -> None:
    out = push(finalize(), [MessageStart("m"), *tool_block('{"a"')])
    assert [e.code for e in finals(out)] == ["incomplete_tool_call"]


def test_subagents_blocks_of_the_same_index_stay_apart() -> None:
    events: list[Event] = [
        MessageStart("m"),
        BlockStart("text", 0, "m"),
        MessageStart("s", parent_call_id="c"),
        BlockStart("text", 0, "s", parent_call_id="c"),
        TextDelta("main", 0, "m"),
        TextDelta("sub", 0, "s", "c"),
        BlockStop(0, "s", "c"),
        BlockStop(0, "m"),
        MessageStop("s", parent_call_id="c"),
        MessageStop("m"),
    ]
    assert finals(push(finalize(), events)) == [Text("sub", 0, "s", "c"), Text("main", 0, "m")]


pieces = st.lists(st.text(max_size=5), max_size=6)


@given(texts=st.lists(pieces, max_size=4), thoughts=pieces)
def test_re_chunking_changes_no_final_and_every_final_is_its_joined_deltas(
    texts: list[list[str]], thoughts: list[str]
) -> None:
    def build(cut: bool) -> list[Event]:
        inside: list[Event] = []
        for index, parts in enumerate(texts):
            inside += text_block(*(parts if cut else ["".join(parts)]), index=index)
        index = len(texts)
        deltas = [ThinkingDelta(p, index, "m") for p in (thoughts if cut else ["".join(thoughts)])]
        return message(*inside, BlockStart("thinking", index, "m"), *deltas, BlockStop(index, "m"))

    cut, whole = push(finalize(), build(True)), push(finalize(), build(False))
    assert finals(cut) == finals(whole)
    assert merged(cut) == merged(through_rx(finalize(), build(True)))
    check_balance(cut)
    expected = ["".join(parts) for parts in texts if "".join(parts)]
    assert [f.text for f in finals(whole) if isinstance(f, Text) and f.text] == expected
