"""What a round and a turn come to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from penstock.events import (
    Event,
    MessageStart,
    StreamError,
    Text,
    Thinking,
    ToolCompletion,
    ToolInvocation,
    TurnCompleted,
    Usage,
)
from penstock.messages import Messages
from penstock.operators.stage import Stage

__all__ = ["CollectReply", "Reply", "TurnResult", "total_usage"]


@dataclass(slots=True)
class Reply:
    """What one model call said.

    `tool_calls` are the complete calls that wait for the loop: not those the backend ran itself, and never one
    that was cut off. `error` is what broke the round off, if anything did; what came before it is all here.
    """

    text: str = ""
    thinking: str = ""
    tool_calls: list[ToolInvocation] = field(default_factory=list)
    usage: Usage | None = None
    stop_reason: str = ""
    final_message: str | None = None
    error: StreamError | None = None
    message_id: str = ""
    model: str = ""

    def as_message(self) -> dict[str, Any]:
        """The reply as the assistant message of a Chat Completions history, for the next call of the model."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text}
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.call_id,
                    "type": "function",
                    "function": {"name": call.tool_name, "arguments": _argument_text(call)},
                }
                for call in self.tool_calls
            ]
        return message


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What a whole turn came to. `stop_reason` is `completed`, or `aborted`, `cancelled`, `error`."""

    final_message: str
    stop_reason: str
    usage: Usage
    rounds: int
    chunks: int
    messages: Messages
    error: StreamError | None


def _argument_text(call: ToolInvocation) -> str:
    return call.input if call.is_malformed else orjson.dumps(call.input).decode()


class CollectReply(Stage[Event, Event]):
    """The last stage of a round: gathers its reply, and marks its messages with turn and round."""

    __slots__ = ("_calls", "_is_new_message", "_round", "_texts", "_thinking", "_turn_id", "on_stall", "reply")

    ignores_text = True

    def __init__(self, turn_id: str, round_number: int) -> None:
        self.reply = Reply()
        self.on_stall: Callable[[], object] = lambda: None
        self._turn_id = turn_id
        self._round = round_number
        self._is_new_message = True
        self._texts: dict[int, str] = {}
        self._thinking: list[str] = []
        self._calls: dict[str, ToolInvocation] = {}

    def feed(self, item: Event) -> None:
        handler = self._handlers.get(type(item))
        if handler is None:
            self.emit(item)
        else:
            handler(self, item)

    def _message_start(self, start: MessageStart) -> None:
        if not start.parent_call_id:
            # A later message without text (a tool's alone) leaves the earlier one's text standing.
            self._is_new_message = True
            self.reply.message_id = start.message_id
            self.reply.model = start.model or self.reply.model
        self.emit(MessageStart(start.message_id, start.model, self._turn_id, self._round, start.parent_call_id))

    def _text(self, final: Text) -> None:
        if not final.parent_call_id:
            if self._is_new_message:
                self._texts, self._is_new_message = {}, False
            self._texts[final.block_index] = final.text
        self.emit(final)

    def _think(self, final: Thinking) -> None:
        if not final.parent_call_id:
            self._thinking.append(final.text)
        self.emit(final)

    def _call(self, call: ToolInvocation) -> None:
        if not call.parent_call_id and not call.is_server_side:
            self._calls[call.call_id] = call
        self.emit(call)

    def _completion(self, completion: ToolCompletion) -> None:
        self._calls.pop(completion.call_id, None)
        self.emit(completion)

    def _usage(self, usage: Usage) -> None:
        if not usage.parent_call_id:
            self.reply.usage = usage
        self.emit(usage)

    def _error(self, error: StreamError) -> None:
        if error.is_fatal and self.reply.error is None:
            self.reply.error = error
        self.emit(error)
        if error.code == "stalled":
            self.on_stall()

    def _completed(self, completed: TurnCompleted) -> None:
        # The turn ends when the loop says so, not with the backend's last word for one round.
        self.reply.stop_reason = completed.stop_reason
        self.reply.final_message = completed.final_message

    def finish(self) -> None:
        self.reply.text = "".join(self._texts.values())
        self.reply.thinking = "".join(self._thinking)
        self.reply.tool_calls = list(self._calls.values())

    _handlers: ClassVar[dict[type, Any]] = {
        MessageStart: _message_start,
        Text: _text,
        Thinking: _think,
        ToolInvocation: _call,
        ToolCompletion: _completion,
        Usage: _usage,
        StreamError: _error,
        TurnCompleted: _completed,
    }


def total_usage(usages: Sequence[Usage]) -> Usage:
    """The sum over the rounds of a turn."""
    return Usage(
        input_tokens=sum(usage.input_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        cache_write_tokens=sum(usage.cache_write_tokens for usage in usages),
        reasoning_tokens=sum(usage.reasoning_tokens for usage in usages),
        cost_usd=sum(usage.cost_usd for usage in usages),
    )
