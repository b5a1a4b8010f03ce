"""The Codex CLI's `codex exec --json`: one JSON object a line, everything whole.

The older `codex proto` envelope is read too.
"""

from penstock.backends.codex import reported
from penstock.backends.codex_proto import CodexProtoReader
from penstock.backends.fields import count, fields, text
from penstock.backends.reader import Backend, Record
from penstock.events import StreamError, Usage

__all__ = ["BACKEND"]


class CodexExecReader(CodexProtoReader):
    """Threads, turns and items; every line of an item is the item as it stands, not what is new in it."""

    backend = "codex-exec"

    def read(self, record: Record) -> None:
        kind = record.get("type")
        if "msg" in record:
            super().read(record)
            return
        if self.held is not None and kind != "turn.failed":
            self.release_held()
        if kind == "item.completed":
            self._completed(fields(record.get("item")), record)
        elif kind in ("item.started", "item.updated"):
            item = fields(record.get("item"))
            # Text and thinking are only worth telling when they are whole.
            if not self.tool_started(item) and item.get("type") not in ("agent_message", "reasoning"):
                self.unknown(record)
        elif kind == "turn.started":
            self.begin()
        elif kind == "turn.completed":
            self.usage = _usage(fields(record.get("usage")))
            self.complete("completed")
        elif kind == "turn.failed":
            self.fail(reported(text(fields(record.get("error")).get("message"))))
        elif kind == "error":
            self._error(text(record.get("message")))
        elif kind != "thread.started":
            self.unknown(record)

    def _completed(self, item: Record, record: Record) -> None:
        kind = item.get("type")
        if kind == "agent_message":
            self.begin()
            self.writer.whole_text(text(item.get("text")))
        elif kind == "reasoning":
            self.begin()
            self.writer.whole_thinking(text(item.get("text")))
        elif kind == "error":
            self.tell(StreamError("warning", text(item.get("message")), is_fatal=False))
        elif not self.tool_completed(item):
            self.unknown(record)

    def _error(self, message: str) -> None:
        if message.startswith("Reconnecting"):
            self.tell(StreamError("reconnecting", message, retryable=True, is_fatal=False))
        else:
            self.hold(reported(message))


def _usage(usage: Record) -> Usage:
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(usage.get("cached_input_tokens")),
        count(usage.get("cache_write_input_tokens")),
        count(usage.get("reasoning_output_tokens")),
    )


TYPES = {"thread.started", "turn.started", "turn.completed", "turn.failed"}


def recognize(record: Record) -> bool:
    """Threads, turns and items with a dot in the type; or the older envelope."""
    kind = text(record.get("type"))
    if kind in TYPES:
        return True
    if kind in ("item.started", "item.updated", "item.completed"):
        return "item" in record
    return "id" in record and type(fields(record.get("msg")).get("type")) is str


BACKEND = Backend(
    name="codex-exec",
    summary="Codex CLI, codex exec --json (and the older codex proto)",
    recognized_by='type "thread.started", "turn.…" or "item.…"; or {"id": …, "msg": {"type": …}}',
    recognize=recognize,
    reader=CodexExecReader,
)
