"""Tool calls written as elements, `<function=…><parameter=…>…</parameter></function>` and its many kin.

The argument text is a JSON object made as the elements arrive: `{"key": "value", …}`. Values are strings,
unless the markup itself says that they are JSON; what they should be is for the tool's schema to say. A value
may contain what looks like its own closer: a closer counts only where something that may follow a value follows
it. A missing closer is made up for by the next element on a line of its own.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import orjson

from penstock.operators.calls import Calls
from penstock.operators.cursor import Cursor, Reading
from penstock.operators.json_scanner import in_string, quoted
from penstock.operators.tokens import Tokens

__all__ = ["SHAPES", "Shape", "read_element_call"]

Part: TypeAlias = Literal["text", "json", "end"]


class Shape(NamedTuple):
    """How one family writes the parts of a call; `parameter` and `json_parameter` name their key."""

    call: str
    parameter: str
    parameter_close: str
    call_close: str = ""
    """Empty where the section's closer is the call's."""
    json_parameter: str = ""
    is_padded: bool = True
    """One line end on each side of a value is markup."""


SHAPES = (
    Shape("<function=*>", "<parameter=*>", "</parameter>", "</function>"),
    Shape("<invoke␣name␣=␣¨*¨␣>", "<parameter␣name␣=␣¨*¨␣>", "</parameter>", "</invoke>"),
    Shape(
        "<steptml:invoke␣name=¨*¨␣>", "<steptml:parameter␣name=¨*¨␣>", "</steptml:parameter>", "</steptml:invoke>"
    ),
    Shape("<atem:invoke␣name=¨*¨␣>", "<atem:parameter␣name=¨*¨␣>", "</atem:parameter>", "</atem:invoke>"),
    *(
        Shape(
            f"<{bar}␣DSML␣{bar}␣invoke␣name␣=␣¨*¨␣>",
            f"<{bar}␣DSML␣{bar}␣parameter␣name␣=␣¨*¨␣string␣=␣¨true¨␣>",
            f"</{bar}␣DSML␣{bar}␣parameter␣>",
            f"</{bar}␣DSML␣{bar}␣invoke␣>",
            f"<{bar}␣DSML␣{bar}␣parameter␣name␣=␣¨*¨␣string␣=␣¨false¨␣>",
            is_padded=False,
        )
        for bar in "｜|"
    ),
    Shape(
        "<|open|>call␣tool=¨*¨␣index=¨*¨␣<|sep|>",
        "<|open|>argument␣key=¨*¨␣type=¨string¨␣<|sep|>",
        "<|close|>argument<|sep|>",
        "<|close|>call<|sep|>",
        "<|open|>argument␣key=¨*¨␣type=¨*¨␣<|sep|>",
        is_padded=False,
    ),
    Shape("]<]minimax[>[␣<invoke␣name=¨*¨␣>", "]<]minimax[>[␣<@>", "]<]minimax[>[␣</@>", "]<]minimax[>[␣</invoke>"),
    *(
        Shape(call, "<arg_key>␣*␣</arg_key>␣<arg_value>", "</arg_value>", is_padded=False)
        for call in ("@␣<tool_sep>", "@␣▸<arg_key>", "@␣▸</tool_call>", "@␣▸</seed:tool_call>")
    ),
)


class _Reader(NamedTuple):
    """The tokens of a shape inside a section with certain closers."""

    between: Tokens[Part]
    inline_value: Tokens[Part]
    """What ends a value that began on its element's line …"""
    block_value: Tokens[Part]
    """… and one that began on the next."""


@lru_cache(maxsize=64)
def _reader(shape: Shape, closers: tuple[str, ...]) -> _Reader:
    closers = tuple(closer.replace("▸", "") for closer in closers)
    call = shape.call.replace("▸", "")
    between: list[tuple[str, Part]] = [(shape.parameter, "text"), *((f"▸{closer}", "end") for closer in closers)]
    following = [shape.parameter, *closers, "⏹"]
    # Without a value's closer: the next parameter, or the call's end and then what comes after calls.
    over = [shape.parameter]
    if shape.json_parameter:
        between.append((shape.json_parameter, "json"))
        following.append(shape.json_parameter)
        over.append(shape.json_parameter)
    if shape.call_close:
        between.append((shape.call_close, "end"))
        following.append(shape.call_close)
        over.extend(f"{shape.call_close}␣{after}" for after in (*closers, call, "⏹"))
    else:
        over.extend(f"{closer}␣⏹" for closer in closers)
    paddings = ("\n", "") if shape.is_padded else ("",)
    closed = [f"{padding}{shape.parameter_close}␣▸{after}" for padding in paddings for after in following]
    return _Reader(
        Tokens(between),
        Tokens([(token, "end") for token in (*closed, *(f"▸{token}" for token in over))]),
        Tokens([(token, "end") for token in (*closed, *(f"\n▸{token}" for token in over))]),
    )


def read_element_call(cursor: Cursor, calls: Calls, shape: Shape, closers: tuple[str, ...]) -> Reading[None]:
    """The rest of one call, after its opening element."""
    reader = _reader(shape, closers)
    opening = "{"
    while True:
        hit = reader.between.search(cursor.text, cursor.pos, cursor.ended)
        cursor.pos = len(cursor.text) if hit is None else hit.start
        if hit is None or hit.label is None:
            yield from cursor.more()
            continue
        cursor.pos = hit.end
        if hit.label == "end":
            calls.arguments("{}" if opening == "{" else "}")
            calls.end()
            return
        calls.arguments(f"{opening}{quoted(hit.name)}: ")
        opening = ", "
        if hit.label == "json":
            yield from _read_json_value(cursor, calls, reader)
        else:
            yield from _read_text_value(cursor, calls, reader, shape.is_padded)


def _read_text_value(cursor: Cursor, calls: Calls, reader: _Reader, is_padded: bool) -> Reading[None]:
    calls.arguments('"')
    tokens = reader.inline_value
    if is_padded and (yield from cursor.peek()) == "\n":
        tokens = reader.block_value
        # This line end may also be the one before the closer of an empty value.
        while (hit := tokens.match(cursor.text, cursor.pos, cursor.ended)) is not None and hit.label is None:
            yield from cursor.more()
        if hit is None:
            cursor.pos += 1
    yield from _read_to_end(cursor, tokens, lambda piece: calls.arguments(in_string(piece)))
    calls.arguments('"')


def _read_json_value(cursor: Cursor, calls: Calls, reader: _Reader) -> Reading[None]:
    """A value that the markup calls JSON: objects and lists stream as written; a word that is none is a string."""
    if (yield from cursor.skip_blank()) in ("{", "["):
        yield from _read_to_end(cursor, reader.inline_value, calls.arguments)
        return
    pieces: list[str] = []
    yield from _read_to_end(cursor, reader.inline_value, pieces.append)
    text = "".join(pieces).strip()
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        text = quoted(text)
    calls.arguments(text)


def _read_to_end(cursor: Cursor, tokens: Tokens[Part], write: Callable[[str], object]) -> Reading[None]:
    """Pass on a value up to what ends it."""
    while True:
        text, start = cursor.text, cursor.pos
        # A closer that is cut short is not data either.
        hit = (cursor.ended and tokens.search(text, start, True)) or tokens.search(text, start, False)
        cursor.pos = len(text) if hit is None else hit.start
        if cursor.pos > start:
            write(text[start : cursor.pos])
        if hit is not None and hit.label is not None:
            cursor.pos = hit.end
            return
        yield from cursor.more()
