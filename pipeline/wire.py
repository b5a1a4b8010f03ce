"""Events and updates as JSON: one object each, keys in camelCase, names and kinds in snake_case.

    {"event":"stream_delta","kind":"text","textDelta":"Let me ","blockIndex":0}
    {"event":"tool_invocation","callId":"call-1","toolName":"Edit","input":{"path":"a.py"},"blockIndex":1}
    {"type":"assistant","content":"Let me fix","replace":true}

`decode(encode(item)) == item`. Fields at their default are left out; a decoder ignores keys it does not know.
`MessagesChanged` is for consumers in the same process and has no wire form.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import orjson
from msgspec import NODEFAULT, structs

from penstock import events, updates
from penstock.errors import UsageError
from penstock.growing import TextView

__all__ = ["Item", "decode", "encode", "from_json", "to_json"]

Item: TypeAlias = events.Event | updates.Update
Fields: TypeAlias = dict[str, Any]

_NAMES: dict[type, Fields] = {
    events.MessageStart: {"event": "stream_delta", "kind": "message_start"},
    events.BlockStart: {"event": "stream_delta", "kind": "block_start"},
    events.TextDelta: {"event": "stream_delta", "kind": "text"},
    events.ThinkingDelta: {"event": "stream_delta", "kind": "thinking"},
    events.ToolInputDelta: {"event": "stream_delta", "kind": "tool_input"},
    events.ToolProgress: {"event": "stream_delta", "kind": "tool_progress"},
    events.BlockStop: {"event": "stream_delta", "kind": "block_stop"},
    events.MessageStop: {"event": "stream_delta", "kind": "message_stop"},
    events.Text: {"event": "text"},
    events.Thinking: {"event": "thinking"},
    events.ToolInvocation: {"event": "tool_invocation"},
    events.ToolCompletion: {"event": "tool_completion"},
    events.Usage: {"event": "usage"},
    events.TurnCompleted: {"event": "turn_completed"},
    events.StreamError: {"event": "error"},
    events.Unknown: {"event": "unknown"},
    updates.ThinkingUpdate: {"type": "thinking"},
    updates.FinalMessageStart: {"type": "final_message_start"},
    updates.AssistantUpdate: {"type": "assistant"},
    updates.Completed: {"type": "completed"},
    updates.ToolBlockUpdate: {"type": "tool_block"},
    updates.AssistantStreamingToolCall: {"type": "assistant_streaming_tool_call"},
}

_KEYS: dict[tuple[type, str], str] = {
    (events.BlockStart, "kind"): "blockKind",
    (events.TextDelta, "text"): "textDelta",
    (events.ThinkingDelta, "text"): "textDelta",
    (events.ToolInputDelta, "json"): "jsonDelta",
    (updates.AssistantUpdate, "accumulated"): "content",
    (updates.AssistantUpdate, "is_new"): "isNew",
    (updates.ToolBlockUpdate, "accumulated"): "parameters",
}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


class _Form:
    """How one class looks on the wire, worked out once."""

    def __init__(self, kind: type, name: Fields) -> None:
        self.kind = kind
        self.name = name
        self.fields = [
            (field.name, _KEYS.get((kind, field.name)) or _camel(field.name), field.default)
            for field in structs.fields(kind)
        ]

    def to_json(self, item: Any) -> Fields:
        record = dict(self.name)
        for attribute, key, default in self.fields:
            value = getattr(item, attribute)
            if default is NODEFAULT or value != default:
                record[key] = str(value) if type(value) is TextView else value
        return record

    def from_json(self, record: Fields) -> Item:
        values: Fields = {}
        for attribute, key, default in self.fields:
            if key in record:
                values[attribute] = self._value(attribute, record[key])
            elif default is NODEFAULT:
                raise UsageError(f"a {self.name} needs the key {key!r}; it has {sorted(record)}")
        item: Item = self.kind(**values)
        return item

    @staticmethod
    def _value(attribute: str, value: Any) -> Any:
        if attribute == "accumulated":
            return TextView.of(value)
        return tuple(value) if attribute == "images" else value


class _AssistantForm(_Form):
    """`replace` is a word to screens, always true: `content` is the whole text, to be put in place of what was."""

    def to_json(self, item: Any) -> Fields:
        return {**super().to_json(item), "replace": True}


_FORMS: dict[type, _Form] = {
    kind: (_AssistantForm if kind is updates.AssistantUpdate else _Form)(kind, name)
    for kind, name in _NAMES.items()
}
_BY_NAME: dict[tuple[Any, ...], Callable[[Fields], Item]] = {
    (name.get("event"), name.get("kind"), name.get("type")): _FORMS[kind].from_json for kind, name in _NAMES.items()
}


def to_json(item: Item) -> Fields:
    """The item as a JSON object in Python."""
    form = _FORMS.get(type(item))
    if form is None:
        raise UsageError(f"{type(item).__name__} has no wire form")
    return form.to_json(item)


def from_json(record: Fields) -> Item:
    """The item a JSON object stands for."""
    event = record.get("event")
    kind = record.get("kind") if event == "stream_delta" else None
    make = _BY_NAME.get((event, kind, record.get("type") if event is None else None))
    if make is None:
        raise UsageError(f"no event or update on the wire looks like {str(record)[:120]}")
    return make(record)


def encode(item: Item) -> bytes:
    """The item as one line of JSON, without its newline."""
    return orjson.dumps(to_json(item), option=orjson.OPT_NON_STR_KEYS)


def decode(line: bytes | str) -> Item:
    """The item of one line of JSON."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"not JSON: {error}") from error
    if not isinstance(record, dict):
        raise UsageError(f"an event is a JSON object, not {str(record)[:60]}")
    return from_json(record)
