"""The Agent Client Protocol: JSON-RPC, one message a line, version 1, the draft of version 2, and older envelopes.

Text and thoughts come in chunks without start or end; a tool call is a snapshot whose given fields replace the old
ones; the turn ends with the answer to `session/prompt` (version 1) or the state `idle` (version 2).
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from penstock.backends.acp_calls import CallSnapshot, plain_text
from penstock.backends.fields import count, fields, text
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.trouble import trouble
from penstock.backends.writer import Block
from penstock.events import BlockKind, Text, TextDelta, Thinking, ThinkingDelta, ToolCompletion, ToolProgress, Usage

__all__ = ["BACKEND"]

ENDED = {"completed", "failed", "cancelled"}

BY_JSON_RPC_CODE = {
    -32000: "authentication",
    -32002: "not_found",
    -32600: "invalid_request",
    -32601: "invalid_request",
    -32602: "invalid_request",
    -32603: "server_error",
    -32800: "cancelled",
}

NOT_OUTPUT = {
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "plan",
    "plan_update",
    "session_info_update",
    "terminal_output_chunk",
    "terminal_update",
}


class AcpReader(Reader):
    """Updates of a session. What is said after a tool call, or under another `messageId`, is a new message."""

    backend = "acp"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._session = ""
        self._is_replay = False
        self._is_after_call = False
        self._ids: dict[BlockKind, str] = {"text": "", "thinking": ""}
        self._used_ids: set[str] = set()
        self._said: dict[str, tuple[Block, str]] = {}
        self._calls: dict[str, CallSnapshot] = {}
        self._announced: list[CallSnapshot] = []
        self._cost = 0.0
        self._handlers: dict[str, Callable[[Record], None]] = {
            "agent_message_chunk": self._message_chunk,
            "agent_thought_chunk": self._thought_chunk,
            "tool_call": self._tool_call,
            "tool_call_update": self._tool_call,
            "tool_call_content_chunk": self._tool_content,
            "agent_message": self._whole_message,
            "agent_thought": self._whole_message,
            "user_message": self._user,
            "user_message_chunk": self._user,
            "usage_update": self._usage,
            "state_update": self._state,
        }

    def read(self, record: Record) -> None:
        method = record.get("method")
        if method in ("session/update", "session/notification"):
            self._update(record)
        elif method is None and "error" in record:
            error = fields(record["error"])
            details = text(fields(error.get("data")).get("details"))
            said = ": ".join(filter(None, (text(error.get("message")), details)))
            self.fail(trouble(said, BY_JSON_RPC_CODE.get(count(error.get("code")), "")))
        elif method is None and "result" in record:
            self._answer(record["result"])
        elif method is None:
            self.unknown(record)

    def _update(self, record: Record) -> None:
        params = fields(record.get("params"))
        # `update` today; before that the object was called `sessionUpdate`, or there was none around the fields.
        update = params.get("update")
        if type(update) is not dict:
            update = params.get("sessionUpdate")
        if type(update) is not dict:
            update = params
        kind = update.get("sessionUpdate") or update.get("type")
        handler = self._handlers.get(_snake_case(kind)) if type(kind) is str else None
        if handler is None:
            if _snake_case(text(kind)) not in NOT_OUTPUT:
                self.unknown(record)
        elif self._listens_to(text(params.get("sessionId"))):
            handler(update)

    def _listens_to(self, session: str) -> bool:
        """Whether it is the session whose turn is under way; between turns, whoever speaks first."""
        if session == self._session:
            return True
        if self._session and self.writer.is_open and not self.is_completed:
            return False
        self._session = session
        return True

    # ── what the agent says ──────────────────────────────────────────────────────────────────────────────

    def _message_chunk(self, update: Record) -> None:
        self._say("text", update)

    def _thought_chunk(self, update: Record) -> None:
        self._say("thinking", update)

    def _say(self, kind: BlockKind, update: Record) -> None:
        piece = plain_text(update.get("content"))
        if not piece:
            return
        message_id = text(update.get("messageId"))
        writer = self.writer
        if message_id:
            if self._ids[kind] not in ("", message_id):
                self._stop()
        elif self._is_after_call:
            self._stop()
        if not writer.is_open:
            self.is_completed = False
            self._ids = {"text": "", "thinking": ""}
            writer.start("" if message_id in self._used_ids else message_id)
            self._used_ids.add(message_id)
        self._is_after_call = False
        if kind == "text":
            writer.text(piece)
        else:
            writer.thinking(piece)
        if message_id:
            self._ids[kind] = message_id
            if writer.running is not None:
                self._said[message_id] = (writer.running, writer.message_id)

    def _whole_message(self, update: Record) -> None:
        """All of a message at once: in place of what was said under its id, or to be continued by chunks."""
        if "content" not in update:
            return
        known = self._said.get(text(update.get("messageId")))
        if known is None:
            is_thought = (update.get("sessionUpdate") or update.get("type")) == "agent_thought"
            self._say("thinking" if is_thought else "text", update)
            return
        block, message_id = known
        whole = plain_text(update["content"])
        if block.is_open:
            delta = TextDelta if block.kind == "text" else ThinkingDelta
            self.tell(delta(whole, block.index, message_id, replace=True))
        else:
            final = Text if block.kind == "text" else Thinking
            self.tell(final(whole, block.index, message_id))

    def _user(self, update: Record) -> None:
        self._is_replay = True
        self._stop()

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────

    def _tool_call(self, update: Record) -> None:
        call = self._call(update)
        call.take(update)
        if call.status != "pending" or call.input:
            self._invoke(call)
        if call.status in ENDED:
            self._complete_call(call)
        elif update.get("status") == "in_progress" or "content" in update:
            self._progress(call, plain_text(update.get("content")))

    def _tool_content(self, update: Record) -> None:
        call = self._call(update)
        call.content.append(update.get("content"))
        self._progress(call, plain_text(update.get("content")))

    def _call(self, update: Record) -> CallSnapshot:
        """The call an update is about; announced by it, where it is the first of it."""
        call_id = text(update.get("toolCallId"))
        call = self._calls.get(call_id)
        if call is None or (call.is_ended and update.get("status") == "pending"):
            writer = self.writer
            writer.end_run()
            if not writer.is_open:
                self.is_completed = False
                writer.start()
            call = self._calls[call_id] = CallSnapshot(update)
            self._announced.append(call)
            call.block = writer.open(call, "tool", call_id, call.name)
            call.message_id = writer.message_id
            self._is_after_call = True
        return call

    def _invoke(self, call: CallSnapshot) -> None:
        """Say what is called with what; again where an update changed it."""
        invocation = call.invocation()
        if invocation == call.told:
            return
        call.told = invocation
        self.writer.copy(call.block, invocation)
        if call.block.is_open:
            self.writer.close(call)

    def _progress(self, call: CallSnapshot, message: str) -> None:
        if not call.is_ended:
            self.tell(ToolProgress(call.call_id, message, call.name, call.message_id))

    def _complete_call(self, call: CallSnapshot) -> None:
        if not call.is_ended:
            call.is_ended = True
            is_error = call.status != "completed"
            self.tell(ToolCompletion(call.call_id, call.output(), is_error, call.name, call.message_id))

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────

    def _stop(self, stop_reason: str = "") -> None:
        """End the message; calls in it that never said more are called as they stand."""
        for call in self._announced:
            if call.told is None:
                self._invoke(call)
        self._announced.clear()
        self.writer.stop(stop_reason)
        self._is_after_call = False

    def _answer(self, result: Any) -> None:
        answer = fields(result)
        reason = answer.get("stopReason")
        if type(reason) is str:
            self._end(reason, fields(answer.get("usage")))
        elif result is None and self._is_replay and not self.is_completed:
            self._end("", {})  # of `session/load`: what came was history

    def _state(self, update: Record) -> None:
        if update.get("state") == "idle":
            self._end(text(update.get("stopReason")), {})

    def _usage(self, update: Record) -> None:
        """How full the context is, which is no count of tokens used; but what it cost so far."""
        cost = fields(update.get("cost"))
        amount = cost.get("amount")
        if cost.get("currency") == "USD" and type(amount) in (int, float):
            self._cost = float(amount or 0)

    def _end(self, stop_reason: str, usage: Record) -> None:
        if self.is_completed:
            return
        self._stop(stop_reason)
        if usage or self._cost:
            self.tell(
                Usage(
                    count(usage.get("inputTokens")),
                    count(usage.get("outputTokens")),
                    count(usage.get("cachedReadTokens")),
                    count(usage.get("cachedWriteTokens")),
                    count(usage.get("thoughtTokens")),
                    self._cost,
                )
            )
        self._is_replay = False
        self._cost = 0.0
        self._said.clear()
        self._calls = {call_id: call for call_id, call in self._calls.items() if not call.is_ended}
        self.complete(stop_reason)


@lru_cache(maxsize=256)
def _snake_case(kind: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", kind).lower()


ANSWERS = {"agentCapabilities", "error", "sessionId", "stopReason"}


def recognize(record: Record) -> bool:
    """Methods of sessions; or an answer only an agent gives."""
    method = record.get("method")
    if type(method) is str:
        return method.startswith("session/") or ("jsonrpc" in record and method.startswith(("fs/", "terminal/")))
    answer = fields(record.get("result")) or record
    return "jsonrpc" in record and not ANSWERS.isdisjoint(answer)


BACKEND = Backend(
    name="acp",
    summary="Agent Client Protocol, version 1, draft 2 and older envelopes",
    recognized_by='methods "session/…", or JSON-RPC answers with "stopReason", "sessionId" or "agentCapabilities"',
    recognize=recognize,
    reader=AcpReader,
)
