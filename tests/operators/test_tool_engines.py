"""Three engines, one contract: the same call gives the same events, however the model made it."""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, cuts, every_cut, merged, push
from text_streams import every_way, text_message, through

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    TextDelta,
    ToolInputDelta,
)
from penstock.operators.finalize import finalize
from penstock.operators.stage import Operator
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.operators.tool_engine import tool_engine
from penstock.operators.track_tools import track_tools
from penstock.updates import AssistantStreamingToolCall, ToolBlockUpdate

TAGS = tool_engine("tags")
STRUCTURED = tool_engine("structured")

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abé\n", max_size=3), inner, max_size=3),
    max_leaves=6,
)
argument_texts = st.dictionaries(st.text("key_", min_size=1, max_size=4), values, max_size=3).flatmap(
    lambda value: st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)])
)


def native(text: str, *calls: tuple[str, str]) -> list[Event]:
    """The message as a backend with tool calls of its own streams it."""
    events: list[Event] = [MessageStart("m")]
    if text:
        events += [BlockStart("text", 0, "m"), TextDelta(text, 0, "m"), BlockStop(0, "m")]
    for number, (name, arguments) in enumerate(calls, 1):
        index = number if text else number - 1
        call_id = f"call-{number}"
        events += [
            BlockStart("tool", index, "m", call_id, name),
            *(ToolInputDelta(char, index, call_id, "m") for char in arguments),
            BlockStop(index, "m"),
        ]
    return [*events, MessageStop("m", "stop")]


def as_tags(text: str, *calls: tuple[str, str]) -> str:
    return text + "\n".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>' for name, arguments in calls
    )


def as_tags_name_last(text: str, *calls: tuple[str, str]) -> str:
    return text + "".join(f'<tool_call>{{"parameters":{arguments},"name":"{name}"}}' for name, arguments in calls)


def as_document(text: str, *calls: tuple[str, str]) -> str:
    written = [f'{{"name": "{name}", "args": {arguments}}}' for name, arguments in calls]
    return f'{{"content": {json.dumps(text)}, "toolCalls": [{", ".join(written)}]}}'


@pytest.mark.parametrize("arguments", ["{}", '{"city": "Paris", "days": [1, 2]}', '{"a": "}</tool_call>\\"{"}'])
def test_one_call_in_three_ways_gives_equal_events_at_every_cut(arguments: str) -> None:
    message = ("Let me look.", ("weather", arguments))
    expected = merged(push(tool_engine("native"), native(*message)))
    assert expected == merged(native(*message))
    for engine, text in (
        (TAGS, as_tags(*message)),
        (TAGS, as_tags_name_last(*message)),
        (STRUCTURED, as_document(*message)),
        (
            STRUCTURED,
            json.dumps({"content": message[0]})[:-1] + f',"toolCall":{{"args":{arguments},"name":"weather"}}}}',
        ),
    ):
        for cut in every_cut(text):
            assert through(engine, *cut) == expected


@given(data=st.data(), arguments=st.lists(argument_texts, min_size=1, max_size=3))
def test_any_calls_in_three_ways_give_equal_events(data: st.DataObject, arguments: list[str]) -> None:
    calls = [("f", text) for text in arguments]
    expected = merged(native("Look: ", *calls))
    for engine, text in ((TAGS, as_tags("Look: ", *calls)), (STRUCTURED, as_document("Look: ", *calls))):
        for cut in ([text], list(text), data.draw(cuts(text))):
            assert through(engine, *cut) == expected


@given(arguments=argument_texts)
def test_the_finals_are_equal_too(arguments: str) -> None:
    message = ("Look: ", ("f", arguments))
    expected = merged(push(tool_engine() | finalize(), native(*message)))
    assert through(TAGS | finalize(), *as_tags(*message)) == expected
    assert through(STRUCTURED | finalize(), *as_document(*message)) == expected


def life(items: list[Any]) -> list[Any]:
    """A call's updates with neighbouring `streaming` ones as one, and its raw arguments joined."""
    seen: list[Any] = []
    for item in items:
        if isinstance(item, ToolBlockUpdate):
            told = [item.stage, item.id, item.name, item.parameters_chunk, item.parameters, item.compact_params]
            if item.stage == "streaming" and seen and seen[-1][0] == "streaming":
                told[3] = seen.pop()[3] + told[3]
            seen.append(told)
    calls = [item for item in items if isinstance(item, AssistantStreamingToolCall)]
    return [*seen, "".join(call.arguments for call in calls), [call.is_complete for call in calls].count(True)]


@given(arguments=argument_texts)
def test_one_call_in_three_ways_lives_the_same_life_whole_and_character_by_character(arguments: str) -> None:
    message = ("Look: ", ("write_file", arguments))
    after: Operator[Any, Any] = finalize() | streaming_tool_calls()
    after |= track_tools()
    expected = life(push(tool_engine() | after, native(*message)))
    assert expected[0][0] == "start"
    for engine, text in ((TAGS, as_tags(*message)), (STRUCTURED, as_document(*message))):
        for pieces in ([text], list(text)):
            assert life(through(engine | after, *pieces)) == expected


def test_the_native_engine_leaves_calls_in_the_text_out_of_it() -> None:
    text = as_tags("Look.", ("f", "{}"))
    assert every_way(tool_engine(), text, every_cut(text)) == [("text", "Look.")]


def test_native_deltas_pass_as_they_are() -> None:
    events = native("Look.", ("f", '{"a": 1}'))
    out = push(tool_engine(), events)
    assert out == events
    assert all(one is other for one, other in zip(out[4:], events[4:], strict=True))


def test_the_structured_engine_routes_thinking_around_and_inside_the_document() -> None:
    text = '<think>hm</think>{"content": "<think>so</think>Yes.", "toolCall": {"name": "f", "args": {}}}'
    out = every_way(STRUCTURED, text, every_cut(text))
    assert out == [("thinking", "hm"), ("thinking", "so"), ("text", "Yes."), ("tool", "f", "{}")]


def test_the_structured_engine_knows_thinking_that_the_prompt_opened_and_leaves_arguments_alone() -> None:
    text = 'hm</think>{"content": "Yes.</think>", "toolCall": {"name": "f", "args": {"a": "<think></think>"}}}'
    out = every_way(tool_engine("structured", implicit_open=True), text, every_cut(text))
    assert out == [("thinking", "hm"), ("text", "Yes."), ("tool", "f", '{"a": "<think></think>"}')]


def test_call_ids_are_unique_in_a_subscription_and_may_come_from_elsewhere() -> None:
    events = [*text_message(as_tags("", ("f", "{}"), ("g", "{}"))), *text_message(as_tags("", ("h", "{}")))]
    ids = [event.call_id for event in push(TAGS, events) if type(event) is BlockStart]
    assert ids == ["call-1", "call-2", "call-3"]
    assert [event.call_id for event in push(TAGS, events) if type(event) is BlockStart] == ids
    shared = (f"round-1-{number}" for number in count(1))
    out = push(tool_engine("tags", call_ids=shared), events)
    assert [event.call_id for event in out if type(event) is BlockStart] == ["round-1-1", "round-1-2", "round-1-3"]


def test_options_reach_the_router() -> None:
    operator = tool_engine("tags", "qwen", ("why",), implicit_open=True, keep_in_code=False)
    text = "hm</think>\n\n`<why>x</why>"
    assert every_way(operator, text) == [("thinking", "hm"), ("text", "`"), ("thinking", "x")]
    check_balance(push(operator, text_message(text)))
