"""What a sink is, and what it may rely on.

A sink receives one ordered stream a turn: each coalesced event (`penstock.events`), followed by the screen
updates it causes (`penstock.updates`). It is told when a turn opens, gets every item from one thread, one at a
time, and is closed exactly once, after everything it was given.

What it may do without harm: raise (the error is logged once with its place, the stream and the other sinks go
on, and after `MAX_FAILURES` in a row the sink is detached), and be slow, if its `on_next` is a coroutine
function: it then reads from a bounded mailbox in which deltas merge and finals are never dropped
(`penstock.sinks.mailbox`), unless it would rather be detached than miss a delta (`overflow`).
"""

from collections.abc import Awaitable
from typing import Literal, TypeAlias

from penstock.events import Event
from penstock.updates import Update

__all__ = ["MAX_FAILURES", "Item", "Sink"]

Item: TypeAlias = Event | Update

MAX_FAILURES = 5


class Sink:
    """A place where updates end. Subclasses write `on_next`, as a function or, where it takes time, a coroutine."""

    accepts: frozenset[type] | None = None
    """The classes of items it wants, or None for all."""

    overflow: Literal["merge", "detach"] = "merge"
    """What happens to a slow sink whose mailbox is full: deltas give way to their finals, or it is detached."""

    def open(self, turn_id: str) -> "Sink":
        """A turn begins. Returns what receives its items: the sink itself, or one made for this turn."""
        return self

    def on_next(self, item: Item) -> Awaitable[None] | None:
        raise NotImplementedError

    def close(self) -> Awaitable[None] | None:
        """The turn is over and everything was delivered, or the deadline for a slow sink has passed."""
        return None
