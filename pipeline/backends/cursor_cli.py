"""The Cursor CLI with `--output-format stream-json`: one JSON object a line, with or without partial output.

With `--stream-partial-output` an `assistant` line is a piece, or repeats what was said since the last such line;
without it, every one is a whole segment of its own. The keys do not tell the two apart: whether pieces came before
does. Thinking always comes in pieces, tools always whole.
"""

from collections.abc import Iterator
from typing import Any

from penstock.backends.fields import count, elements, fields, text
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.trouble import trouble
from penstock.backends.writer import Block, parsed_arguments
from penstock.events import ToolCompletion, ToolInvocation, Usage

__all__ = ["BACKEND"]


class CursorCliReader(Reader):
    """Lines of one run; `result` ends it. What the model says after a tool's result is a new message."""

    backend = "cursor-cli"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._model = ""
        self._streamed: list[Block] = []
        self._calls: dict[str, ToolInvocation] = {}

    def read(self, record: Record) -> None:
        kind = record.get("type")
        if kind == "thinking":
            if record.get("subtype") == "delta":
                self._think(text(record.get("text")))
            else:
                self.writer.end_run()
        elif kind == "assistant":
            self._assistant(record)
        elif kind == "tool_call":
            self._tool_call(record)
        elif kind == "result":
            self._result(record)
        elif kind == "system":
            self._model = text(record.get("model")) or self._model
        elif kind != "user":
            self.unknown(record)

    def _speak(self) -> None:
        if not self.writer.is_open:
            self.is_completed = False
            self.writer.start(model=self._model)

    def _think(self, piece: str) -> None:
        if piece:
            self._speak()
            self.writer.thinking(piece)

    # ── text ─────────────────────────────────────────────────────────────────────────────────────────────

    def _assistant(self, record: Record) -> None:
        parts = elements(fields(record.get("message")).get("content"))
        said = "".join([text(fields(part).get("text")) for part in parts])
        if not said:
            return
        self._speak()
        if "timestamp_ms" in record and "model_call_id" not in record:
            self._piece(said)
        elif self._streamed:
            self._repeat(said)
        else:
            self.writer.whole_text(said)

    def _piece(self, piece: str) -> None:
        writer = self.writer
        writer.text(piece)
        block = writer.running
        if block is not None and (not self._streamed or block is not self._streamed[-1]):
            self._streamed.append(block)

    def _repeat(self, said: str) -> None:
        """All since the last repetition, which is a block's full copy if thinking did not split it into several."""
        is_one_block = len(self._streamed) == 1 and self.writer.running is self._streamed[0]
        self._streamed.clear()
        self.writer.end_run(copy=said if is_one_block else "")

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────

    def _tool_call(self, record: Record) -> None:
        call_id = text(record.get("call_id"))
        name, body = _tool(fields(record.get("tool_call")))
        if call_id not in self._calls:
            self._speak()
            value, is_malformed = body.get("args"), False
            if type(value) is not dict:
                value, is_malformed = parsed_arguments(text(body.get("arguments")))
            self._calls[call_id] = self.writer.whole_tool(call_id, name, value, is_malformed, is_server_side=True)
        if record.get("subtype") == "completed":
            call = self._calls.pop(call_id)
            if self.writer.running is None:
                self.writer.stop()
            output, is_error = _outcome(fields(body.get("result")))
            self.tell(ToolCompletion(call_id, output, is_error, call.tool_name, call.message_id))

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────

    def _result(self, record: Record) -> None:
        self._streamed.clear()
        is_error = bool(record.get("is_error"))
        if not is_error:
            self.writer.stop()
        used = fields(record.get("usage"))
        usage = Usage(
            count(used.get("inputTokens")),
            count(used.get("outputTokens")),
            count(used.get("cacheReadTokens")),
            count(used.get("cacheWriteTokens")),
        )
        if usage != Usage():
            self.tell(usage)
        if is_error:
            self.fail(trouble(record.get("result"), record.get("subtype")))
        else:
            # `result` is every segment in one string, not the message to keep.
            self.complete(text(record.get("subtype")))


def _tool(call: Record) -> tuple[str, Record]:
    """The tool is the one key that ends in `ToolCall`; `function` is the form for all others."""
    for key, body in call.items():
        if key.endswith("ToolCall") and type(body) is dict:
            return key.removesuffix("ToolCall"), body
    function = fields(call.get("function"))
    return text(function.get("name")), {**function, "result": call.get("result")}


def _outcome(result: Record) -> tuple[Any, bool]:
    """The result as text where the tool gave text, else as it is; and whether it failed."""
    success = result.get("success")
    if type(success) is not dict:
        reason = next((value for value in result.values() if type(value) in (dict, str)), result)
        said = next((value for value in fields(reason).values() if type(value) is str), "")
        return said or reason, True
    printed = success.get("interleavedOutput")
    if type(printed) is not str and "stdout" in success:
        printed = text(success.get("stdout")) + text(success.get("stderr"))
    if type(printed) is not str:
        printed = success.get("content")
    return printed if type(printed) is str else success, count(success.get("exitCode")) != 0


def recognize(record: Record) -> bool:
    """Types of its own; those it shares with the Claude CLI lack what that one always sends."""
    kind = record.get("type")
    if kind == "thinking":
        return record.get("subtype") in ("delta", "completed")
    if kind == "tool_call":
        return type(record.get("tool_call")) is dict
    if kind == "system":
        return "apiKeySource" in record and "tools" not in record and "claude_code_version" not in record
    if kind in ("assistant", "user"):
        message = fields(record.get("message"))
        return (
            "session_id" in record
            and "role" in message
            and not ("parent_tool_use_id" in record or "id" in message or "usage" in message)
        )
    return kind == "result" and "request_id" in record and "num_turns" not in record


BACKEND = Backend(
    name="cursor-cli",
    summary="Cursor CLI, cursor-agent -p --output-format stream-json [--stream-partial-output]",
    recognized_by='type "thinking" or "tool_call" with a "subtype"; "assistant" without a message id',
    recognize=recognize,
    reader=CursorCliReader,
)
