"""A model's text made safe for a terminal: nothing in it can move the cursor, change a mode, reach the clipboard.

What a model or a tool prints is data, and a terminal takes part of it for commands (CWE-150). What becomes of it:

| in the text | becomes |
| --- | --- |
| escape sequences: CSI, OSC (title, OSC 8 links, OSC 52 clipboard), DCS, SOS, PM, APC, all others | nothing |
| their one-character C1 forms (U+0080 to U+009F) | nothing, just as their two-character forms |
| a sequence without its end | nothing, up to the end of the line at most: the next line is shown |
| CR LF, a lone CR, NEL, LINE and PARAGRAPH SEPARATOR | a line feed: a line can not overwrite itself |
| other control characters: NUL, BEL, BS, VT, FF, SO, SI, DEL … | nothing |
| characters that reorder what is read: embeddings, overrides, isolates (U+202A–202E, U+2066–2069) | nothing |
| invisible relics: U+206A–206F, U+FFF9–FFFB, a byte order mark inside the text | nothing |
| half a surrogate pair | U+FFFD |

TAB and LF pass. So does all that people write with: right-to-left text and its marks (LRM, RLM, ALM), joiners (ZWJ,
ZWNJ), variation selectors, combining marks, emoji sequences with their tags.
"""

import re

__all__ = ["Sanitizer", "find_unsafe", "sanitize"]

find_unsafe = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
).search
_find_string_end = re.compile("[\n\r\x07\x18\x1a\x1b\x9c]").search
_csi_parameters = re.compile("[ -?]*").match

_LINE_BREAKS = frozenset("\r\x85\u2028\u2029")
_STRING_STARTS = frozenset("\x90\x98\x9d\x9e\x9f")
_ESCAPED_STRING_STARTS = frozenset("]PX^_")

# What the next character is part of.
_TEXT, _AFTER_CR, _ESCAPE, _ESCAPE_REST, _CSI, _STRING = range(6)


class Sanitizer:
    """Makes a text safe that arrives in pieces; wherever it is cut, the result is the same.

    Nothing is held back. A piece with nothing unsafe in it costs one search and is returned as it is.
    """

    __slots__ = ("_state",)

    def __init__(self) -> None:
        self._state = _TEXT

    def feed(self, text: str) -> str:
        """The next piece, made safe."""
        if self._state == _TEXT and find_unsafe(text) is None:
            return text
        return "".join(self._safe_parts(text))

    def _safe_parts(self, text: str) -> list[str]:
        parts: list[str] = []
        position, end = 0, len(text)
        while position < end:
            if self._state == _TEXT:
                found = find_unsafe(text, position)
                if found is None:
                    parts.append(text[position:])
                    break
                parts.append(text[position : found.start()])
                parts.append(self._replacement(found[0]))
                position = found.end()
            else:
                position = self._skip(text, position)
        return parts

    def _replacement(self, unsafe: str) -> str:
        if unsafe == "\x1b":
            self._state = _ESCAPE
        elif unsafe in _LINE_BREAKS:
            if unsafe == "\r":
                self._state = _AFTER_CR
            return "\n"
        elif unsafe == "\x9b":
            self._state = _CSI
        elif unsafe in _STRING_STARTS:
            self._state = _STRING
        elif "\ud800" <= unsafe <= "\udfff":
            return "\ufffd"
        return ""

    def _skip(self, text: str, position: int) -> int:
        """Where what the state is about ends; the state after it."""
        state, self._state = self._state, _TEXT
        character = text[position]
        if state == _AFTER_CR:
            return position + (character == "\n")
        if state == _STRING:
            found = _find_string_end(text, position)
            if found is None:
                self._state = _STRING
                return len(text)
            if found[0] == "\x1b":
                self._state = _ESCAPE
            return found.start() if found[0] in "\n\r" else found.end()
        if state == _CSI:
            position = _csi_parameters(text, position).end()  # type: ignore[union-attr]
            if position == len(text):
                self._state = _CSI
                return position
            return position + ("@" <= text[position] <= "~")
        if " " <= character <= "/":
            self._state = _ESCAPE_REST
            return position + 1
        if state == _ESCAPE:
            if character == "[":
                self._state = _CSI
            elif character in _ESCAPED_STRING_STARTS:
                self._state = _STRING
        return position + ("0" <= character <= "~")


def sanitize(text: str) -> str:
    """A whole text made safe: a tool's name, its parameters, its result."""
    return text if find_unsafe(text) is None else Sanitizer().feed(text)
