"""The 50 ms window: first at once, then at most one flush an interval, nothing lost (FR-004, USERS 4)."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import merged, timeline
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolProgress,
)
from penstock.operators.batch import batch
from penstock.operators.coalesce import coalesce

WINDOW = 50.0


def text(piece: str, block: int = 0) -> TextDelta:
    return TextDelta(piece, block)


def test_the_first_delta_leaves_at_once_and_the_rest_of_the_window_as_one() -> None:
    seen = timeline(coalesce(WINDOW), [(100, text("a")), (110, text("b")), (120, text("c"))], end="never")
    assert seen == [(100, text("a")), (150, text("bc"))]


def test_after_a_quiet_interval_the_next_delta_leaves_at_once_again() -> None:
    seen = timeline(coalesce(WINDOW), [(100, text("a")), (110, text("b")), (300, text("c"))], end="never")
    assert seen == [(100, text("a")), (150, text("b")), (300, text("c"))]


@pytest.mark.parametrize(("end", "last"), [("completed", "completed"), ("error", "error")])
def test_completion_and_error_flush_what_is_held_and_emit_nothing_afterwards(end: str, last: str) -> None:
    seen = timeline(coalesce(WINDOW), [(100, text("a")), (110, text("b"))], end=end)
    assert seen == [(100, text("a")), (110, text("b")), (110, last)]


def test_disposal_emits_nothing_more() -> None:
    assert timeline(coalesce(WINDOW), [(100, text("a")), (110, text("b"))], end="dispose") == [(100, text("a"))]


class ClockThatNeverRings:
    """The clock of a loop that is kept busy by whoever pushes."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        return lambda: None


def test_a_window_that_nobody_ends_is_over_with_the_first_delta_after_it() -> None:
    clock = ClockThatNeverRings()
    seen: list[tuple[float, Any]] = []
    chain = coalesce(WINDOW).chain()
    chain.connect(lambda item: seen.append((clock.time, item)), clock, lambda action: action())
    for clock.time in (100, 110, 120, 170, 180, 230):
        chain.feed(text("x"))
    assert seen == [(100, text("x")), (170, text("xxx")), (230, text("xx"))]


def test_an_empty_stream_just_completes() -> None:
    assert timeline(coalesce(WINDOW), []) == [(0, "completed")]


def test_what_is_not_a_delta_flushes_first_and_passes_at_once() -> None:
    stop = BlockStop(0)
    seen = timeline(coalesce(WINDOW), [(100, text("a")), (105, text("b")), (106, stop)], end="never")
    assert seen == [(100, text("a")), (106, text("b")), (106, stop)]


def test_interleaved_blocks_are_merged_each_in_order_of_appearance() -> None:
    pushes: list[tuple[float, Event]] = [
        (100, ToolInputDelta("{", 0, "x")),
        (101, ToolInputDelta("[", 1, "y")),
        (102, ToolInputDelta("}", 0, "x")),
        (103, ToolInputDelta("]", 1, "y")),
    ]
    seen = timeline(coalesce(WINDOW), pushes, end="never")
    assert [item for _, item in seen] == [
        ToolInputDelta("{", 0, "x"),
        ToolInputDelta("[]", 1, "y"),
        ToolInputDelta("}", 0, "x"),
    ]


def test_a_replacing_delta_takes_the_place_of_what_is_held() -> None:
    pushes: list[tuple[float, Event]] = [
        (100, text("a")),
        (101, text("wrong")),
        (102, TextDelta("right", 0, replace=True)),
        (103, text("!")),
    ]
    seen = timeline(coalesce(WINDOW), pushes, end="never")
    assert [item for _, item in seen] == [text("a"), TextDelta("right!", 0, replace=True)]


def test_a_window_of_zero_passes_everything_as_it_comes() -> None:
    pushes: list[tuple[float, Event]] = [(100, text("a")), (100, text("b")), (100, text("c"))]
    assert [item for _, item in timeline(coalesce(0), pushes, end="never")] == [i for _, i in pushes]


