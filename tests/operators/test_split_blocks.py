"""Deltas, finals and the named final message are taken apart by one piece of code (G5), and numbered alike."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, cuts, merged, push
from text_streams import said, text_message

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
    TurnCompleted,
    Usage,
)
from penstock.operators.finalize import finalize
from penstock.operators.route_tags import route_tags

CALLS = route_tags(drop=("code",))
MIXED = '<think>hm</think>Yes.<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>Done.'
FINALS = [
    Thinking("hm", 0, "m"),
    Text("Yes.", 1, "m"),
    ToolInvocation("call-1", "f", {"a": 1}, 2, "m"),
    Text("Done.", 3, "m"),
]


def run(*inside: Event) -> list[Event]:
    out = push(CALLS, [MessageStart("m"), *inside, MessageStop("m", "stop")])
    check_balance(out)
    return out


def only(kinds: type | tuple[type, ...], events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kinds)]


def shown(events: Sequence[Any]) -> dict[int, Any]:
    """What a consumer has in the end: deltas build up, `replace` and finals take their place."""
    blocks: dict[int, Any] = {}
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            blocks[event.block_index] = ("" if event.replace else blocks.get(event.block_index, "")) + event.text
        elif isinstance(event, Text | Thinking):
            blocks[event.block_index] = event.text
        elif isinstance(event, ToolInvocation):
            blocks[event.block_index] = event.input
    return {index: text for index, text in blocks.items() if text != ""}


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_blocks_of_every_kind_are_numbered_in_order_of_appearance() -> None:
    out = run(
        BlockStart("text", 0, "m"),
        TextDelta("<think>a</think>b", 0, "m"),
        BlockStop(0, "m"),
        BlockStart("tool", 1, "m", "x", "g"),
        ToolInputDelta("{}", 1, "x", "m"),
        BlockStop(1, "m"),
        ToolInvocation("x", "g", {}, 1, "m"),
        BlockStart("thinking", 2, "m"),
        ThinkingDelta("c", 2, "m"),
        BlockStop(2, "m"),
        Thinking("c", 2, "m", signature="s"),
    )
    assert [(event.kind, event.block_index) for event in only(BlockStart, out)] == [
        ("thinking", 0),
        ("text", 1),
        ("tool", 2),
        ("thinking", 3),
    ]
    assert only((Thinking, ToolInvocation), out) == [
        ToolInvocation("x", "g", {}, 2, "m"),
        Thinking("c", 3, "m", signature="s"),
    ]


def test_other_events_pass_in_their_place() -> None:
    usage = Usage(1, 2)
    out = run(BlockStart("text", 0, "m"), TextDelta("a", 0, "m"), usage, TextDelta("b", 0, "m"), BlockStop(0, "m"))
    assert out[3] is usage


def test_conversations_and_messages_stay_apart() -> None:
    main: list[Event] = text_message("<think>a</think>b")
    sub: list[Event] = [
        MessageStart("m", parent_call_id="p"),
        BlockStart("text", 0, "m", parent_call_id="p"),
        TextDelta("c<think>d", 0, "m", "p"),
        BlockStop(0, "m", "p"),
        MessageStop("m", parent_call_id="p"),
    ]
    mixed = [event for pair in zip(main, sub, strict=True) for event in pair]
    out = push(CALLS, [*mixed, *text_message("e")])
    check_balance(out)
    assert [event for event in out if getattr(event, "parent_call_id", "") == "p"] == push(CALLS, sub)
    assert merged([e for e in out if getattr(e, "parent_call_id", "") == ""]) == merged(
        push(CALLS, [*main, *text_message("e")])
    )


def test_deltas_that_nobody_announced_get_their_block() -> None:
    out = push(CALLS, [TextDelta("a<thin", 4, "m")])
    assert merged(out) == [BlockStart("text", 0, "m"), TextDelta("a<thin", 0, "m"), BlockStop(0, "m")]


# ── finals ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_final_without_deltas_is_taken_apart_whole() -> None:
    assert run(Text(MIXED, 0, "m"))[1:-1] == FINALS


@given(data=st.data())
def test_a_final_after_its_deltas_gives_each_of_their_blocks_its_own(data: st.DataObject) -> None:
    deltas = [TextDelta(piece, 0, "m") for piece in data.draw(cuts(MIXED))]
    late = data.draw(st.booleans())
    stop = BlockStop(0, "m")
    text = Text(MIXED, 0, "m")
    out = run(BlockStart("text", 0, "m"), *deltas, *((stop, text) if late else (text, stop)))
    assert only((Text, Thinking, ToolInvocation), out) == FINALS
    assert [event.block_index for event in only(BlockStart, out)] == [0, 1, 2, 3]


def test_a_final_that_stands_before_its_stop_stays_before_it() -> None:
    refusal = Text("No <thin", 0, "m", is_refusal=True)
    out = run(BlockStart("text", 0, "m"), TextDelta("No <thin", 0, "m"), refusal, BlockStop(0, "m"))
    assert [type(event) for event in merged(out)[1:-1]] == [BlockStart, TextDelta, Text, BlockStop]
    assert only(Text, out) == [refusal]


def test_a_final_that_says_more_or_less_than_the_deltas_wins() -> None:
    streamed: list[Event] = [BlockStart("text", 0, "m"), TextDelta("<think>a</think>b", 0, "m"), BlockStop(0, "m")]
    assert shown(run(*streamed, Text("c", 0, "m"))) == {1: "c"}
    assert shown(run(*streamed, Text("<think>a</think>b<think>c</think>d", 0, "m"))) == {
        0: "a",
        1: "b",
        2: "c",
        3: "d",
    }


def test_a_final_tells_no_trouble_twice() -> None:
    text = "<think>a"
    streamed: list[Event] = [BlockStart("text", 0, "m"), TextDelta(text, 0, "m"), BlockStop(0, "m")]
    assert len(only(StreamError, run(*streamed, Text(text, 0, "m")))) == 1
    assert len(only(StreamError, run(Text(text, 0, "m")))) == 1


def test_a_cut_call_in_a_final_is_no_invocation() -> None:
    out = run(Text('<tool_call>{"name": "f", "arguments": {"a": 1}', 0, "m"))
    assert [event.code for event in only(StreamError, out)] == ["incomplete_tool_call"]
    assert only(ToolInvocation, out) == []


def test_arguments_that_are_no_json_say_so_in_the_final() -> None:
    (call,) = only(ToolInvocation, run(Text('<tool_call>{"name": "f", "arguments": {a: 1}}</tool_call>', 0, "m")))
    assert (call.input, call.is_malformed) == ("{a: 1}", True)


def test_a_late_final_finds_its_message() -> None:
    out = push(CALLS, [*text_message("<think>a</think>b"), Text("<think>a</think>b", 0, "m")])
    check_balance(out)
    assert only((Text, Thinking), out) == [Thinking("a", 0, "m"), Text("b", 1, "m")]


def test_finalize_adds_nothing_to_what_a_final_said_and_makes_what_none_said() -> None:
    text = [*text_message(MIXED)[:-1], Text(MIXED, 0, "m"), MessageStop("m", "stop")]
    for events in (text, text_message(MIXED)):
        assert only((Text, Thinking, ToolInvocation), push(CALLS | finalize(), events)) == FINALS


@pytest.mark.parametrize("cut", ['{"a": 1}', '{"a"'])
def test_finalize_makes_no_invocation_of_a_call_that_was_cut(cut: str) -> None:
    events = text_message(f'<tool_call>{{"name": "f", "arguments": {cut}')
    out = push(CALLS | finalize(), events)
    assert only(ToolInvocation, out) == []
    assert [event.code for event in only(StreamError, out)] == ["incomplete_tool_call"]


# ── text in place of other text ──────────────────────────────────────────────────────────────────────────────

texts = st.lists(
    st.sampled_from(
        ["a", "b", "<think>", "</think>", "<thi", '<tool_call>{"name":"f","arguments":{}}</tool_call>', " "]
    ),
    max_size=6,
).map("".join)


def test_text_in_place_of_text_without_markup_is_the_same_block() -> None:
    out = run(
        BlockStart("text", 0, "m"),
        TextDelta("a <", 0, "m"),
        TextDelta("b", 0, "m", replace=True),
        TextDelta("c", 0, "m"),
        BlockStop(0, "m"),
    )
    deltas = [TextDelta("a ", 0, "m"), TextDelta("b", 0, "m", replace=True), TextDelta("c", 0, "m")]
    assert out[1:-1] == [BlockStart("text", 0, "m"), *deltas, BlockStop(0, "m")]


@given(before=texts, after=texts, more=texts)
def test_after_a_replacement_a_consumer_has_what_the_new_text_says(before: str, after: str, more: str) -> None:
    out = run(
        BlockStart("text", 0, "m"),
        TextDelta(before, 0, "m"),
        TextDelta(after, 0, "m", replace=True),
        TextDelta(more, 0, "m"),
        BlockStop(0, "m"),
    )
    fresh = said(merged(run(BlockStart("text", 0, "m"), TextDelta(after + more, 0, "m"), BlockStop(0, "m"))))
    expected = [part[1] for part in fresh if part[0] in ("text", "thinking")]
    assert [text for text in shown(out).values() if isinstance(text, str)] == expected


def test_a_replacement_makes_no_call_twice() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    out = run(
        BlockStart("text", 0, "m"),
        TextDelta(f"a {call}", 0, "m"),
        TextDelta(f"b {call}", 0, "m", replace=True),
        BlockStop(0, "m"),
    )
    assert [event.call_id for event in only(BlockStart, out) if event.kind == "tool"] == ["call-1"]


# ── the named final message ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Yes.", "Yes."),
        ("<think>hm</think>Yes.", "Yes."),
        (MIXED, "Yes.Done."),
        ("1 < 2 `<think>`", "1 < 2 `<think>`"),
    ],
)
def test_g5_the_named_final_message_is_stripped_as_the_stream_is(message: str, kept: str) -> None:
    assert push(route_tags(), [TurnCompleted("stop", message)]) == [TurnCompleted("stop", kept)]
    assert push(route_tags(), [TurnCompleted("stop")]) == [TurnCompleted("stop")]


def test_g5_a_final_message_without_a_closer_was_never_thinking() -> None:
    operator = route_tags(implicit_open=True)
    assert push(operator, [TurnCompleted("stop", "Yes.")]) == [TurnCompleted("stop", "Yes.")]
    assert push(operator, [TurnCompleted("stop", "hm</think>Yes.")]) == [TurnCompleted("stop", "Yes.")]


def test_memory_is_bounded_over_many_messages() -> None:
    chain = CALLS.chain()
    chain.stages[0].emit = lambda event: None
    for number in range(200):
        for event in (MessageStart(f"m{number}"), TextDelta("a", 0, f"m{number}"), MessageStop(f"m{number}")):
            chain.feed(event)
    assert len(chain.stages[0]._messages) <= 20  # type: ignore[attr-defined]
