"""The screen: rows that stay, and below them a region that is redrawn; each frame is one write."""

import os
import re
from collections.abc import Sequence
from typing import TextIO

from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment, Segments

from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal.rows import Row
from penstock.sinks.text import write_replacing

__all__ = ["LiveScreen", "PlainScreen", "size_of"]

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_BEGIN_FRAME, _END_FRAME = "\x1b[?2026h", "\x1b[?2026l"
_WRAP_OFF, _WRAP_ON = "\x1b[?7l", "\x1b[?7h"
# Always from the first column on and before a row is written: when the terminal is resized, a row that was erased
# whole is wrapped anew as what it is, one that was erased from its middle on as long as it ever was. What is below
# is erased from the second row on: from the first row of the screen on it is the whole screen, and that some
# terminals put into the scrollback.
_ERASE_LINE = "\x1b[K"
_ERASE_REGION = f"{_ERASE_LINE}\r\n\x1b[J\x1b[1A"
_OTHER_SCREEN, _MAIN_SCREEN = "\x1b[?1049h", "\x1b[?1049l"

_find_control = re.compile("[\x00-\x1f\x7f-\x9f]").search


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of the terminal that a stream writes to; 80 by 24 where it does not say."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns, lines = 0, 0
    return columns or 80, lines or 24


class LiveScreen:
    """A terminal that understands cursor movements.

    Between frames the hidden cursor rests in the first column of the region's first row: everything from there down
    is the region's, everything above it is never touched again. A frame begins there, writes the rows that stay,
    then the region, and returns to its first row. So nothing has to be counted that a resize could change: however
    a terminal wraps the old rows anew, the cursor stays with them, and whatever else lands below it is overwritten.

    Rows of the region are written with line wrapping off: if the terminal thinks a character wider than we do, the
    row is cut at the edge instead of becoming two.
    """

    def __init__(self, stream: TextIO, has_color: bool = True, is_synchronized: bool = True) -> None:
        self._stream = stream
        self._has_color = has_color
        self._begin = _BEGIN_FRAME if is_synchronized else ""
        self._end = _END_FRAME if is_synchronized else ""
        self._region: list[str] = []
        self._is_open = False
        self.is_covered = False

    def draw(self, staying: Sequence[Row], region: Sequence[Row] | None, is_resized: bool = False) -> None:
        """One frame: `staying` rows are there for good, `region` is what it shows now (None: what it did)."""
        painted = self._region if region is None else [self._painted(row) for row in region]
        if not staying and painted == self._region and not is_resized:
            return
        frame = [self._begin]
        if not self._is_open:
            self._is_open = True
            frame.append(_HIDE_CURSOR)
        is_new = bool(staying) or is_resized or len(painted) < len(self._region)
        if is_new:
            frame.append(_ERASE_REGION if is_resized or len(self._region) > 1 else _ERASE_LINE)
            frame += [f"{self._painted(row)}\r\n" for row in staying]
        if painted:
            lines = painted if is_new else [self._changed(index, line) for index, line in enumerate(painted)]
            frame += [
                _WRAP_OFF,
                "\r\n".join(lines),
                _WRAP_ON,
                "\r",
                f"\x1b[{len(painted) - 1}A" if len(painted) > 1 else "",
            ]
        frame.append(self._end)
        self._region = painted
        self._write("".join(frame))

    def _changed(self, index: int, line: str) -> str:
        """What to write in a row of the region: nothing where it says so already."""
        if index < len(self._region):
            return "" if self._region[index] == line else _ERASE_LINE + line
        return line

    def cover(self) -> None:
        """Show another screen in front of this one; `draw` nothing until `uncover`."""
        self.is_covered = True
        self._write(f"{_OTHER_SCREEN}{_HIDE_CURSOR}")

    def show_covering(self, rows: Sequence[Row]) -> None:
        """Fill the other screen: as many rows as it has lines."""
        lines = "\r\n".join(_ERASE_LINE + self._painted(row) for row in rows)
        self._write(f"{self._begin}\x1b[1;1H{_WRAP_OFF}{lines}{_WRAP_ON}{self._end}")

    def uncover(self) -> None:
        """Back to this screen."""
        self.is_covered = False
        self._write(_MAIN_SCREEN + _HIDE_CURSOR)

    def close(self) -> None:
        """Leave the terminal as it was found, below what stays."""
        if self._is_open:
            if self.is_covered:
                self.uncover()
            self.draw((), ())
            self._is_open = False
            self._write(_SHOW_CURSOR)

    def abandon(self) -> None:
        """The program is being ended: leave what is shown, and a terminal in its normal modes below it."""
        if self._is_open:
            self._is_open = False
            cover = _MAIN_SCREEN if self.is_covered else ""
            below = "\r\n" * len(self._region)
            self.is_covered = False
            self._write(f"{self._end}{cover}{_WRAP_ON}{below}{_SHOW_CURSOR}")
            self._region = []

    def _painted(self, row: Row) -> str:
        if not self._has_color:
            row = list(Segment.remove_color(row))
        return "".join(
            [
                words.render(_safe(text), color_system=ColorSystem.STANDARD) if words else _safe(text)
                for text, words, _ in row
            ]
        )

    def _write(self, text: str) -> None:
        write_replacing(self._stream, text)
        self._stream.flush()


class PlainScreen:
    """A place without cursor movements (a dumb terminal, a log, an old Windows console): what stays is printed."""

    is_covered = False

    def __init__(self, stream: TextIO, has_color: bool) -> None:
        self._console = Console(
            file=_Replacing(stream),  # type: ignore[arg-type]
            color_system="standard" if has_color else None,
            force_terminal=has_color or None,
            soft_wrap=True,
            markup=False,
            highlight=False,
            emoji=False,
        )

    def draw(self, staying: Sequence[Row], region: Sequence[Row] | None, is_resized: bool = False) -> None:
        """Print what stays; there is no region."""
        if staying:
            segments = [[*[Segment(_safe(s.text), s.style) for s in row], Segment.line()] for row in staying]
            self._console.print(Segments([segment for row in segments for segment in row]), end="")

    def close(self) -> None:
        """Nothing was changed."""

    abandon = close


class _Replacing:
    """A stream that replaces characters its encoding lacks."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        write_replacing(self._stream, text)
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _safe(text: str) -> str:
    """The last gate before the terminal: whatever made this text, no control character leaves here."""
    if _find_control(text) is None:
        return text
    return sanitize(text).replace("\n", " ").replace("\t", " ")
