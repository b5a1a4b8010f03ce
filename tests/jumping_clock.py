"""A clock on which every wait is over at once, and has taken its time all the same."""

import asyncio
from collections.abc import Callable


class JumpingClock:
    """For one who waits at a time. `waits` are the delays that were asked for."""

    def __init__(self) -> None:
        self.time = 0.0
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        def jump() -> None:
            self.time += delay_s
            action()

        self.waits.append(delay_s)
        return asyncio.get_running_loop().call_soon(jump).cancel
