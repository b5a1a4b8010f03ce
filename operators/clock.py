"""Where timed stages get their time: one small clock over any Rx scheduler or event loop."""

import asyncio
import math
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from reactivex import abc
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

__all__ = ["Clock", "LoopClock", "SchedulerClock", "clock_of", "loop_clock"]

Cancel = Callable[[], object]

_TICKS_PER_S = 256


class Clock(Protocol):
    """Seconds that never run backwards, and a call in the future."""

    def now(self) -> float: ...

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel: ...


class LoopClock:
    """The time of an asyncio event loop; monotonic, so that a stepped wall clock cannot stall a window.

    Everybody in a loop shares one (`loop_clock`). Alarms ring on a grid of 1/256 s: those due within the same 4 ms
    share one timer of the loop, so that a thousand streams with a window each cost a few hundred timers a second,
    and a cancelled alarm leaves nothing behind. Never early, at most one step late; no timer where no alarm is set.
    """

    __slots__ = ("__weakref__", "_loop", "_ticks", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ticks: dict[int, _Tick] = {}
        self.now = loop.time

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel:
        at = math.ceil((self.now() + delay_s) * _TICKS_PER_S)
        tick = self._ticks.get(at)
        if tick is None:
            tick = self._ticks[at] = _Tick(self._loop.call_at(at / _TICKS_PER_S, self._ring, at))
        alarm = object()
        # An alarm rings in its caller's context, as the loop's own timers do: a turn's log lines stay its own.
        tick.alarms[alarm] = action, copy_context()
        return partial(self._cancel, at, tick, alarm)

    def _cancel(self, at: int, tick: "_Tick", alarm: object) -> None:
        tick.alarms.pop(alarm, None)
        if not tick.alarms and self._ticks.get(at) is tick:
            del self._ticks[at]
            tick.timer.cancel()

    def _ring(self, at: int) -> None:
        alarms = self._ticks.pop(at).alarms
        for alarm in list(alarms):
            if alarm in alarms:  # else an earlier one has cancelled it
                action, context = alarms.pop(alarm)
                try:
                    context.run(action)
                except Exception as error:
                    self._loop.call_exception_handler({"message": f"{action} failed", "exception": error})


class _Tick:
    """What rings at one time."""

    __slots__ = ("alarms", "timer")

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.alarms: dict[object, tuple[Callable[[], object], Context]] = {}


class SchedulerClock:
    """The time of an Rx scheduler: virtual in tests, a timer thread where there is no event loop."""

    __slots__ = ("_scheduler",)

    def __init__(self, scheduler: abc.SchedulerBase) -> None:
        self._scheduler = scheduler

    def now(self) -> float:
        return self._scheduler.to_seconds(self._scheduler.now)

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel:
        def run(_scheduler: abc.SchedulerBase, _state: Any) -> None:
            action()

        return self._scheduler.schedule_relative(delay_s, run).dispose


# Entries go with the clock, and a clock with the last turn that uses it; the loop itself is never held for long.
_clocks: WeakValueDictionary[asyncio.AbstractEventLoop, LoopClock] = WeakValueDictionary()


def loop_clock(loop: asyncio.AbstractEventLoop | None = None) -> LoopClock:
    """The clock of `loop` (of the running one, without), the same for everybody."""
    loop = loop or asyncio.get_running_loop()
    clock = _clocks.get(loop)
    if clock is None:
        clock = _clocks[loop] = LoopClock(loop)
    return clock


def clock_of(scheduler: abc.SchedulerBase | None) -> Clock:
    """The clock of `scheduler`; without one, of the running event loop; without that, of timer threads."""
    if isinstance(scheduler, AsyncIOScheduler):
        return loop_clock(scheduler._loop)
    if scheduler is not None:
        return SchedulerClock(scheduler)
    try:
        return loop_clock()
    except RuntimeError:
        return SchedulerClock(TimeoutScheduler.singleton())
