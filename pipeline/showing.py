"""The one way from a turn's events to its sinks, shared by its rounds, its tools and whoever pushes besides."""

from collections.abc import Callable
from typing import Any

from penstock.events import Event, TurnCompleted
from penstock.operators.clock import Clock
from penstock.operators.coalesce import Coalesce
from penstock.operators.gate import Gate
from penstock.operators.phase import Phase
from penstock.operators.stage import Chain, Operator

__all__ = ["Showing"]


class Showing:
    """Everything passes one gate, one item at a time, whoever pushes and from whichever thread.

    `run` is that gate; `feed`, for those who are inside, takes an event; `window` is where deltas are held.
    """

    __slots__ = ("_chain", "_phase", "clock", "feed", "is_over", "run", "window")

    def __init__(self, operator: Operator[Event, Any], deliver: Callable[[Any], object], clock: Clock) -> None:
        self.clock = clock
        self.run = Gate().run
        self.is_over = False
        self._chain: Chain[Event, Any] = operator.chain().connect(deliver, clock, self.alarm)
        self.feed = self._chain.feed
        self.window = next(stage for stage in self._chain.stages if isinstance(stage, Coalesce))
        self._phase = next(stage for stage in self._chain.stages if isinstance(stage, Phase))

    @property
    def final_message(self) -> str | None:
        """What the turn was completed with, once it is."""
        return self._phase.final_message

    def alarm(self, action: Callable[[], object]) -> None:
        """A timer rings; after the end nobody listens."""
        if not self.is_over:
            self.run(action)

    def push(self, event: Event) -> None:
        """Take an event from outside; after the end, it is dropped."""
        self.run(self._take, event)

    def _take(self, event: Event) -> None:
        if not self.is_over:
            self.feed(event)

    def end(self, completed: TurnCompleted) -> None:
        """The last event; everything held is delivered before it."""
        self.feed(completed)
        self._chain.finish()
        self._chain.release()
        self.is_over = True
