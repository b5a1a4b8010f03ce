"""`penstock.testing`: what others test with is tested itself."""

import asyncio
from typing import Any

import pytest
from chat_stream import answer, event

from penstock import (
    AssistantUpdate,
    BlockStart,
    Completed,
    FinalMessageStart,
    MessageStart,
    MessageStop,
    Pipeline,
    Settings,
    TextDelta,
    ThinkingUpdate,
    ToolBlockUpdate,
)
from penstock.growing import TextView
from penstock.testing import (
    RecordingSink,
    VirtualClock,
    assert_balanced,
    assert_order,
    assert_tool_stages,
    scripted,
)

TEXT = AssistantUpdate(TextView.of("x"), "x")


def tool(stage: Any, call_id: str = "c", **fields: Any) -> ToolBlockUpdate:
    return ToolBlockUpdate(call_id, "f", stage, TextView.of(""), **fields)


END = tool("end", success=True, result="")


def test_alarms_ring_in_order_each_at_its_own_moment_and_only_if_they_still_stand() -> None:
    clock = VirtualClock()
    rung: list[tuple[str, float]] = []

    def ring(name: str) -> None:
        rung.append((name, clock.now()))
        if name == "b":
            clock.call_later(1, lambda: ring("again"))

    clock.call_later(2, lambda: ring("b"))
    clock.call_later(1, lambda: ring("a"))
    clock.call_later(1.5, lambda: ring("never"))()
    assert clock.waiting == 2
    clock.advance(2.5)
    assert (rung, clock.now(), clock.waiting) == ([("a", 1), ("b", 2)], 2.5, 1)
    clock.advance(1)
    assert rung[-1] == ("again", 3)


def test_an_alarm_cancelled_after_it_rang_changes_nothing() -> None:
    clock = VirtualClock()
    cancel = clock.call_later(1, lambda: None)
    clock.advance(1)
    cancel()
    clock.call_later(1, lambda: None)
    assert clock.waiting == 1


def test_a_scripted_turn_shows_what_the_window_lets_through_and_when(run_async: asyncio.Runner) -> None:
    clock = VirtualClock()
    seen = RecordingSink(clock)

    async def run() -> None:
        pipeline = Pipeline(Settings(backend="openai-chat", window_s=0.05), sinks=[seen], clock=clock)
        async with pipeline.turn() as turn:
            steps = [(0.0, "a"), (0.01, "b"), (0.02, "c"), (0.5, "d")]
            chunks = [(delay_s, event({"content": text})) for delay_s, text in steps]
            await turn.round(scripted(clock, *chunks, (0.0, answer())))

    run_async.run(run())
    shown = [
        (round(at, 3), item.chunk)
        for at, item in zip(seen.times, seen.items, strict=True)
        if isinstance(item, AssistantUpdate)
    ]
    assert shown == [(0.0, "a"), (0.05, "bc"), (0.53, "d")]
    assert clock.waiting == 0
    assert (len(seen.turn_ids), seen.closed) == (1, 1)


@pytest.mark.parametrize(
    "items",
    [
        [Completed("")],
        [ThinkingUpdate("t"), ThinkingUpdate("u"), FinalMessageStart(), TEXT, tool("start"), TEXT, Completed("x")],
    ],
)
def test_a_turn_in_order_fits(items: list[Any]) -> None:
    assert_order(items)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([], "never completed"),
        ([TEXT, Completed("x")], "may not follow streaming"),
        ([FinalMessageStart(), Completed("x")], "may not follow final_message_start"),
        ([FinalMessageStart(), TEXT, ThinkingUpdate("t"), Completed("x")], "may not follow assistant"),
        ([FinalMessageStart(), TEXT, FinalMessageStart(), TEXT, Completed("x")], "may not follow assistant"),
        ([Completed(""), Completed("")], "may not follow completed"),
        ([Completed(""), tool("start")], "after the turn was completed"),
    ],
)
def test_a_turn_out_of_order_is_told(items: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_order(items)


def test_tools_that_live_orderly_pass() -> None:
    end_of_d = tool("end", "d", success=False, error="interrupted")
    assert_tool_stages([tool("start"), tool("start", "d"), tool("streaming"), tool("running"), END, end_of_d])
    assert_tool_stages([tool("start"), END, tool("start"), END])


@pytest.mark.parametrize(
    ("updates", "said"),
    [
        ([tool("streaming")], "began with streaming"),
        ([tool("start"), tool("start")], "started twice"),
        ([tool("start"), tool("running"), tool("streaming"), END], "streaming after running"),
        ([tool("start"), END, END], "began with end"),
        ([tool("start"), tool("end")], "without an outcome"),
        ([tool("start"), tool("end", success=False)], "without a summary"),
        ([tool("start")], "never ended"),
    ],
)
def test_tools_that_do_not_are_told(updates: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_tool_stages(updates)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([MessageStart("m")], "never stopped"),
        ([MessageStop("m")], "closes nothing"),
        ([MessageStart("m"), TextDelta("x", 0, "m")], "in a block of kind None"),
        ([MessageStart("m"), BlockStart("text", 1, "m")], "out of order"),
    ],
)
def test_events_that_do_not_balance_are_told(events: list[Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        assert_balanced(events)
