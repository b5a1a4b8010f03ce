"""One clock a loop: alarms that fall together share a timer, and nothing is armed where nothing waits."""

import asyncio
import gc
import weakref
from contextvars import ContextVar
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.testing import TestScheduler
from virtual_loop import LoopInVirtualTime, clock_in

from penstock.operators.clock import Clock, LoopClock, SchedulerClock, alarm_of, clock_of, loop_clock

GRID_S = 1 / 256


@given(st.lists(st.floats(0, 2), min_size=1, max_size=30), st.lists(st.booleans(), min_size=30, max_size=30))
def test_alarms_ring_once_never_early_and_at_most_one_step_late(delays: list[float], keeps: list[bool]) -> None:
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    rung: dict[int, float] = {}
    cancels = []
    for number, delay in enumerate(delays):

        def ring(number: int = number) -> None:
            assert number not in rung
            rung[number] = clock.now() - 1000.0

        cancels.append(clock.call_later(delay, ring))
    for cancel, keep in zip(cancels, keeps, strict=False):
        if not keep:
            cancel()
    loop.run_until(1010.0)
    kept = {number for number, keep in zip(range(len(delays)), keeps, strict=False) if keep}
    assert set(rung) == kept
    for number in kept:
        assert delays[number] - 1e-9 <= rung[number] <= delays[number] + GRID_S + 1e-9
    assert not loop.armed
    for cancel in cancels:
        cancel()  # late, and twice: nothing


def test_a_thousand_windows_share_a_handful_of_timers() -> None:
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    rung = []
    for number in range(1000):
        loop.now = 1000.0 + number * 0.00005  # all within one window
        clock.call_later(0.05, lambda: rung.append(clock.now()))
    assert loop.made <= 15
    loop.run_until(1001.0)
    assert len(rung) == 1000


def test_the_last_alarm_cancelled_disarms_the_timer() -> None:
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    cancels = [clock.call_later(0.05, lambda: None) for _ in range(3)]
    for cancel in cancels:
        assert loop.armed
        cancel()
    assert not loop.armed


def test_an_alarm_may_cancel_its_neighbour_and_set_another() -> None:
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    rung: list[str] = []

    def first() -> None:
        rung.append("first")
        cancel()
        clock.call_later(0.0, lambda: rung.append("third"))

    clock.call_later(0.05, first)
    cancel = clock.call_later(0.05, lambda: rung.append("second"))
    loop.run_until(1001.0)
    assert rung == ["first", "third"]
    assert not loop.armed


def test_an_alarm_that_raises_is_reported_and_its_neighbours_ring() -> None:
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    rung: list[str] = []
    clock.call_later(0.05, lambda: 1 / 0)
    clock.call_later(0.05, lambda: rung.append("other"))
    loop.run_until(1001.0)
    assert rung == ["other"]
    assert [type(trouble["exception"]) for trouble in loop.troubles] == [ZeroDivisionError]


def test_alarms_that_share_a_timer_ring_in_the_contexts_they_were_set_in() -> None:
    request: ContextVar[str] = ContextVar("request", default="none")
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    heard: list[str] = []
    for name in ("a", "b"):
        token = request.set(name)
        clock.call_later(0.05, lambda: heard.append(request.get()))
        request.reset(token)
    assert loop.made == 1
    loop.run_until(1001.0)
    assert heard == ["a", "b"]


@pytest.mark.parametrize("kind", ["of a loop", "of a scheduler"])
def test_one_alarm_can_be_set_again_and_again_and_is_cancelled_by_a_call(kind: str) -> None:
    loop = LoopInVirtualTime()
    scheduler = TestScheduler()
    clock: Clock = clock_in(loop) if kind == "of a loop" else SchedulerClock(scheduler)
    advance = loop.run_until if kind == "of a loop" else scheduler.advance_to
    rung: list[float] = []
    began = clock.now()
    alarm = alarm_of(clock, lambda: rung.append(round(clock.now() - began)))
    alarm()  # not set: nothing
    for second in (1, 2, 3):
        alarm.ring_at(began + second)
        if second == 2:
            alarm()
            alarm()
        advance(began + second + 0.1)
    alarm()
    assert rung == [1, 3]
    assert not loop.armed


def test_an_alarm_may_set_itself_while_it_rings_and_rings_in_the_context_it_was_made_in() -> None:
    request: ContextVar[str] = ContextVar("request", default="none")
    loop = LoopInVirtualTime()
    clock = clock_in(loop)
    heard: list[str] = []

    def ring() -> None:
        heard.append(request.get())
        if len(heard) < 3:
            alarm.ring_at(clock.now() + 1)

    token = request.set("mine")
    alarm = alarm_of(clock, ring)
    request.reset(token)
    alarm.ring_at(clock.now())
    loop.run_until(1010.0)
    assert heard == ["mine"] * 3


def test_everybody_in_a_loop_has_the_same_clock_and_neither_outlives_its_users(run_async: asyncio.Runner) -> None:
    async def clocks() -> list[LoopClock]:
        return [loop_clock(), loop_clock(), cast(LoopClock, clock_of(None))]

    first, *others = run_async.run(clocks())
    assert all(other is first for other in others)
    gone = weakref.ref(first)
    del first, others
    gc.collect()
    assert gone() is None
