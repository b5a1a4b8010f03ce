"""A running tool is heard of again after a long silence, on the clock, and no timer waits for nothing."""

from collections.abc import Callable
from typing import Any

from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.events import BlockStart, Event, ToolCompletion, ToolInvocation, ToolProgress
from penstock.operators.track_tools import track_tools
from penstock.updates import ToolBlockUpdate


def beats(events: list[tuple[float, Event]], until: float, heartbeat_s: float = 10.0) -> list[tuple[float, str]]:
    """When a `running` came, and what it said."""
    scheduler = TestScheduler()
    heard: list[tuple[float, str]] = []

    def listen(item: Any) -> None:
        if type(item) is ToolBlockUpdate and item.stage == "running":
            heard.append((scheduler.clock, item.short_result or ""))

    source: Subject[Event] = Subject()
    subscription = source.pipe(track_tools(heartbeat_s=heartbeat_s)).subscribe(listen, scheduler=scheduler)

    def send(_scheduler: object, event: Event | None) -> None:
        if event is not None:
            source.on_next(event)

    for at, event in events:
        scheduler.schedule_absolute(at, send, event)
    scheduler.advance_to(until)
    subscription.dispose()
    return heard


def test_a_running_tool_is_reported_again_after_a_long_silence_and_not_after_its_end() -> None:
    events: list[tuple[float, Event]] = [
        (1, ToolInvocation("call-1", "Bash", {}, 0)),
        (5, ToolProgress("call-1")),
        (12, ToolProgress("call-1", "building")),
        (35, ToolCompletion("call-1", "done")),
    ]
    assert beats(events, 100) == [(5, ""), (12, "building"), (22, "building"), (32, "building")]


def test_several_running_tools_have_a_heartbeat_each() -> None:
    events: list[tuple[float, Event]] = [
        (1, ToolProgress("a", "A")),
        (4, ToolProgress("b", "B")),
        (15, ToolCompletion("a", "done")),
    ]
    assert beats(events, 25) == [(1, "A"), (4, "B"), (11, "A"), (14, "B"), (24, "B")]


def test_no_heartbeat_means_none_and_a_call_that_is_only_streaming_has_none() -> None:
    assert beats([(1, ToolProgress("a", "A"))], 100, heartbeat_s=0) == [(1, "A")]
    assert beats([(1, BlockStart("tool", 0, "m", "a", "Read"))], 100) == []


class CountingClock:
    """Stands still, and knows how many timers wait."""

    def __init__(self) -> None:
        self.waiting = 0

    def now(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        self.waiting += 1

        def cancel() -> None:
            self.waiting -= 1

        return cancel


def test_a_timer_waits_only_while_a_tool_runs() -> None:
    clock = CountingClock()
    chain = track_tools().chain().connect(lambda _: None, clock, lambda action: action())
    waiting = []
    for event in (
        BlockStart("tool", 0, "m", "a", "Read"),
        ToolProgress("a"),
        ToolProgress("b"),
        ToolCompletion("a", "done"),
        ToolCompletion("b", "done"),
        ToolProgress("c"),
    ):
        chain.feed(event)
        waiting.append(clock.waiting)
    chain.finish()
    waiting.append(clock.waiting)
    assert waiting == [0, 1, 1, 1, 0, 1, 0]