def test_a_tools_progress_starts_at_once_and_then_only_the_newest_of_a_window_is_shown() -> None:
    pushes: list[tuple[float, Event]] = [(100 + i, ToolProgress("x", f"{i} %")) for i in range(30)]
    seen = timeline(coalesce(WINDOW), pushes, end="never")
    assert [item.message for _, item in seen] == ["0 %", "1 %", "29 %"]


blocks = st.integers(0, 2)
items = st.one_of(
    st.builds(text, st.text(max_size=4), blocks),
    st.builds(lambda s, b: ThinkingDelta(s, b + 3), st.text(max_size=4), blocks),
    st.builds(lambda s, b: ToolInputDelta(s, b + 6, f"c{b}"), st.text(max_size=4), blocks),
    st.builds(BlockStop, blocks),
    st.builds(lambda b: BlockStart("text", b), blocks),
)
arrivals = st.lists(st.tuples(st.floats(0, 30), items), max_size=40)


def schedule(gaps: list[tuple[float, Event]]) -> list[tuple[float, Event]]:
    now = 100.0
    out = []
    for gap, item in gaps:
        now += gap
        out.append((now, item))
    return out


def by_block(events: list[Any]) -> dict[tuple[type, int], str]:
    joined: dict[tuple[type, int], str] = {}
    for event in events:
        if isinstance(event, TextDelta | ThinkingDelta):
            key: tuple[type, int] = (type(event), event.block_index)
            joined[key] = joined.get(key, "") + event.text
        elif isinstance(event, ToolInputDelta):
            key = (type(event), event.block_index)
            joined[key] = joined.get(key, "") + event.json
    return joined


@pytest.mark.parametrize("make", [lambda: coalesce(WINDOW), lambda: batch(WINDOW, 10)])
@given(gaps=arrivals, end=st.sampled_from(["completed", "error"]))
def test_nothing_is_lost_doubled_or_moved_between_blocks(
    make: Any, gaps: list[tuple[float, Event]], end: str
) -> None:
    pushes = schedule(gaps)
    out = [item for _, item in timeline(make(), pushes, end=end)][:-1]
    pushed = [item for _, item in pushes]
    assert by_block(out) == by_block(pushed)
    walls = [i for i in pushed if isinstance(i, BlockStart | BlockStop)]
    assert [i for i in out if isinstance(i, BlockStart | BlockStop)] == walls


@given(gaps=arrivals)
def test_between_walls_flushes_are_at_least_a_window_apart(gaps: list[tuple[float, Event]]) -> None:
    pushes = [push for push in schedule(gaps) if not isinstance(push[1], BlockStart | BlockStop)]
    times = sorted({at for at, item in timeline(coalesce(WINDOW), pushes, end="never")})
    assert all(later - earlier >= WINDOW - 1e-6 for earlier, later in pairwise(times))


def test_no_timer_is_armed_while_nothing_is_pending() -> None:
    scheduler = TestScheduler()
    source: Subject[Event] = Subject()
    source.pipe(coalesce(WINDOW)).subscribe(lambda _: None, scheduler=scheduler)
    source.on_next(text("a"))
    assert len(scheduler._queue) == 0
    source.on_next(text("b"))
    assert len(scheduler._queue) == 1


def test_batch_waits_for_its_window_or_its_size() -> None:
    operator = batch(WINDOW, max_chars=4)
    seen = timeline(operator, [(100, text("ab")), (110, text("c"))], end="never")
    assert seen == [(150, text("abc"))]
    seen = timeline(operator, [(100, text("ab")), (110, text("cd")), (111, text("e"))], end="never")
    assert seen == [(110, text("abcd")), (161, text("e"))]


def test_merging_what_the_coalescer_merged_changes_nothing() -> None:
    pushes: list[tuple[float, Event]] = [(100 + i, text(str(i))) for i in range(100)]
    out = [item for _, item in timeline(coalesce(WINDOW), pushes)][:-1]
    assert merged(out) == merged([item for _, item in pushes])
    assert len(out) == 3
