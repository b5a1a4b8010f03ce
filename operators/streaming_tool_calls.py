"""Tool calls while they are built, for clients that put the arguments together themselves."""

from typing import Any

from penstock.events import BlockStart, Event, MessageStart, ToolInputDelta, ToolInvocation
from penstock.operators.stage import Operator, Stage
from penstock.tool_results import json_of
from penstock.updates import AssistantStreamingToolCall

__all__ = ["streaming_tool_calls"]


class _Call:
    """What a block's deltas do not repeat."""

    __slots__ = ("call_id", "has_deltas", "is_complete", "tool_name")

    def __init__(self, call_id: str, tool_name: str) -> None:
        self.call_id = call_id
        self.tool_name = tool_name
        self.has_deltas = False
        self.is_complete = False


class StreamingToolCalls(Stage[Event, "Event | AssistantStreamingToolCall"]):
    """Follows each `ToolInputDelta` with the same raw piece as an `AssistantStreamingToolCall`.

    The pieces of a call joined are its argument text, character for character. The `ToolInvocation` is followed by
    one with `is_complete` and no further text (all of it, if none was streamed); a call that was cut off has none.
    Nothing is held. Belongs after `finalize`, which tells a complete call from a cut one, and after `coalesce`.
    """

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], _Call] = {}
        self._handlers: dict[type, Any] = {
            ToolInputDelta: self._delta,
            BlockStart: self._block_start,
            MessageStart: self._message_start,
            ToolInvocation: self._invocation,
        }

    def feed(self, item: Event) -> None:
        self.emit(item)
        handler = self._handlers.get(type(item))
        if handler is not None:
            handler(item)

    def _message_start(self, start: MessageStart) -> None:
        for key in [key for key in self._calls if key[0] == start.parent_call_id]:
            del self._calls[key]

    def _block_start(self, start: BlockStart) -> None:
        if start.kind == "tool":
            self._calls[start.parent_call_id, start.block_index] = _Call(start.call_id, start.tool_name)

    def _call_of(self, event: ToolInputDelta | ToolInvocation) -> _Call:
        key = (event.parent_call_id, event.block_index)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(event.call_id, "")
        return call

    def _delta(self, delta: ToolInputDelta) -> None:
        call = self._call_of(delta)
        call.has_deltas = True
        self.emit(AssistantStreamingToolCall(call.call_id, call.tool_name, delta.json, False, delta.message_id))

    def _invocation(self, final: ToolInvocation) -> None:
        call = self._call_of(final)
        if not call.is_complete:
            call.is_complete = True
            rest = "" if call.has_deltas else json_of(final.input)
            self.emit(AssistantStreamingToolCall(final.call_id, final.tool_name, rest, True, final.message_id))


def streaming_tool_calls() -> Operator[Event, Event | AssistantStreamingToolCall]:
    """Each event, and the raw pieces of tool calls once more in the form that clients accumulate."""
    return Operator("streaming_tool_calls", StreamingToolCalls)
