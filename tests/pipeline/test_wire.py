"""decode(encode(item)) == item, for every event and update."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import events, updates, wire
from penstock.errors import UsageError
from penstock.growing import TextView

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=5,
)
values: dict[Any, st.SearchStrategy[Any]] = {
    str: text,
    int: st.integers(0, 2**40),
    bool: st.booleans(),
    float: st.floats(0, 1e9),
    Any: json_values,
    TextView: st.builds(TextView.of, text),
    tuple[str, ...]: st.lists(text, max_size=2).map(tuple),
}


def strategy(annotation: Any) -> st.SearchStrategy[Any]:
    if annotation in values:
        return values[annotation]
    arguments = get_args(annotation)
    if type(None) in arguments:
        return st.none() | strategy(next(a for a in arguments if a is not type(None)))
    return st.sampled_from(arguments)


def items_of(kind: type) -> st.SearchStrategy[Any]:
    fields = msgspec.structs.fields(kind)
    return st.builds(kind, **{field.name: strategy(field.type) for field in fields})


EVERY = [
    kind for kind in (*get_args(events.Event), *get_args(updates.Update)) if kind is not updates.MessagesChanged
]


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_every_event_and_update_comes_back_as_it_was(kind: type, data: st.DataObject) -> None:
    item = data.draw(items_of(kind))
    line = wire.encode(item)
    assert wire.decode(line) == item
    assert b"\n" not in line


def test_the_keys_are_those_of_the_design() -> None:
    delta = events.TextDelta("Let me ", 0, "m")
    assert json.loads(wire.encode(delta)) == {
        "event": "stream_delta",
        "kind": "text",
        "textDelta": "Let me ",
        "blockIndex": 0,
        "messageId": "m",
    }
    update = updates.AssistantUpdate(TextView.of("abc"))
    assert json.loads(wire.encode(update)) == {"type": "assistant", "content": "abc", "replace": True}
    call = updates.AssistantStreamingToolCall("c", "edit", '{"', message_id="m")
    assert json.loads(wire.encode(call)) == {
        "type": "assistant_streaming_tool_call",
        "toolCallId": "c",
        "toolName": "edit",
        "arguments": '{"',
        "messageId": "m",
    }
    error = events.StreamError("rate_limited", "slow down", retryable=True, retry_after_s=2.5)
    assert json.loads(wire.encode(error)) == {
        "event": "error",
        "code": "rate_limited",
        "message": "slow down",
        "retryable": True,
        "retryAfterS": 2.5,
    }


def test_a_decoder_ignores_keys_it_does_not_know() -> None:
    assert wire.decode('{"event":"text","text":"x","blockIndex":0,"new":1}') == events.Text("x", 0)


@pytest.mark.parametrize("line", ["{", "[]", '{"event":"nope"}', '{"event":"text"}', '{"type":3}'])
def test_what_is_no_event_says_so_and_never_crashes(line: str) -> None:
    with pytest.raises(UsageError):
        wire.decode(line)


def test_a_snapshot_has_no_wire_form() -> None:
    from penstock.messages import MessageState

    with pytest.raises(UsageError, match="MessagesChanged"):
        wire.encode(updates.MessagesChanged(MessageState().messages))
