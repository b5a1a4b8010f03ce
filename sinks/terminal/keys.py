"""Keys while a turn is shown: read from the terminal as they are pressed, its modes restored afterwards."""

import asyncio
import os
import re
import sys
from collections.abc import Callable
from typing import Any

try:
    import termios
except ImportError:  # Windows: no keys there
    termios = None  # type: ignore[assignment]

__all__ = ["KeyReader", "keys_in"]

_NAMES = {
    "\x0f": "ctrl-o", "\x1b": "escape", "\r": "enter", "\n": "enter", " ": "space", "\x7f": "backspace",
    "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down",
    "\x1b[5~": "page-up", "\x1b[6~": "page-down",
    "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1bOH": "home", "\x1bOF": "end",
    "\x02": "page-up", "\x06": "page-down", "\x15": "half-up", "\x04": "half-down",
}  # fmt: skip
_keys = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1bO.|\x1b|[\s\S]").findall


def keys_in(text: str) -> list[str]:
    """The keys that were pressed: a name for special ones, the character itself for others."""
    return [_NAMES.get(key, key) for key in _keys(text) if key in _NAMES or (len(key) == 1 and key.isprintable())]


class KeyReader:
    """Reads keys from standard input while it is this terminal's, through the running event loop.

    Line editing and echo are off meanwhile; ctrl-C and ctrl-Z work as ever. Does nothing where standard input is
    not a terminal, where this process is in the background, or where there is no event loop that could watch it.
    """

    def __init__(self, on_key: Callable[[str], object]) -> None:
        self._on_key = on_key
        self._loop: asyncio.AbstractEventLoop | None = None
        self._saved: list[Any] | None = None
        self._fd = -1

    @property
    def is_reading(self) -> bool:
        return self._saved is not None

    def start(self) -> None:
        """Begin to read, where that is possible."""
        if termios is None or self._saved is not None:
            return
        try:
            self._fd = sys.stdin.fileno()
            if not os.isatty(self._fd) or os.tcgetpgrp(self._fd) != os.getpgrp():
                return
            loop = asyncio.get_running_loop()
            saved = termios.tcgetattr(self._fd)
            loop.add_reader(self._fd, self._read)
        except (AttributeError, OSError, ValueError, RuntimeError, NotImplementedError, termios.error):
            return
        self._loop, self._saved = loop, saved
        changed = termios.tcgetattr(self._fd)
        # IEXTEN too: where it is on, some systems keep ctrl-O for themselves.
        changed[3] &= ~(termios.ICANON | termios.ECHO | termios.IEXTEN)
        changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSANOW, changed)

    def stop(self) -> None:
        """Stop reading and restore the terminal's modes."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._fd)
        try:
            termios.tcsetattr(self._fd, termios.TCSANOW, saved)
        except termios.error:  # the terminal is gone
            pass

    def _read(self) -> None:
        try:
            text = os.read(self._fd, 1024).decode(errors="ignore")
        except OSError:
            text = ""
        if not text:
            self.stop()
        for key in keys_in(text):
            self._on_key(key)
