"""The `structured` engine: content and tool calls out of a structured-output document, as it is written."""

from collections.abc import Collection, Iterator

from penstock.events import Event
from penstock.operators.call_json import ARGUMENT_KEYS, NAME_KEYS, read_json_calls
from penstock.operators.calls import Calls
from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.json_scanner import next_key, read_string, skip_value
from penstock.operators.source_block import SourceBlock, turns_of
from penstock.operators.split_blocks import SplitBlocks
from penstock.operators.stage import Operator
from penstock.operators.tokens import Tokens

__all__ = ["structured_tools"]


class _Document:
    """Reads one text block: a document if it begins as one, else plain text."""

    def __init__(
        self,
        content_keys: Collection[str],
        call_keys: Collection[str],
        name_keys: Collection[str],
        argument_keys: Collection[str],
    ) -> None:
        self._content_keys = frozenset(content_keys)
        self._call_keys = frozenset(call_keys)
        self._name_keys = frozenset(name_keys)
        self._argument_keys = frozenset(argument_keys)
        self._beginning = Tokens((f'␣{{␣▸"{key}"␣:', key) for key in (*content_keys, *call_keys))

    def read(self, cursor: Cursor, block: SourceBlock) -> Reading[None]:
        hit = self._beginning.match(cursor.text, cursor.pos, cursor.ended)
        while hit is not None and hit.label is None:
            yield
            hit = self._beginning.match(cursor.text, cursor.pos, cursor.ended)
        if hit is not None:
            cursor.pos = hit.end
            try:
                yield from self._read_members(cursor, block)
            except Cut:
                return
            except Broken:
                block.error("malformed_document", "the structured output is not written as announced")
                return
            if not (yield from cursor.skip_blank()):
                return
        while True:
            block.text(cursor.text[cursor.pos :])
            cursor.pos = len(cursor.text)
            if cursor.ended:
                return
            block.rest(turns_of(""))
            yield

    def _read_members(self, cursor: Cursor, block: SourceBlock) -> Reading[None]:
        """What stands between the braces; the cursor is behind the opening one."""
        while True:
            key = yield from next_key(cursor)
            if key is None:
                return
            char = cursor.text[cursor.pos]
            if key in self._content_keys and char == '"':
                yield from read_string(cursor, block.text)
            elif key in self._call_keys and char in "{[":
                calls = Calls(block)
                try:
                    yield from read_json_calls(cursor, calls, self._name_keys, self._argument_keys)
                except Cut:
                    calls.cut()
                    raise
                except Broken:
                    calls.broken()
                    raise
            else:
                yield from skip_value(cursor)


def structured_tools(
    content_keys: Collection[str] = ("content",),
    call_keys: Collection[str] = ("toolCall", "tool_call", "toolCalls", "tool_calls"),
    name_keys: Collection[str] = NAME_KEYS,
    argument_keys: Collection[str] = ARGUMENT_KEYS,
    call_ids: Iterator[str] | None = None,
) -> Operator[Event, Event]:
    """Turn a document such as `{"content": "…", "toolCall": {"name": "…", "args": {…}}}` into what it says.

    The content is visible text, without its escapes; each call is a tool block like a native one, its argument
    deltas the raw text of the arguments. Both stream out as the document is written. Members under other keys are
    left out. Text that does not begin as such a document passes as it is, and so does text behind it. `call_ids`
    is as for `route_tags`.

    A call that is cut off is a `StreamError` of code `incomplete_tool_call` before its `BlockStop`; a document
    that breaks its promise is one of code `malformed_document`, and its rest is left out. Held back are a key,
    half an escape, and arguments that are written before the call's name. Linear.
    """
    document = _Document(content_keys, call_keys, name_keys, argument_keys)
    return Operator("structured_tools", lambda: SplitBlocks(document.read, call_ids))
