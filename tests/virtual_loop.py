"""As much of an event loop as `LoopClock` needs, in virtual time."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from penstock.operators.clock import LoopClock

__all__ = ["LoopInVirtualTime", "clock_in"]


class Timer:
    def __init__(self, at: float, action: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self.at = at
        self.is_cancelled = False
        self._action = action
        self._arguments = arguments

    def ring(self) -> None:
        self._action(*self._arguments)

    def cancel(self) -> None:
        self.is_cancelled = True


class LoopInVirtualTime:
    """As much of an event loop as a clock needs; the test turns its time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.timers: list[Timer] = []
        self.made = 0
        self.troubles: list[dict[str, Any]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, at: float, action: Callable[..., object], *arguments: Any) -> Timer:
        self.made += 1
        timer = Timer(at, action, arguments)
        self.timers.append(timer)
        return timer

    def call_exception_handler(self, trouble: dict[str, Any]) -> None:
        self.troubles.append(trouble)

    @property
    def armed(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_cancelled]

    def run_until(self, moment: float) -> None:
        while due := [timer for timer in self.armed if timer.at <= moment]:
            timer = min(due, key=lambda timer: timer.at)
            self.timers.remove(timer)
            self.now = max(self.now, timer.at)
            timer.ring()
        self.now = moment


def clock_in(loop: LoopInVirtualTime) -> LoopClock:
    return LoopClock(cast(asyncio.AbstractEventLoop, loop))
