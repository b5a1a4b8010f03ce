"""JSON read as it is written: where a value ends, what a string says. Each character is looked at once.

Nothing is parsed into values and nothing is checked beyond what finding the end needs: brackets are counted outside
strings, escapes are honoured inside them. Depth is a number, not a stack, so no nesting is too deep.
"""

import re
from collections.abc import Callable
from json.encoder import encode_basestring

from penstock.operators.cursor import Broken, Cursor, Cut, Reading

__all__ = [
    "JsonScanner",
    "in_string",
    "next_key",
    "quoted",
    "read_short_string",
    "read_string",
    "read_value",
    "skip_value",
]

LONGEST_SHORT_STRING = 512
"""Keys and names: what is longer is neither."""

_STRUCTURE = re.compile(r'["{}\[\]]')
_STRING_TURN = re.compile(r'["\\]')
_SCALAR_END = re.compile(r"[\s,}\]]")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX4 = re.compile(r"[0-9a-fA-F]{4}")


quoted: Callable[[str], str] = encode_basestring
"""A text as a JSON string, characters beyond ASCII as they are."""


def in_string(piece: str) -> str:
    """A piece of text as it stands inside a JSON string; pieces can be joined."""
    return quoted(piece)[1:-1]


class JsonScanner:
    """Finds the end of one JSON value that comes in pieces."""

    __slots__ = ("_depth", "_escaped", "_in_string", "_is_scalar", "_started")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._is_scalar = False
        self._started = False

    def scan(self, text: str, pos: int) -> int:
        """Just past the value's end, or -1 where the text ends first. The value begins at its first character."""
        length = len(text)
        if not self._started and pos < length:
            self._started = True
            self._is_scalar = text[pos] not in '{["'
        if self._is_scalar:
            # A number has no end of its own: what follows it says that it is over.
            found = _SCALAR_END.search(text, pos)
            return -1 if found is None else found.start()
        while pos < length:
            if self._escaped:
                self._escaped = False
                pos += 1
            elif self._in_string:
                found = _STRING_TURN.search(text, pos)
                if found is None:
                    return -1
                pos = found.end()
                if text[pos - 1] == "\\":
                    self._escaped = True
                else:
                    self._in_string = False
                    if not self._depth:
                        return pos
            else:
                found = _STRUCTURE.search(text, pos)
                if found is None:
                    return -1
                pos = found.end()
                char = text[pos - 1]
                if char == '"':
                    self._in_string = True
                elif char in "{[":
                    self._depth += 1
                else:
                    self._depth -= 1
                    if self._depth <= 0:
                        return pos
        return -1

    @property
    def may_end_here(self) -> bool:
        """Whether the end of the text can be the end of the value: so only for numbers and words."""
        return self._is_scalar


def read_value(cursor: Cursor, write: Callable[[str], object]) -> Reading[None]:
    """Move over one value, passing on its text exactly as written; `Cut` where it is not all there."""
    scanner = JsonScanner()
    while True:
        text, start = cursor.text, cursor.pos
        end = scanner.scan(text, start)
        cursor.pos = len(text) if end < 0 else end
        if cursor.pos > start:
            write(text[start : cursor.pos])
        if end >= 0:
            return
        if cursor.ended and scanner.may_end_here:
            return
        yield from cursor.more()


def skip_value(cursor: Cursor) -> Reading[None]:
    """Move over one value."""
    yield from read_value(cursor, lambda _piece: None)


def read_string(cursor: Cursor, write: Callable[[str], object]) -> Reading[None]:
    """Move over a string (the cursor is at its opening quote), passing on what it says.

    Half an escape and half a surrogate pair wait for their other half; half a pair that stays alone is U+FFFD, and
    a backslash before what needs none stands for itself.
    """
    cursor.pos += 1
    while True:
        text, pos = cursor.text, cursor.pos
        pieces: list[str] = []
        closed = False
        while True:
            found = _STRING_TURN.search(text, pos)
            if found is None:
                pieces.append(text[pos:])
                pos = len(text)
                break
            if found.start() > pos:
                pieces.append(text[pos : found.start()])
                pos = found.start()
            if text[pos] == '"':
                pos += 1
                closed = True
                break
            meaning, width = _escape(text, pos)
            if not width:
                break
            pieces.append(meaning)
            pos += width
        cursor.pos = pos
        said = "".join(pieces)
        if said:
            write(said)
        if closed:
            return
        yield from cursor.more()


def _escape(text: str, pos: int) -> tuple[str, int]:
    """What the escape at `pos` means and how long it is; a width of 0 where it is not all there."""
    kind = text[pos + 1 : pos + 2]
    if not kind:
        return "", 0
    if kind != "u":
        return _ESCAPES.get(kind, "\\" + kind), 2
    digits = text[pos + 2 : pos + 6]
    if not _HEX4.fullmatch(digits):
        if len(digits) < 4 and pos + 2 + len(digits) == len(text):
            return "", 0
        return "\\u", 2
    code = int(digits, 16)
    if not 0xD800 <= code <= 0xDFFF:
        return chr(code), 6
    if code >= 0xDC00:
        return "\ufffd", 6
    other = text[pos + 6 : pos + 12]
    if len(other) < 6 and "\\u".startswith(other[:2]) and pos + 6 + len(other) == len(text):
        return "", 0
    if other.startswith("\\u") and _HEX4.fullmatch(other[2:]):
        digits = other[2:]
        low = int(digits, 16)
        if 0xDC00 <= low <= 0xDFFF:
            return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), 12
    return "\ufffd", 6


def read_short_string(cursor: Cursor) -> Reading[str]:
    """A whole string of bounded length: a key or a name. `Broken` where it is longer, or no string."""
    if (yield from cursor.skip_blank()) != '"':
        if cursor.pos == len(cursor.text):
            raise Cut
        raise Broken
    pieces: list[str] = []
    room = LONGEST_SHORT_STRING

    def collect(piece: str) -> None:
        nonlocal room
        room -= len(piece)
        if room < 0:
            raise Broken
        pieces.append(piece)

    yield from read_string(cursor, collect)
    return "".join(pieces)


def next_key(cursor: Cursor) -> Reading[str | None]:
    """Inside an object: the next member's key, with the cursor at its value; None past the closing brace."""
    char = yield from cursor.skip_blank()
    if char == ",":
        cursor.pos += 1
        char = yield from cursor.skip_blank()
    if char == "}":
        cursor.pos += 1
        return None
    key = yield from read_short_string(cursor)
    char = yield from cursor.skip_blank()
    if char == ":":
        cursor.pos += 1
        char = yield from cursor.skip_blank()
        if char:
            return key
    if not char:
        raise Cut
    raise Broken
