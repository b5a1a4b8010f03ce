"""Tool calls as Gemma writes them, `call:NAME{key:<|"|>text<|"|>,count:3,deep:{list:[1,2]}}`, made into JSON.

Keys are bare, strings stand between tokens of their own and have no escapes; a bare word that is no number,
truth value or null is a string.
"""

import re

import orjson

from penstock.operators.calls import Calls
from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.json_scanner import in_string, quoted
from penstock.operators.tokens import Tokens

__all__ = ["read_gemma_arguments"]

_QUOTES = ('<|"|>', "<escape>")
_QUOTE = Tokens([(quote, quote) for quote in _QUOTES])
_CLOSING_QUOTE = {quote: Tokens([(quote, quote)]) for quote in _QUOTES}
_KEY = re.compile(r"[^:{}\[\],<]{1,128}")
_WORD = re.compile(r"[^,\]}\[{<]{1,256}")


def read_gemma_arguments(cursor: Cursor, calls: Calls) -> Reading[None]:
    """The braces after a call's name, and all that is in them."""
    open_brackets: list[str] = []
    comma = ""
    while True:
        char = yield from cursor.skip_blank()
        if not char:
            raise Cut
        if char in ("}", "]"):
            cursor.pos += 1
            if not open_brackets or open_brackets.pop() != char:
                raise Broken
            calls.arguments(char)
            comma = ", "
            if not open_brackets:
                calls.end()
                return
            continue
        if char == ",":
            cursor.pos += 1
            continue
        calls.arguments(comma)
        comma = ", "
        if open_brackets and open_brackets[-1] == "}":
            yield from _read_key(cursor, calls)
            char = yield from cursor.skip_blank()
        if char in ("{", "["):
            cursor.pos += 1
            open_brackets.append("}" if char == "{" else "]")
            calls.arguments(char)
            comma = ""
        elif not (yield from _read_quoted(cursor, calls)):
            word = (yield from _read_bare(cursor, _WORD)).strip()
            try:
                orjson.loads(word)
            except orjson.JSONDecodeError:
                word = quoted(word)
            calls.arguments(word)


def _read_key(cursor: Cursor, calls: Calls) -> Reading[None]:
    if not (yield from _read_quoted(cursor, calls)):
        key = (yield from _read_bare(cursor, _KEY)).strip()
        calls.arguments(quoted(key))
    char = yield from cursor.skip_blank()
    if char != ":":
        raise Broken if char else Cut
    cursor.pos += 1
    calls.arguments(": ")


def _read_quoted(cursor: Cursor, calls: Calls) -> Reading[bool]:
    """A string between its tokens; False where none begins here."""
    while (hit := _QUOTE.match(cursor.text, cursor.pos, False)) is not None and hit.label is None:
        yield from cursor.more()
    if hit is None or hit.label is None:
        return False
    cursor.pos = hit.end
    calls.arguments('"')
    closing = _CLOSING_QUOTE[hit.label]
    while True:
        text, start = cursor.text, cursor.pos
        end = closing.search(text, start, False)
        cursor.pos = len(text) if end is None else end.start
        if cursor.pos > start:
            calls.arguments(in_string(text[start : cursor.pos]))
        if end is not None and end.label is not None:
            cursor.pos = end.end
            calls.arguments('"')
            return True
        yield from cursor.more()


def _read_bare(cursor: Cursor, pattern: re.Pattern[str]) -> Reading[str]:
    """A bare word, up to the bracket, comma or colon after it."""
    while True:
        found = pattern.match(cursor.text, cursor.pos)
        if found is not None and found.end() < len(cursor.text):
            cursor.pos = found.end()
            return found.group()
        if found is None and cursor.pos < len(cursor.text):
            raise Broken
        yield from cursor.more()
