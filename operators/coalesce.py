"""Merge deltas so that a screen hears at most one flush an interval, and never waits for the first."""

from collections.abc import Callable
from typing import Any

from penstock.events import Event, TextDelta, ThinkingDelta, ToolInputDelta, ToolProgress
from penstock.operators.merge import BlockKey, Piece, merge_deltas
from penstock.operators.stage import Operator, Stage

__all__ = ["Coalesce", "coalesce"]


class Coalesce(Stage[Event, Event]):
    """At most one flush an interval; the first delta after a quiet interval leaves at once.

        in    a─b──c─────────d───e─────S──────
        out   a───────bc─────d───────e─S──────      a window is 8 wide; S is not a delta
              └───────┘      └───────┘

    Deltas of one block are merged; blocks leave in order of appearance; of a running tool's progress the newest
    stands for all. Anything else flushes first and passes at once, so nothing is overtaken. Completion, error and
    abort flush; disposal drops the timer. The timer runs only while something is held: an idle stream costs
    nothing. Constant cost a delta.
    """

    __slots__ = ("_cancel_timer", "_held", "_now", "_running", "_window_s", "open_at")

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self.open_at = float("-inf")
        """When the window opens, by the clock: a delta that comes earlier is held."""
        self._held: dict[BlockKey, list[Any]] = {}
        self._running: set[str] = set()
        self._cancel_timer: Callable[[], object] | None = None

    def start(self) -> None:
        self._now = self.clock.now

    def feed(self, item: Event) -> None:
        kind = type(item)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolInputDelta or self._is_repeated(item):
            now = self._now()
            if now < self.open_at:
                if not self._held:
                    self._cancel_timer = self.clock.call_later(self.open_at - now, self.flush)
                self._hold(item)  # type: ignore[arg-type]
            elif self._held:  # the timer is late: whoever pushes has kept the event loop from ringing it
                self._hold(item)  # type: ignore[arg-type]
                self.flush()
            else:
                self.open_at = now + self._window_s
                if kind is TextDelta or kind is ThinkingDelta:
                    self.emit_text(item)
                else:
                    self.emit(item)
        else:
            if self._held:
                self.flush()
            self.emit(item)

    def _is_repeated(self, item: Event) -> bool:
        """A tool's progress after the first: only the newest of a window is worth showing."""
        if type(item) is not ToolProgress:
            return False
        is_first = item.call_id not in self._running
        self._running.add(item.call_id)
        return not is_first

    def _hold(self, item: Piece | ToolProgress) -> None:
        if type(item) is ToolProgress:
            self._held[ToolProgress, 0, item.call_id, ""] = [item]
            return
        key = (type(item), item.block_index, item.message_id, item.parent_call_id)  # type: ignore[union-attr]
        pieces = self._held.get(key)
        if pieces is None or (type(item) is not ToolInputDelta and item.replace):  # type: ignore[union-attr]
            self._held[key] = [item]
        else:
            pieces.append(item)

    def flush(self) -> None:
        """Emit what is held, now; a reader of state behind the window calls this first."""
        held = self._held
        if held:
            self.release()
            self._held = {}
            self.open_at = self._now() + self._window_s
            for pieces in held.values():
                self.emit(merge_deltas(pieces))

    def finish(self) -> None:
        self.flush()

    def release(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None


def coalesce(window_s: float = 0.05) -> Operator[Event, Event]:
    """At most one flush every `window_s` seconds; 0 means off: everything passes as it comes."""
    return Operator(f"coalesce({window_s * 1000:g} ms)", lambda: Coalesce(window_s))
