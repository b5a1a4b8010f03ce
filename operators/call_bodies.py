"""The `tags` engine: tool calls that a model writes into its text, from opener to closer.

How a body is written is known by its first characters, whatever the opener: JSON, elements, Python, and the
rest. Every way ends in the same events as a native call. A call is complete when its own end is there, so one
whose section is never closed (a stop sequence took the closer) is complete all the same, and one that was cut
off never is.
"""

from typing import Literal, TypeAlias, TypeVar

from penstock.operators.call_elements import SHAPES, Shape, read_element_call
from penstock.operators.call_gemma import read_gemma_arguments
from penstock.operators.call_json import read_json_arguments, read_json_calls
from penstock.operators.call_python import read_python_calls
from penstock.operators.calls import Calls
from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.tokens import Hit, Tokens

__all__ = ["ToolSection"]

Label = TypeVar("Label")
Body: TypeAlias = Literal["json", "python", "gemma"] | Shape

_BODIES: Tokens[Body] = Tokens(
    [
        ("␣▸{", "json"),
        ("␣▸[␣{", "json"),
        ("␣▸[␣]", "json"),
        ("␣▸[␣@(", "python"),
        ("␣▸@(", "python"),
        ("␣call:@▸{", "gemma"),
        ("␣:@▸{", "gemma"),
        *((f"␣{shape.call}", shape) for shape in SHAPES),
    ]
)


class ToolSection:
    """A kind of section, by its closers; made once, read any number of times."""

    def __init__(self, closers: tuple[str, ...]) -> None:
        self._closers = closers
        self._after_call: Tokens[str] = Tokens((f"␣{closer}", closer) for closer in closers)
        # Where nothing closes a section, one that is broken ends with its line.
        self._anywhere: Tokens[str] = Tokens((closer, closer) for closer in closers or ("\n",))

    def read(self, cursor: Cursor, calls: Calls, name: str) -> Reading[bool]:
        """A section, after its opener (which may have named the call); False where no call follows it at all."""
        try:
            if name:
                yield from self._read_named_call(cursor, calls, name)
                yield from self._close(cursor)
                return True
            return (yield from self._read_bodies(cursor, calls))
        except Cut:
            cursor.pos = len(cursor.text)
            calls.cut()
        except Broken:
            calls.broken()
            yield from self._skip(cursor)
        return True

    def _read_bodies(self, cursor: Cursor, calls: Calls) -> Reading[bool]:
        has_call = False
        while True:
            hit = yield from _match(cursor, _BODIES)
            if hit is None or hit.label is None:
                if hit is not None and not has_call:
                    raise Cut
                is_closed = yield from self._close(cursor)
                return has_call or is_closed
            cursor.pos = hit.end
            body = hit.label
            if body == "json":
                yield from read_json_calls(cursor, calls)
            elif body == "python":
                yield from read_python_calls(cursor, calls)
            else:
                calls.start(hit.name)
                if body == "gemma":
                    yield from read_gemma_arguments(cursor, calls)
                else:
                    yield from read_element_call(cursor, calls, body, self._closers)
            has_call = True
            if not self._closers:
                return True

    def _read_named_call(self, cursor: Cursor, calls: Calls, name: str) -> Reading[None]:
        """The arguments of a call that its opener named: JSON, or whatever stands before the closer."""
        calls.start(name)
        char = yield from cursor.skip_blank()
        if char and char in '{["':
            yield from read_json_arguments(cursor, calls)
        else:
            while True:
                text, start = cursor.text, cursor.pos
                hit = self._anywhere.search(text, start, cursor.ended)
                cursor.pos = len(text) if hit is None else hit.start
                if cursor.pos > start:
                    calls.arguments(text[start : cursor.pos])
                if hit is not None and hit.label is not None:
                    break
                yield from cursor.more()
        calls.end()

    def _close(self, cursor: Cursor) -> Reading[bool]:
        """Move over the closer, and white space before it, if that is what comes; also over a closer cut short."""
        if not self._closers:
            return False
        hit = yield from _match(cursor, self._after_call)
        if hit is not None:
            cursor.pos = hit.end
        return hit is not None

    def _skip(self, cursor: Cursor) -> Reading[None]:
        while True:
            hit = self._anywhere.search(cursor.text, cursor.pos, cursor.ended)
            cursor.pos = len(cursor.text) if hit is None else hit.start
            if hit is not None and hit.label is not None:
                cursor.pos = hit.end
                return
            if cursor.ended:
                return
            yield


def _match(cursor: Cursor, tokens: Tokens[Label]) -> Reading[Hit[Label] | None]:
    """The token at the cursor; without a label where the text ends inside it, None where it is no token."""
    while True:
        hit = tokens.match(cursor.text, cursor.pos, False)
        if hit is None or hit.label is not None or cursor.ended:
            break
        yield
    if cursor.ended:
        return tokens.match(cursor.text, cursor.pos, True) or hit
    return hit
