"""`codex app-server`: JSON-RPC notifications, one a line, without the `jsonrpc` key.

One connection carries many threads and turns. A turn is told from its `turn/started` to its `turn/completed`; what
other threads say meanwhile is left out, unless a tool call of this turn started them: those are its subagents.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import orjson

from penstock.backends.codex import CodexReader, reported
from penstock.backends.fields import count, elements, fields, text
from penstock.backends.reader import Backend, Record
from penstock.backends.trouble import trouble
from penstock.events import BlockKind, StreamError, Text, Thinking, ToolProgress, Usage

__all__ = ["BACKEND"]

NOT_OUTPUT = {"enteredReviewMode", "contextCompaction", "hookPrompt", "subAgentActivity", "userMessage"}
"""Items that say nothing the model said."""

FAMILIES = {
    "account",
    "app",
    "autoApprovalReview",
    "command",
    "externalAgentConfig",
    "fs",
    "fuzzyFileSearch",
    "hook",
    "item",
    "mcpServer",
    "model",
    "process",
    "project",
    "remoteControl",
    "serverRequest",
    "skills",
    "thread",
    "turn",
    "windows",
    "windowsSandbox",
}
"""First parts of the methods that are known, most of them of no interest here."""


class CodexAppServerReader(CodexReader):
    """Items of one turn: text and thinking in pieces, then whole; tools whole, their output as progress."""

    backend = "codex-app-server"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._thread = ""
        self._parents: dict[str, str] = {}
        self._open_part: Hashable = None
        self._handlers: dict[str, Callable[[Record], None]] = {
            "item/agentMessage/delta": self._message_delta,
            "item/plan/delta": self._message_delta,
            "item/reasoning/summaryTextDelta": self._summary_delta,
            "item/reasoning/textDelta": self._thought_delta,
            "item/commandExecution/outputDelta": self._output_delta,
            "item/fileChange/outputDelta": self._output_delta,
            "item/mcpToolCall/progress": self._output_delta,
            "item/fileChange/patchUpdated": self._patch,
            "item/started": self._started,
            "item/completed": self._completed,
            "turn/started": self._turn_started,
            "turn/completed": self._turn_completed,
            "thread/tokenUsage/updated": self._usage,
            "error": self._error,
        }

    def not_json(self, text: str, error: orjson.JSONDecodeError) -> Any:
        # What the client sent, in logs of both directions.
        if not text.startswith(">>"):
            super().not_json(text, error)

    def read(self, record: Record) -> None:
        method = record.get("method")
        if "id" in record:
            if method is None and "error" in record:
                self._refused(fields(record["error"]))
            return  # requests, of either side, and their answers
        handler = self._handlers.get(method) if type(method) is str else None
        if handler is None:
            self._other(record, text(method))
            return
        params = fields(record.get("params"))
        if self.held is not None and handler != self._turn_completed:
            self.release_held()
        if self._listens_to(text(params.get("threadId"))):
            handler(params)

    def _listens_to(self, thread: str) -> bool:
        """Whether this thread is the turn's own or a subagent's; it then has the voice."""
        if thread in self._parents:
            self.voice = self.speaker(self._parents[thread])
            return True
        if thread != self._thread:
            if self._thread and not self.is_completed:
                return False
            self._thread = thread
        self.voice = self.speaker("")
        return True

    # ── what the model says ──────────────────────────────────────────────────────────────────────────────

    def _message_delta(self, params: Record) -> None:
        self._piece("text", text(params.get("itemId")), params)

    def _summary_delta(self, params: Record) -> None:
        self._piece("thinking", (text(params.get("itemId")), "summary", count(params.get("summaryIndex"))), params)

    def _thought_delta(self, params: Record) -> None:
        self._piece("thinking", (text(params.get("itemId")), "content", count(params.get("contentIndex"))), params)

    def _piece(self, kind: BlockKind, key: Hashable, params: Record) -> None:
        piece = params.get("delta")
        if not piece or type(piece) is not str:
            return
        voice = self.voice
        block = voice.blocks.get(key)
        if block is None or not block.is_open:
            self.begin()
            if kind == "thinking":
                voice.close(self._open_part)
                self._open_part = key
            block = voice.open(key, kind)
        voice.write(block, piece)

    def _whole(self, kind: BlockKind, key: Hashable, copy: str) -> None:
        """The full copy of a block; its only source where the client asked for no deltas."""
        voice = self.voice
        block = voice.blocks.get(key)
        if block is not None:
            final = Text if kind == "text" else Thinking
            voice.copy(block, final(copy, block.index, voice.message_id, voice.parent_call_id))
            voice.close(key)
        elif copy:
            self.begin()
            if kind == "text":
                voice.whole_text(copy)
            else:
                voice.whole_thinking(copy)

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────

    def _started(self, params: Record) -> None:
        item = fields(params.get("item"))
        self._adopt(item)
        self.tool_started(item)

    def _completed(self, params: Record) -> None:
        item = fields(params.get("item"))
        self._adopt(item)
        kind, key = text(item.get("type")), text(item.get("id"))
        if kind in ("agentMessage", "plan"):
            self._whole("text", key, text(item.get("text")))
        elif kind == "reasoning":
            for part in ("summary", "content"):
                for index, thought in enumerate(elements(item.get(part))):
                    self._whole("thinking", (key, part, index), text(thought))
        elif kind == "exitedReviewMode":
            self._whole("text", key, text(item.get("review")))
        elif not self.tool_completed(item) and kind not in NOT_OUTPUT:
            self.unknown(item)

    def _adopt(self, item: Record) -> None:
        """Threads a tool call brings to life are subagents under that call."""
        for thread in elements(item.get("receiverThreadIds")):
            if type(thread) is str and thread != self._thread:
                self._parents.setdefault(thread, text(item.get("id")))

    def _output_delta(self, params: Record) -> None:
        said = text(params.get("delta")) or text(params.get("message"))
        if said:
            voice = self.voice
            call_id = text(params.get("itemId"))
            self.tell(ToolProgress(call_id, said, "", voice.message_id, voice.parent_call_id))

    def _patch(self, params: Record) -> None:
        self.tool_started({"type": "fileChange", "id": params.get("itemId"), "changes": params.get("changes")})

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────

    def _turn_started(self, params: Record) -> None:
        self.begin()

    def _turn_completed(self, params: Record) -> None:
        turn = fields(params.get("turn"))
        status = text(turn.get("status"))
        if self.voice is not self.writer:
            self.voice.stop(status)
        elif status == "failed":
            self.fail(_trouble(fields(turn.get("error"))))
        else:
            self.release_held()
            self.complete(status)

    def _usage(self, params: Record) -> None:
        if self.voice is not self.writer:
            return
        total = fields(fields(params.get("tokenUsage")).get("total"))
        self.usage = Usage(
            count(total.get("inputTokens")),
            count(total.get("outputTokens")),
            count(total.get("cachedInputTokens")),
            count(total.get("cacheWriteInputTokens")),
            count(total.get("reasoningOutputTokens")),
        )
        if self.is_completed:
            self.tell(self.usage)
            self.usage = None

    def _error(self, params: Record) -> None:
        error = _trouble(fields(params.get("error")))
        if params.get("willRetry"):
            self.tell(StreamError(error.code, error.message, True, error.retry_after_s, is_fatal=False))
        else:
            self.hold(error)

    def _refused(self, error: Record) -> None:
        """A request of the client's failed; while no turn runs, it is the one that should have started it."""
        refusal = trouble(error.get("message"))
        if self.writer.is_open:
            self.tell(StreamError(refusal.code, refusal.message, is_fatal=False))
        else:
            self.fail(refusal)

    def _other(self, record: Record, method: str) -> None:
        params = fields(record.get("params"))
        if method in ("warning", "guardianWarning", "configWarning", "deprecationNotice"):
            said = text(params.get("message")) or text(params.get("summary"))
            self.tell(StreamError("warning", said, is_fatal=False))
        elif method.partition("/")[0] not in FAMILIES and method != "initialized":
            self.unknown(record)


def _trouble(error: Record) -> StreamError:
    information = error.get("codexErrorInfo")
    if type(information) is dict:
        kind, details = next(iter(information.items()), ("", {}))
        return trouble(error.get("message"), fields(details).get("httpStatusCode"), kind)
    if type(information) is str and information != "other":
        return trouble(error.get("message"), information)
    return reported(text(error.get("message")))


def recognize(record: Record) -> bool:
    """Codex's own methods, in JSON-RPC that does not say so; or the answer to `initialize`."""
    if "jsonrpc" in record:
        return False
    method = record.get("method")
    if type(method) is str:
        family, slash, _ = method.partition("/")
        return slash == "/" and family in FAMILIES and type(record.get("params")) is dict
    is_refusal = count(fields(record.get("error")).get("code")) < 0
    return "id" in record and (is_refusal or "codexHome" in fields(record.get("result")))


BACKEND = Backend(
    name="codex-app-server",
    summary="Codex CLI, codex app-server (JSON-RPC)",
    recognized_by='methods "thread/…", "turn/…", "item/…" in JSON-RPC without "jsonrpc"',
    recognize=recognize,
    reader=CodexAppServerReader,
)
