"""Where timed stages get their time: one small clock over any Rx scheduler or event loop."""

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import copy_context
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
        # The stock loops' time is this very function behind one more call, and it is asked for all the time.
        self.now = time.monotonic if type(loop).time is asyncio.BaseEventLoop.time else loop.time

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel:
        at = math.ceil((self.now() + delay_s) * _TICKS_PER_S)
        tick = self._ticks.get(at)
        if tick is None:
            tick = self._ticks[at] = _Tick(self._ticks, at)
            tick.timer = self._loop.call_at(at / _TICKS_PER_S, self._ring, tick)
        alarm = _Alarm(tick, action)
        tick.alarms[alarm] = None
        return alarm

    def _ring(self, tick: "_Tick") -> None:
        del self._ticks[tick.at]
        alarms = list(tick.alarms)
        tick.alarms.clear()
        for alarm in alarms:
            if alarm.is_set:  # else an earlier one has cancelled it
                try:
                    alarm.context.run(alarm.action)
                except Exception as error:
                    self._loop.call_exception_handler({"message": f"{alarm.action} failed", "exception": error})


class _Tick:
    """What rings at one time."""

    __slots__ = ("alarms", "at", "ticks", "timer")

    timer: asyncio.TimerHandle

    def __init__(self, ticks: "dict[int, _Tick]", at: int) -> None:
        self.ticks = ticks
        self.at = at
        self.alarms: dict[_Alarm, None] = {}


class _Alarm:
    """An action, and the context it was asked for in: a log line of one turn must not carry another's request."""

    __slots__ = ("_tick", "action", "context", "is_set")

    def __init__(self, tick: _Tick, action: Callable[[], object]) -> None:
        self.action = action
        self.context = copy_context()
        self.is_set = True
        self._tick = tick

    def __call__(self) -> None:
        """Cancel it. (A bound method would be one more object for the garbage collector, a window and a stream.)"""
        self.is_set = False
        tick = self._tick
        if self in tick.alarms:
            del tick.alarms[self]
            if not tick.alarms:
                del tick.ticks[tick.at]
                tick.timer.cancel()


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
