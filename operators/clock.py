"""Where timed stages get their time: one small clock over any Rx scheduler or event loop."""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from reactivex import abc
from reactivex.scheduler import TimeoutScheduler
from reactivex.scheduler.eventloop import AsyncIOScheduler

__all__ = ["Clock", "LoopClock", "SchedulerClock", "clock_of"]

Cancel = Callable[[], object]


class Clock(Protocol):
    """Seconds that never run backwards, and a call in the future."""

    def now(self) -> float: ...

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel: ...


class LoopClock:
    """The time of an asyncio event loop; monotonic, so that a stepped wall clock cannot stall a window."""

    __slots__ = ("_loop", "now")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Cancel:
        return self._loop.call_later(delay_s, action).cancel


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


def clock_of(scheduler: abc.SchedulerBase | None) -> Clock:
    """The clock of `scheduler`; without one, of the running event loop; without that, of timer threads."""
    if isinstance(scheduler, AsyncIOScheduler):
        return LoopClock(scheduler._loop)
    if scheduler is not None:
        return SchedulerClock(scheduler)
    try:
        return LoopClock(asyncio.get_running_loop())
    except RuntimeError:
        return SchedulerClock(TimeoutScheduler.singleton())
