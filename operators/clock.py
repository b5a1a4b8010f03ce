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

__all__ = ["Alarm", "Clock", "LoopClock", "SchedulerClock", "alarm_of", "clock_of", "loop_clock"]

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
        alarm = _LoopAlarm(self, action)
        alarm.ring_at(self.now() + delay_s)
        return alarm

    def set(self, alarm: "_LoopAlarm", at_s: float) -> "_Tick":
        """Let `alarm` ring at the first step that is not before `at_s`."""
        at = math.ceil(at_s * _TICKS_PER_S)
        tick = self._ticks.get(at)
        if tick is None:
            tick = self._ticks[at] = _Tick(self._ticks, at)
            tick.timer = self._loop.call_at(at / _TICKS_PER_S, self._ring, tick)
        tick.alarms[alarm] = None
        return tick

    def _ring(self, tick: "_Tick") -> None:
        del self._ticks[tick.at]
        alarms, tick.alarms = tick.alarms, {}
        for alarm in alarms:
            if alarm.tick is tick:  # else an earlier one has cancelled it
                alarm.tick = None
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
        self.alarms: dict[_LoopAlarm, None] = {}


class Alarm(Protocol):
    """An action that can be told to ring again and again, one time after the other. Called, it is cancelled."""

    def ring_at(self, at_s: float) -> None:
        """Ring at this time of the clock; only for an alarm that is not set."""

    def __call__(self) -> None: ...


class _LoopAlarm:
    """An action, and the context it was asked for in: a log line of one turn must not carry another's request."""

    __slots__ = ("_clock", "action", "context", "tick")

    def __init__(self, clock: LoopClock, action: Callable[[], object]) -> None:
        self.action = action
        self.context = copy_context()
        self.tick: _Tick | None = None
        self._clock = clock

    def ring_at(self, at_s: float) -> None:
        self.tick = self._clock.set(self, at_s)

    def __call__(self) -> None:
        tick = self.tick
        if tick is not None:
            self.tick = None
            if tick.alarms.pop(self, self) is None and not tick.alarms:
                del tick.ticks[tick.at]
                tick.timer.cancel()


class _PlainAlarm:
    """The same on any other clock."""

    __slots__ = ("_action", "_cancel", "_clock")

    def __init__(self, clock: "Clock", action: Callable[[], object]) -> None:
        self._clock = clock
        self._action = action
        self._cancel: Cancel | None = None

    def ring_at(self, at_s: float) -> None:
        self._cancel = self._clock.call_later(at_s - self._clock.now(), self._action)

    def __call__(self) -> None:
        if self._cancel is not None:
            self._cancel()
            self._cancel = None


def alarm_of(clock: Clock, action: Callable[[], object]) -> Alarm:
    """An alarm for what rings over and over: on an event loop's clock, setting it again makes nothing anew."""
    return _LoopAlarm(clock, action) if isinstance(clock, LoopClock) else _PlainAlarm(clock, action)


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
