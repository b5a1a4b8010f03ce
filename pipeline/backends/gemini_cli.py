"""The Gemini CLI with `--output-format stream-json`: one JSON object a line.

Assistant text comes in pieces (`delta: true`), thinking never, tool calls and their results whole.
"""

from collections.abc import Iterator

from penstock.backends.fields import count, fields, text
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.trouble import trouble
from penstock.events import StreamError, ToolCompletion, Usage

__all__ = ["BACKEND"]


class GeminiCliReader(Reader):
    """The six `type`s of the CLI. What the model says after a tool's result is a new message."""

    backend = "gemini-cli"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._model = ""
        self._pieces: list[str] = []
        self._tool_names: dict[str, str] = {}
        self._held: StreamError | None = None

    def read(self, record: Record) -> None:
        kind = record.get("type")
        if self._held is not None and kind != "result":
            self._release()
        if kind == "message":
            self._message(record)
        elif kind == "tool_use":
            self._tool_use(record)
        elif kind == "tool_result":
            self._tool_result(record)
        elif kind == "init":
            self._model = text(record.get("model"))
        elif kind == "error":
            self._error(record)
        elif kind == "result":
            self._result(record)
        else:
            self.unknown(record)

    def _speak(self) -> None:
        if not self.writer.is_open:
            self.is_completed = False
            self._pieces.clear()
            self.writer.start(model=self._model)

    def _message(self, record: Record) -> None:
        content = text(record.get("content"))
        if record.get("role") != "assistant" or not content:
            return
        self._speak()
        writer = self.writer
        if record.get("delta"):
            writer.text(content)
            self._pieces.append(content)
        elif not self._pieces:
            writer.whole_text(content)
        else:
            self._last_of_pieces(content)

    def _last_of_pieces(self, content: str) -> None:
        """`delta: false` after pieces: by the format the whole message, in its own example only the last piece."""
        streamed = "".join(self._pieces)
        self._pieces.clear()
        if content.startswith(streamed):
            self.writer.end_run(copy=content)
        else:
            self.writer.text(content)
            self.writer.end_run()

    def _tool_use(self, record: Record) -> None:
        self._speak()
        self._pieces.clear()
        call_id, name = text(record.get("tool_id")), text(record.get("tool_name"))
        self._tool_names[call_id] = name
        self.writer.whole_tool(call_id, name, fields(record.get("parameters")), is_server_side=True)

    def _tool_result(self, record: Record) -> None:
        self.writer.stop()
        call_id = text(record.get("tool_id"))
        is_error = record.get("status") == "error"
        output = record.get("output")
        if is_error and not output:
            output = fields(record.get("error")).get("message")
        name = self._tool_names.pop(call_id, "")
        self.tell(ToolCompletion(call_id, output or "", is_error, name, self.writer.message_id))

    def _error(self, record: Record) -> None:
        message = text(record.get("message"))
        if record.get("severity") == "warning":
            self.tell(StreamError("warning", message, is_fatal=False))
        else:
            # A failed `result` repeats it, and a good one may follow all the same: what comes next decides.
            self._held = StreamError("backend_error", message, is_fatal=False)

    def _release(self) -> None:
        if self._held is not None:
            self.tell(self._held)
            self._held = None

    def _result(self, record: Record) -> None:
        stats = fields(record.get("stats"))
        usage = Usage(
            count(stats.get("input_tokens")), count(stats.get("output_tokens")), count(stats.get("cached"))
        )
        if record.get("status") == "error":
            error = fields(record.get("error"))
            said = text(error.get("message")) or (self._held.message if self._held is not None else "")
            self._held = None
            self._used(usage)
            self.fail(trouble({**error, "message": said}))
        else:
            self._release()
            self.writer.stop()
            self._used(usage)
            self.complete(text(record.get("status")))

    def _used(self, usage: Usage) -> None:
        if usage.input_tokens or usage.output_tokens:
            self.tell(usage)

    def finish(self) -> None:
        if self._held is not None and not (self.is_completed or self.is_stopped):
            self.fail(trouble(self._held.message))
        super().finish()


TYPES = {"init", "message", "tool_use", "tool_result", "error", "result"}


def recognize(record: Record) -> bool:
    """Every line has a `timestamp`, and by its type a key no other CLI puts beside that."""
    kind = text(record.get("type"))
    if kind not in TYPES or "timestamp" not in record:
        return False
    return (
        (kind == "init" and "session_id" in record)
        or (kind == "message" and type(record.get("content")) is str)
        or (kind in ("tool_use", "tool_result") and "tool_id" in record)
        or (kind == "error" and "severity" in record)
        or (kind == "result" and "status" in record)
    )


BACKEND = Backend(
    name="gemini-cli",
    summary="Gemini CLI, gemini -p … --output-format stream-json",
    recognized_by='lines with "timestamp" and type "init", "message", "tool_use", "tool_result" or "result"',
    recognize=recognize,
    reader=GeminiCliReader,
)
