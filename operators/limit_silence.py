"""A limit on silence: a stalled stream is reported instead of waited for."""

from collections.abc import Callable

from penstock.events import Event, MessageStart, StreamError
from penstock.operators.stage import Operator, Stage

__all__ = ["limit_silence"]


class LimitSilence(Stage[Event, Event]):
    """Passes everything; when nothing came for too long, says so once, as a fatal and retryable `stalled` error.

        in    ──────────a──b──────────────────c──
        out   ──────────a──b──────────E───────c──      between_s is 10 wide
              └ first_s ┘  └────────┘

    Only events count: keep-alive comments and pings never become events, so they cannot hide a stall; nor does
    a bare `MessageStart`. Completion, error and abort end the watch; disposal drops the timer. One timer, set
    anew only when it rings: an event costs one look at the clock.
    """

    def __init__(self, first_s: float, between_s: float) -> None:
        self._first_s = first_s
        self._between_s = between_s
        self._last_at: float | None = None
        self._began_at: float | None = None
        self._cancel_timer: Callable[[], object] | None = None
        self._has_stalled = False

    def start(self) -> None:
        self._began_at = self.clock.now()
        self._watch(self._first_s)

    def feed(self, item: Event) -> None:
        if type(item) is not MessageStart:
            if self._last_at is None:
                self.release()
                self._watch(self._between_s)
            self._last_at = self.clock.now()
        self.emit(item)

    def _watch(self, limit_s: float) -> None:
        if limit_s > 0 and not self._has_stalled:
            self._cancel_timer = self.clock.call_later(limit_s, self._ring)

    def _ring(self) -> None:
        self._cancel_timer = None
        limit_s, since = self._first_s, self._began_at or 0.0
        if self._last_at is not None:
            limit_s, since = self._between_s, self._last_at
        left_s = since + limit_s - self.clock.now()
        if left_s > 1e-6:
            self._watch(left_s)
            return
        self._has_stalled = True
        what = "content" if self._last_at is None else "more content"
        self.emit(StreamError("stalled", f"no {what} for {limit_s:g} s", retryable=True))

    def finish(self) -> None:
        self._has_stalled = True
        self.release()

    def release(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None


def limit_silence(first_s: float = 0.0, between_s: float = 0.0) -> Operator[Event, Event]:
    """Report a stream silent for `first_s` before its first content or `between_s` after it; 0 means no limit."""
    return Operator(f"limit_silence({first_s:g} s, {between_s:g} s)", lambda: LimitSilence(first_s, between_s))
