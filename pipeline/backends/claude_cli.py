"""The Claude CLI with `--output-format stream-json`: one JSON object a line, with or without partial messages.

With `--include-partial-messages` every block comes twice, streamed as the Messages API's events and then whole, and
the whole copy arrives before the block's stop, sometimes before a tool's result, sometimes after the message's end.
It is told as a final under the index of the block it copies. Without, the whole blocks are all there is.

Lines with a `parent_tool_use_id` are a subagent's, interleaved with everybody else's: each has a conversation, and
a `parent_call_id`, of its own.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.backends.anthropic_events import DeltaEvent, MessageEvents, usage_of
from penstock.backends.fields import elements, fields, text
from penstock.backends.reader import Backend, Payload, Reader, Record
from penstock.backends.trouble import trouble
from penstock.events import StreamError, ToolProgress, Usage

__all__ = ["BACKEND", "ClaudeCliReader"]

IGNORED = {
    "auth_status",
    "control_cancel_request",
    "control_request",
    "control_response",
    "keep_alive",
    "rate_limit_event",
}
"""Lines about the process, not the conversation."""

OUTCOMES = {
    "error_max_turns": "max_turns",
    "error_during_execution": "execution_failed",
    "error_max_budget_usd": "max_budget",
    "error_max_structured_output_retries": "max_structured_output_retries",
}

API_STATUS = re.compile(r"API Error:? \(?(\d{3})\b")


class Line(msgspec.Struct, gc=False):
    """As much of a line as tells whether it is a delta."""

    type: str = ""
    event: DeltaEvent | None = None
    parent_tool_use_id: str | None = None


class ClaudeCliReader(Reader):
    """Lines to events; `result` ends a turn, and another may follow."""

    backend = "claude-cli"
    _decoder = msgspec.json.Decoder(Line)

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._conversations: dict[str, MessageEvents] = {}
        self._trouble = ""
        self._handlers = {
            "stream_event": self._stream_event,
            "assistant": self._assistant,
            "user": self._user,
            "result": self._result,
            "system": self._system,
            "tool_progress": self._tool_progress,
        }

    def feed(self, item: Payload) -> None:
        try:
            line = self._decoder.decode(item)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            super().feed(item)
            return
        if line.event is None or not self._conversation(line.parent_tool_use_id).read_delta(line.event):
            super().feed(item)

    def read(self, record: Record) -> None:
        kind = text(record.get("type"))
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(record)
        elif kind not in IGNORED:
            self.unknown(record)

    def _conversation(self, parent_call_id: Any) -> MessageEvents:
        parent = text(parent_call_id)
        writer = self.speaker(parent)
        conversation = self._conversations.get(parent)
        if conversation is None:
            conversation = self._conversations[parent] = MessageEvents(writer, runs_tools=True)
        return conversation

    def _stream_event(self, record: Record) -> None:
        """A message event; deltas come here only from those who parsed the line before."""
        conversation = self._conversation(record.get("parent_tool_use_id"))
        event = fields(record.get("event"))
        self.is_completed = False
        if event.get("type") == "error":
            self._trouble = text(fields(event.get("error")).get("type"))
        elif event.get("type") == "content_block_delta":
            try:
                is_known = conversation.read_delta(msgspec.convert(event, DeltaEvent))
            except ValueError:
                is_known = False
            if not is_known:
                self.unknown(record)
        elif not conversation.read(event):
            self.unknown(record)

    def _assistant(self, record: Record) -> None:
        """Whole blocks of a message, usually one; several lines share a message's id."""
        self.is_completed = False
        conversation = self._conversation(record.get("parent_tool_use_id"))
        message = fields(record.get("message"))
        if not conversation.is_in(text(message.get("id"))):
            conversation.start(message, is_streamed=False)
        for block in elements(message.get("content")):
            if not conversation.add_whole(fields(block)):
                self.unknown(block)
        conversation.stop_reason = text(message.get("stop_reason")) or conversation.stop_reason
        self._trouble = text(record.get("error")) or self._trouble

    def _user(self, record: Record) -> None:
        """Results of tools; the rest of what a user line says is an echo of the prompt."""
        conversation = self._conversation(record.get("parent_tool_use_id"))
        results = [fields(block) for block in elements(fields(record.get("message")).get("content"))]
        results = [block for block in results if block.get("type") == "tool_result"]
        if results and not conversation.has_id:
            conversation.stop(conversation.stop_reason)  # with no id to change, the result tells where it ends
        for block in results:
            self._end_subagent(text(block.get("tool_use_id")))
            conversation.complete_call(block)

    def _end_subagent(self, call_id: str) -> None:
        conversation = self._conversations.pop(call_id, None) if call_id else None
        if conversation is not None:
            conversation.stop(conversation.stop_reason)
            del self.writers[call_id]

    def _system(self, record: Record) -> None:
        if record.get("subtype") == "init":
            self.is_completed = False
        elif record.get("subtype") == "api_retry":
            attempt, attempts = record.get("attempt"), record.get("max_retries")
            notice = {
                "message": f"the request is tried again, {attempt} of {attempts}",
                "code": record.get("error"),
                "status_code": record.get("error_status"),
                "retry_after_ms": record.get("retry_delay_ms"),
            }
            self.tell(trouble(notice, is_fatal=False))

    def _tool_progress(self, record: Record) -> None:
        writer = self._conversation(record.get("parent_tool_use_id")).writer
        writer.tell(
            ToolProgress(
                text(record.get("tool_use_id")),
                tool_name=text(record.get("tool_name")),
                message_id=writer.message_id,
                parent_call_id=writer.parent_call_id,
            )
        )

    def _result(self, record: Record) -> None:
        """The end of a turn; `subtype` may say success and `is_error` the truth."""
        subtype, said = text(record.get("subtype")), record.get("result")
        is_error = record.get("is_error") is True or subtype.startswith("error")
        if is_error:
            self.break_off(self._failure(subtype, text(said), elements(record.get("errors"))))
        for conversation in self._conversations.values():
            conversation.stop(conversation.stop_reason)
        cost = record.get("total_cost_usd")
        usage = usage_of(fields(record.get("usage")), cost_usd=cost if isinstance(cost, int | float) else 0.0)
        if usage != Usage():
            self.tell(usage)
        if is_error:
            self.complete("error")
        else:
            self.complete(
                text(record.get("stop_reason")) or subtype or "success", said if isinstance(said, str) else None
            )

    def finish(self) -> None:
        if any(writer.is_open for writer in self.writers.values()):
            self.is_completed = False  # another turn had begun
        super().finish()

    def _failure(self, subtype: str, said: str, errors: list[Any]) -> StreamError:
        message = said or "; ".join(map(str, errors)) or subtype
        status = API_STATUS.search(message)
        clues = (self._trouble, status[1] if status else "", OUTCOMES.get(subtype, ""))
        self._trouble = ""
        return trouble(message, *clues)


def recognize(record: Record) -> bool:
    """A line with what only this CLI sends: wrapped events, parents, whole API messages, its init and result."""
    kind = record.get("type")
    if kind == "stream_event":
        return isinstance(record.get("event"), dict)
    if kind in ("assistant", "user"):
        message = fields(record.get("message"))
        return "parent_tool_use_id" in record or "id" in message or "usage" in message
    if kind == "system":
        return "claude_code_version" in record or isinstance(record.get("tools"), list)
    return kind == "result" and ("total_cost_usd" in record or "num_turns" in record)


BACKEND = Backend(
    name="claude-cli",
    summary="claude -p --output-format stream-json --verbose [--include-partial-messages]",
    recognized_by='lines of "type" "stream_event", or "assistant" with "parent_tool_use_id"; its init and result',
    recognize=recognize,
    reader=ClaudeCliReader,
)
