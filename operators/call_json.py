"""Tool calls written as JSON: `{"name": …, "arguments": {…}}`, in any order of keys, alone or in a list."""

from collections.abc import Collection

from penstock.operators.calls import Calls
from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.json_scanner import next_key, read_short_string, read_string, read_value, skip_value

__all__ = ["ARGUMENT_KEYS", "NAME_KEYS", "read_json_arguments", "read_json_calls"]

NAME_KEYS = frozenset({"name", "tool_name", "function", "tool"})
ARGUMENT_KEYS = frozenset({"arguments", "parameters", "args"})
_OTHER_KEYS = frozenset({"id", "type", "index", "tool_call_id"})


def read_json_calls(
    cursor: Cursor,
    calls: Calls,
    name_keys: Collection[str] = NAME_KEYS,
    argument_keys: Collection[str] = ARGUMENT_KEYS,
) -> Reading[None]:
    """One call, or a list of them; the cursor is at the bracket. A call is complete with its closing brace."""
    if cursor.text[cursor.pos] == "{":
        yield from _read_call(cursor, calls, name_keys, argument_keys)
        return
    cursor.pos += 1
    while True:
        char = yield from cursor.skip_blank()
        if char == "{":
            yield from _read_call(cursor, calls, name_keys, argument_keys)
        elif char == ",":
            cursor.pos += 1
        elif char == "]":
            cursor.pos += 1
            return
        elif not char:
            # The calls that were read are whole; only the list is not.
            return
        else:
            raise Broken


def _read_call(
    cursor: Cursor, calls: Calls, name_keys: Collection[str], argument_keys: Collection[str]
) -> Reading[None]:
    yield from _read_members(cursor, calls, name_keys, argument_keys)
    if not calls.has_name:
        raise Broken
    calls.end()


def _read_members(
    cursor: Cursor, calls: Calls, name_keys: Collection[str], argument_keys: Collection[str]
) -> Reading[None]:
    cursor.pos += 1
    has_arguments = False
    while True:
        key = yield from next_key(cursor)
        if key is None:
            return
        char = cursor.text[cursor.pos]
        if key in argument_keys and not has_arguments:
            has_arguments = True
            yield from read_json_arguments(cursor, calls)
        elif calls.has_name:
            yield from skip_value(cursor)
        elif key in name_keys and char == '"':
            name = yield from read_short_string(cursor)
            if not name:
                raise Broken
            calls.start(name)
        elif char == "{" and key not in _OTHER_KEYS and not has_arguments:
            if key in name_keys:
                # {"type": "function", "function": {"name": …, "arguments": …}}
                yield from _read_members(cursor, calls, name_keys, argument_keys)
            else:
                # {"the_name": {…}}
                calls.start(key)
                has_arguments = True
                yield from read_value(cursor, calls.arguments)
        else:
            yield from skip_value(cursor)


def read_json_arguments(cursor: Cursor, calls: Calls) -> Reading[None]:
    """The argument text, exactly as written; where it is a string, the string says it, as native calls do."""
    if (yield from cursor.skip_blank()) == '"':
        yield from read_string(cursor, calls.arguments)
    elif cursor.pos == len(cursor.text):
        raise Cut
    else:
        yield from read_value(cursor, calls.arguments)
