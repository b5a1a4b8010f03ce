"""Numbered items back in order, without waiting for ever for one that is lost."""

from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from penstock.events import StreamError
from penstock.operators.stage import Operator, Stage

__all__ = ["reorder", "sequence_number"]

Item = TypeVar("Item")


def sequence_number(record: Any) -> int | None:
    """The `sequence_number` of a record or payload, as the OpenAI Responses API counts them; None without one."""
    if isinstance(record, bytes | str):
        try:
            record = orjson.loads(record)
        except orjson.JSONDecodeError:
            return None
    number = record.get("sequence_number") if isinstance(record, dict) else None
    return number if type(number) is int else None


class Reorder(Stage[Any, Any]):
    def __init__(self, sequence_of: Callable[[Any], int | None], window_items: int, wait_s: float) -> None:
        self._sequence_of = sequence_of
        self._window_items = window_items
        self._wait_s = wait_s
        self._first: int | None = None
        self._first_item: Any = None
        self._expected = 0
        # By number, in order of arrival: until when to wait, the item, and those without a number behind it.
        self._held: dict[int, tuple[float, list[Any]]] = {}
        self._held_items = 0
        self._cancel: Callable[[], object] | None = None

    def feed(self, item: Any) -> None:
        number = self._sequence_of(item)
        if number is None:
            if self._held:
                self._held[max(self._held)][1].append(item)
                self._hold_one_more()
            else:
                self.emit(item)
        elif number == self._expected and self._first is not None:
            self._expected += 1
            self.emit(item)
            if self._held:
                self._pass_followers()
        elif self._begins(number, item):
            if self._first is not None:
                self.finish()
            self._first, self._first_item, self._expected = number, item, number + 1
            self.emit(item)
            self._pass_followers()
        elif number > self._expected:
            if number not in self._held:
                self._held[number] = (self.clock.now() + self._wait_s, [item])
                self._hold_one_more()
        elif number == 0 and self._first == 1:
            self._first, self._first_item = 0, item
            self.emit(item)

    def finish(self) -> None:
        while self._held:
            self._give_up_gap()
        self.release()

    def release(self) -> None:
        if self._cancel is not None:
            self._cancel()
            self._cancel = None

    def _begins(self, number: int, item: Any) -> bool:
        """Whether a numbering begins: the first of all, or another one after it (and not its first item again)."""
        if number > 1:
            return False
        if self._first is None or self._first > 1:
            return True
        return number == self._first and item != self._first_item

    def _hold_one_more(self) -> None:
        self._held_items += 1
        while self._held_items > self._window_items:
            self._give_up_gap()
        if self._held and self._wait_s and self._cancel is None:
            self._wait()

    def _pass_followers(self) -> None:
        while self._expected in self._held:
            _, items = self._held.pop(self._expected)
            self._held_items -= len(items)
            self._expected += 1
            for item in items:
                self.emit(item)
        if not self._held:
            self.release()

    def _give_up_gap(self) -> None:
        lowest = min(self._held)
        missing = f"{self._expected} to {lowest - 1}" if lowest - self._expected > 1 else f"{self._expected}"
        self._expected = lowest
        if self._first is None:
            self._first, self._first_item = lowest, self._held[lowest][1][0]
        self.emit(StreamError("gap", f"missing from the numbered sequence: {missing}", is_fatal=False))
        self._pass_followers()

    def _wait(self) -> None:
        until, _ = next(iter(self._held.values()))
        self._cancel = self.clock.call_later(max(0.0, until - self.clock.now()), self._look_at_clock)

    def _look_at_clock(self) -> None:
        self._cancel = None
        oldest, (until, _) = next(iter(self._held.items()))
        while until <= self.clock.now() and oldest in self._held:
            self._give_up_gap()
        if self._held:
            self._wait()


def reorder(
    sequence_of: Callable[[Item], int | None] = sequence_number, window_items: int = 64, wait_s: float = 1.0
) -> Operator[Item, Item | StreamError]:
    """Put items back in the order of their numbers (0, 1, 2, … or from 1), as `sequence_of` reads them.

        in     0  1     3  4     2        6  ·  ·  ·
        out    0  1              2 3 4             gap(5) 6
                                              └ wait_s ┘

    An item that comes too early is held until those before it are here; one that comes again is dropped. At most
    `window_items` are held (0: none, a gap is only reported), none longer than `wait_s` (0: as long as the window
    allows). Then the missing numbers are given up: a `StreamError` of code `gap`, not fatal, stands in their place,
    and if they do come later they are dropped, for out of order they would do more harm than missing.

    Items without a number (None) keep their place: they never overtake what arrived before them. Number 0 or 1 with
    another content than before is the beginning of a new numbering, as when two responses share a stream; what is
    held of the old one leaves first.

    For records before they are normalised. On completion and on error, what is held leaves in order, gaps reported;
    on disposal the timer is released. An item in order costs one comparison, and arms no timer.
    """
    return Operator("reorder", lambda: Reorder(sequence_of, window_items, wait_s))
