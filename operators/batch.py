"""Fewer, larger messages for a transport on which each message is dear."""

from penstock.events import Event, TextDelta, ThinkingDelta, ToolInputDelta
from penstock.operators.coalesce import Coalesce
from penstock.operators.stage import Operator

__all__ = ["batch"]


class Batch(Coalesce):
    """Deltas wait until the window is over or enough is held, then leave merged.

        in    a─b──c───────────d───S──
        out   ────────abc──────────dS─      a window is 8 wide; S is not a delta
              └───────┘        └───┘

    Unlike `coalesce`, the first delta waits too: it is the number of messages that counts here, not the time
    of the first. Everything else is as there: blocks keep their order, what is not a delta flushes first,
    completion, error and abort flush, disposal drops the timer.
    """

    def __init__(self, window_s: float, max_chars: int) -> None:
        super().__init__(window_s)
        self._max_chars = max_chars
        self._chars = 0

    def feed(self, item: Event) -> None:
        kind = type(item)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolInputDelta:
            if not self._held:
                self._chars = 0
                self._cancel_timer = self.clock.call_later(self._window_s, self.flush)
            self._hold(item)  # type: ignore[arg-type]
            self._chars += len(item.json if kind is ToolInputDelta else item.text)  # type: ignore[union-attr]
            if self._chars >= self._max_chars:
                self.flush()
        else:
            self.flush()
            self.emit(item)


def batch(window_s: float = 0.25, max_chars: int = 4096) -> Operator[Event, Event]:
    """Merge deltas for up to `window_s` seconds or `max_chars` characters, whichever comes first."""
    return Operator(f"batch({window_s * 1000:g} ms, {max_chars} chars)", lambda: Batch(window_s, max_chars))
