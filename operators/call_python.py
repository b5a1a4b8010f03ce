"""Tool calls written as Python: `[search(query="x", limit=3), now()]`; the arguments become JSON on the way.

Strings, numbers, `True`, `False`, `None`, lists, tuples and dictionaries are understood; a word that is none of
these is a string. Arguments without a key have no place in a JSON object: such a call is malformed.
"""

import re
from collections.abc import Callable

from penstock.operators.calls import Calls
from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.json_scanner import in_string, quoted

__all__ = ["read_python_calls"]

_NAME = re.compile(r"[^\W\d][\w.]{0,127}")
_WORD = re.compile(r"[^\s,()\[\]{}:=\"']{1,256}")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}
_OPENING = {"[": "[", "(": "[", "{": "{"}
_CLOSING = {"]": "]", ")": "]", "}": "}"}
_STRING_TURN = {quote: re.compile(rf"[\\{quote}]") for quote in "\"'"}
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^xuU])", re.DOTALL)
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "b": "\b",
    "f": "\f",
    "0": "\0",
    "\n": "",
}
_LONGEST_ESCAPE = 10


def read_python_calls(cursor: Cursor, calls: Calls) -> Reading[None]:
    """One call, or a list of them in brackets; the cursor is at the bracket or the name."""
    is_list = cursor.text[cursor.pos] == "["
    if is_list:
        cursor.pos += 1
    while True:
        char = yield from cursor.skip_blank()
        if is_list and char == ",":
            cursor.pos += 1
        elif is_list and char == "]":
            cursor.pos += 1
            return
        elif not char:
            return
        else:
            name = yield from _read_word(cursor, _NAME)
            if (yield from cursor.peek()) != "(":
                if not cursor.ended:
                    raise Broken
                raise Cut
            cursor.pos += 1
            calls.start(name)
            yield from _read_arguments(cursor, calls)
            calls.end()
            if not is_list:
                return


def _read_arguments(cursor: Cursor, calls: Calls) -> Reading[None]:
    opening = "{"
    while True:
        char = yield from cursor.skip_blank()
        if char == ")":
            cursor.pos += 1
            calls.arguments("{}" if opening == "{" else "}")
            return
        if char == ",":
            cursor.pos += 1
            continue
        key = yield from _read_word(cursor, _NAME)
        if (yield from cursor.skip_blank()) != "=":
            if cursor.pos == len(cursor.text):
                raise Cut
            raise Broken
        cursor.pos += 1
        calls.arguments(f"{opening}{quoted(key)}: ")
        opening = ", "
        yield from _read_value(cursor, calls.arguments)


def _read_value(cursor: Cursor, write: Callable[[str], object]) -> Reading[None]:
    """One literal as JSON, up to what follows it."""
    depth = 0
    comma = ""
    while True:
        char = yield from cursor.skip_blank()
        if not char:
            raise Cut
        if char in _CLOSING:
            cursor.pos += 1
            depth -= 1
            comma = ""  # a comma before a closing bracket is Python's, not JSON's
            write(_CLOSING[char])
        elif char == "," and depth:
            cursor.pos += 1
            comma = ", "
            continue
        elif char == ":" and depth:
            cursor.pos += 1
            write(": ")
            continue
        else:
            if comma:
                write(comma)
                comma = ""
            if char in _OPENING:
                cursor.pos += 1
                depth += 1
                write(_OPENING[char])
            elif char in _STRING_TURN:
                yield from _read_string(cursor, char, write)
            else:
                word = yield from _read_word(cursor, _WORD)
                is_number = _NUMBER.fullmatch(word) is not None
                write(_WORDS.get(word) or (word if is_number else quoted(word)))
        if depth <= 0:
            return


def _read_string(cursor: Cursor, quote: str, write: Callable[[str], object]) -> Reading[None]:
    cursor.pos += 1
    write('"')
    while True:
        text, start = cursor.text, cursor.pos
        found = _STRING_TURN[quote].search(text, start)
        cursor.pos = len(text) if found is None else found.start()
        if cursor.pos > start:
            write(in_string(text[start : cursor.pos]))
        if found is None:
            yield from cursor.more()
        elif found.group() == quote:
            cursor.pos += 1
            write('"')
            return
        else:
            escape = _ESCAPE.match(text, cursor.pos)
            if escape is not None:
                cursor.pos = escape.end()
                write(in_string(_meaning(escape.group())))
            elif cursor.ended or len(text) - cursor.pos >= _LONGEST_ESCAPE:
                cursor.pos += 1
                write("\\\\")
            else:
                yield


def _meaning(escape: str) -> str:
    kind = escape[1]
    if kind not in "xuU":
        return _ESCAPES.get(kind, escape)
    digits = escape[2:]
    code = int(digits, 16)
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "\ufffd"


def _read_word(cursor: Cursor, pattern: re.Pattern[str]) -> Reading[str]:
    """The word at the cursor, whole: what follows it has to be there, or the end."""
    while True:
        found = pattern.match(cursor.text, cursor.pos)
        if found is None:
            if cursor.pos == len(cursor.text):
                yield from cursor.more()
                continue
            raise Broken
        if found.end() < len(cursor.text):
            cursor.pos = found.end()
            return found.group()
        yield from cursor.more()
