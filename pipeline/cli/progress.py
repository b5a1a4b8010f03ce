"""How far long work is, in one line on standard error that leaves nothing behind."""

import sys
import time
from collections.abc import Callable
from typing import TextIO

__all__ = ["Progress", "progress_of_file"]

MIN_BYTES = 8_000_000
"""Smaller files are done before anybody could read a line."""

_BETWEEN_S = 0.1
_BAR_CELLS = 24


class Progress:
    """`advance` by bytes as they are done, `close` at the end."""

    def __init__(
        self, stream: TextIO, total_bytes: int, label: str, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._total = total_bytes
        self._label = label
        self._now = now
        self._began_at = self._shown_at = now()
        self._done = 0

    def advance(self, size: int) -> None:
        self._done += size
        now = self._now()
        if now - self._shown_at >= _BETWEEN_S:
            self._shown_at = now
            self._stream.write(f"\r{self._line(now)}\x1b[K")
            self._stream.flush()

    def _line(self, now: float) -> str:
        share = min(1.0, self._done / self._total)
        bar = "#" * round(share * _BAR_CELLS)
        rate = self._done / 1e6 / max(now - self._began_at, 1e-6)
        return f"{self._label} [{bar:<{_BAR_CELLS}}] {share:4.0%} {rate:.0f} MB/s"

    def close(self) -> None:
        """Take the line away."""
        self._stream.write("\r\x1b[K")
        self._stream.flush()


def progress_of_file(name: str, size: int, *, has_display: bool) -> Progress | None:
    """Progress on standard error, where it is a terminal that nothing else draws on and the work is long."""
    if has_display or size < MIN_BYTES or not sys.stderr.isatty() or sys.stdout.isatty():
        return None
    return Progress(sys.stderr, size, name)
