"""Tool calls while they are built: raw pieces that add up, completion said once and never of a cut call."""

import json

from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, push, through_rx

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    TextDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
)
from penstock.operators.finalize import finalize
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.updates import AssistantStreamingToolCall


def calls(events: list[Event]) -> list[AssistantStreamingToolCall]:
    out = push(finalize() | streaming_tool_calls(), events)
    return [item for item in out if type(item) is AssistantStreamingToolCall]


def a_message(*deltas: str, stop_reason: str = "tool_calls", message_id: str = "m1") -> list[Event]:
    return [
        MessageStart(message_id),
        BlockStart("tool", 0, message_id, "call-1", "weather"),
        *(ToolInputDelta(delta, 0, "call-1", message_id) for delta in deltas),
        BlockStop(0, message_id),
        MessageStop(message_id, stop_reason),
    ]


def test_each_raw_delta_is_told_and_then_once_that_the_call_is_complete() -> None:
    deltas = ['{"', "location", '":"', "Boston", '"}']
    assert calls(a_message(*deltas)) == [
        *(AssistantStreamingToolCall("call-1", "weather", delta, False, "m1") for delta in deltas),
        AssistantStreamingToolCall("call-1", "weather", "", True, "m1"),
    ]


@given(
    st.data(), st.dictionaries(st.text(max_size=5), st.text(max_size=20) | st.integers(), max_size=4), st.booleans()
)
def test_joined_pieces_are_the_raw_argument_text_character_for_character(
    data: st.DataObject, arguments: dict[str, str | int], is_spaced: bool
) -> None:
    raw = json.dumps(arguments, indent=1 if is_spaced else None)
    told = calls(a_message(*data.draw(cuts(raw))))
    assert "".join(call.arguments for call in told) == raw
    assert [call.is_complete for call in told].count(True) == 1
    assert told[-1].is_complete


def test_malformed_arguments_that_the_backend_called_complete_are_told_as_they_are() -> None:
    told = calls(a_message("{'single': ", "'quotes'}"))
    assert "".join(call.arguments for call in told) == "{'single': 'quotes'}"
    assert told[-1].is_complete


def test_a_call_that_was_cut_off_is_never_complete() -> None:
    told = calls(a_message('{"location": "Bos', stop_reason="length"))
    assert [(call.arguments, call.is_complete) for call in told] == [('{"location": "Bos', False)]
    assert not any(call.is_complete for call in calls(a_message('{"location"')[:-2]))


def test_a_call_that_did_not_stream_is_told_whole_and_complete() -> None:
    call = ToolInvocation("call-1", "weather", {"location": "Boston"}, 0, "m1")
    assert calls([MessageStart("m1"), call, MessageStop("m1")]) == [
        AssistantStreamingToolCall("call-1", "weather", '{"location":"Boston"}', True, "m1")
    ]


def test_a_second_copy_of_a_call_is_not_complete_again() -> None:
    copy = ToolInvocation("call-1", "weather", {"location": "Berlin"}, 0, "m1")
    events = a_message('{"location": "Boston"}')
    assert [call.is_complete for call in calls([*events[:-1], copy, events[-1]])] == [False, True]


def test_interleaved_calls_and_several_rounds_stay_apart() -> None:
    events: list[Event] = [
        MessageStart("m1"),
        BlockStart("tool", 0, "m1", "a", "first"),
        BlockStart("tool", 1, "m1", "b", "second"),
        ToolInputDelta('{"n":', 0, "a", "m1"),
        ToolInputDelta("{}", 1, "b", "m1"),
        ToolInputDelta("1}", 0, "a", "m1"),
        BlockStop(0, "m1"),
        BlockStop(1, "m1"),
        MessageStop("m1", "tool_calls"),
        *a_message("{ }", message_id="m2"),
    ]
    joined: dict[tuple[str, str, str], str] = {}
    for call in calls(events):
        key = (call.message_id, call.tool_call_id, call.tool_name)
        joined[key] = joined.get(key, "") + call.arguments
    assert joined == {
        ("m1", "a", "first"): '{"n":1}',
        ("m1", "b", "second"): "{}",
        ("m2", "call-1", "weather"): "{ }",
    }


def test_every_event_passes_and_text_costs_nothing_extra() -> None:
    events = [MessageStart("m1"), TextDelta("hi", 0, "m1"), *a_message("{}")[1:], ToolCompletion("call-1", "sun")]
    out = push(streaming_tool_calls(), events)
    assert [item for item in out if type(item) is not AssistantStreamingToolCall] == events
    operator = streaming_tool_calls()
    assert through_rx(operator, events) == through_rx(operator, events) == out
