"""Any text as one line of a bounded width that is safe to show."""

import re
from functools import lru_cache
from unicodedata import category, east_asian_width

__all__ = ["cell_width", "one_line"]

_BREAKS = re.compile(r"\s*(?:\r\n|[\n\r\v\f\x85\u2028\u2029])\s*")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_EMOJI_STYLE = "\ufe0f"
_JOINER = "\u200d"
_WIDTHLESS = {"\u200b", "\u200c", _JOINER, "\u2060", "\ufeff"}


def one_line(text: str, width: int) -> str:
    """`text` on one line, at most `width` terminal cells wide; what was cut off ends in `…`.

    Line breaks show as `⏎`, tabs as a space, control characters as their pictures (`␛`), and what could reverse the
    line's direction or be no character at all as `\N{REPLACEMENT CHARACTER}`. Costs the width, not the text.
    """
    if len(text) <= width and text.isascii() and text.isprintable():
        return text
    # Four characters a cell leave room for accents and joined emoji, and bound the work.
    line = _UNSAFE.sub(_neutral, _BREAKS.sub("⏎", text[: 4 * width].strip()))
    return _cut(line, width, has_more=len(text) > 4 * width)


def _neutral(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 9:
        return " "
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\ufffd"


def _cut(line: str, width: int, has_more: bool) -> str:
    room = 0
    used = 0
    for position, character in enumerate(line):
        cells = cell_width(character)
        if character == _EMOJI_STYLE and position and cell_width(line[position - 1]) == 1:
            cells = 1
        used += cells
        if used <= width - 1:
            room = position + 1
        elif used > width:
            has_more = True
            break
    return line[:room].rstrip(_JOINER) + "…" if has_more else line


@lru_cache(maxsize=4096)
def cell_width(character: str) -> int:
    """How many terminal cells a character takes: 0 for marks and joiners, 2 for wide ones, else 1.

    Where terminals differ it is the larger number: a line is never wider than it should be.
    """
    if category(character) in ("Mn", "Me") or character in _WIDTHLESS:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
