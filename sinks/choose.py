"""Which way of showing suits the place: decided from what can be known, by a function without side effects."""

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TextIO

from penstock.sinks.sink import Sink
from penstock.sinks.text import TextSink

__all__ = ["Look", "Place", "choose", "output_sinks"]

_NO_CURSOR = ("dumb", "unknown", "")
_NOT_SYNCHRONIZED = ("linux", "ansi", "cons25", "vt52", "vt100", "vt220")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where output goes, as far as it can be known."""

    is_terminal: bool
    status_is_terminal: bool = False
    """Whether standard error is one."""
    is_file: bool = False
    """Whether nobody reads along: a file, not a pipe into another program on the same screen."""
    encoding: str = "utf-8"
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    is_windows: bool = False
    is_legacy_windows: bool = False

    @classmethod
    def of(cls, output: TextIO, status: TextIO) -> "Place":
        """The place of this process."""
        is_windows = sys.platform == "win32"
        return cls(
            is_terminal=_is_terminal(output),
            status_is_terminal=_is_terminal(status),
            is_file=_is_file(output),
            encoding=getattr(output, "encoding", None) or "utf-8",
            is_windows=is_windows,
            is_legacy_windows=is_windows and _is_terminal(output) and _is_legacy_windows(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How to show: as plain text or rendered for a terminal, and what that terminal can do."""

    form: Literal["text", "terminal"]
    is_live: bool = False
    """Whether part of the screen is redrawn; else everything is only ever appended."""
    has_color: bool = False
    has_unicode: bool = True
    is_synchronized: bool = False
    """Whether frames are bracketed, so that a terminal shows each at once."""
    status: Literal["none", "until_text", "all_along"] = "none"
    """Whether standard error shows what is going on, while standard output is plain text."""


def choose(place: Place) -> Look:
    """The look for a place.

    * Not a terminal: plain text. Standard error, where it is a terminal, shows the status; if a pipe leads to a
      program that may write to the same screen, only until the text begins.
    * `FORCE_COLOR` without a terminal: rendered and coloured, but only appended.
    * A terminal: live, unless `TERM=dumb`, `CI` or an old Windows console say otherwise; then only appended.
    * `NO_COLOR` (set to anything) takes the colours, `FORCE_COLOR` (set to anything but 0) insists on them.
    """
    environment = place.environment
    terminal = environment.get("TERM", "" if not place.is_windows else "windows").lower()
    is_forced = environment.get("FORCE_COLOR", "") not in ("", "0", "false")
    has_color = is_forced or (
        not environment.get("NO_COLOR") and environment.get("FORCE_COLOR") not in ("0", "false")
    )
    has_unicode = _encodes("✓•─⠋…", place.encoding)
    if not place.is_terminal and not is_forced:
        status: Literal["none", "until_text", "all_along"] = "none"
        if place.status_is_terminal and terminal not in _NO_CURSOR and not environment.get("CI"):
            status = "all_along" if place.is_file else "until_text"
        return Look(form="text", has_color=has_color, has_unicode=has_unicode, status=status)
    can_move = place.is_terminal and terminal not in _NO_CURSOR and not place.is_legacy_windows
    is_live = can_move and not environment.get("CI")
    is_apple = environment.get("TERM_PROGRAM") == "Apple_Terminal"
    return Look(
        form="terminal",
        is_live=is_live,
        has_color=is_forced or (has_color and terminal not in _NO_CURSOR),
        has_unicode=has_unicode,
        is_synchronized=is_live and not is_apple and terminal not in _NOT_SYNCHRONIZED,
    )


def output_sinks(output: TextIO | None = None, status: TextIO | None = None, **options: Any) -> list[Sink]:
    """The sinks that suit this process's output; `options` are those of `TerminalSink`."""
    from penstock.sinks.terminal import TerminalSink

    output = output or sys.stdout
    status = status or sys.stderr
    look = choose(Place.of(output, status))
    if look.form == "terminal":
        return [TerminalSink(output, look=look, **options)]
    if look.status == "none":
        return [TextSink(output)]
    live = replace(look, form="terminal", is_live=True)
    return [TextSink(output), TerminalSink(status, look=live, rounds="none", keys=False)]


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def _is_file(stream: TextIO) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISCHR(mode)


def _is_legacy_windows() -> bool:
    from rich.console import detect_legacy_windows

    return detect_legacy_windows()


def _encodes(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
