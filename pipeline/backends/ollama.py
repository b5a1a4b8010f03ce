"""Ollama's own API, `/api/chat` and `/api/generate`: one JSON object a line.

Text and thinking come in pieces, tool calls whole and, from older servers, without an id.
"""

from typing import Any

from penstock.backends.fields import count, elements, fields, text
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.trouble import trouble
from penstock.backends.writer import parsed_arguments
from penstock.events import Usage

__all__ = ["BACKEND"]

NO_ANSWER = {"load", "unload"}
"""Reasons of a reply that only says the model was loaded or let go."""


class OllamaReader(Reader):
    """Lines of `/api/chat` (`message`) and `/api/generate` (`response`); `done` ends the turn."""

    backend = "ollama"
    calls = 0

    def read(self, record: Record) -> None:
        message = record.get("message")
        if message is None and "response" in record:
            piece, message = record["response"], record
        elif message is not None:
            message = fields(message)
            piece = message.get("content")
        else:
            self._without_message(record)
            return
        writer = self.writer
        if not writer.is_open and text(record.get("done_reason")) not in NO_ANSWER:
            self.is_completed = False
            writer.start(model=text(record.get("model")))
        writer.thinking(text(message.get("thinking")))
        writer.text(text(piece))
        calls = message.get("tool_calls")
        if calls:
            for call in elements(calls):
                self._call(fields(call))
        if record.get("done"):
            self._done(record)

    def _call(self, call: Record) -> None:
        function = fields(call.get("function"))
        arguments: Any = function.get("arguments")
        is_malformed = False
        if isinstance(arguments, str):
            arguments, is_malformed = parsed_arguments(arguments)
        # `index` is missing or 0 for all calls of some servers: every entry is a call of its own.
        self.calls += 1
        call_id = text(call.get("id")) or f"{self.writer.message_id}-call-{self.calls}"
        self.writer.whole_tool(call_id, text(function.get("name")), arguments or {}, is_malformed)

    def _done(self, record: Record) -> None:
        reason = text(record.get("done_reason"))
        self.writer.stop(reason)
        usage = Usage(
            count(record.get("prompt_eval_count")),
            count(record.get("eval_count")),
            message_id=self.writer.message_id,
        )
        if usage.input_tokens or usage.output_tokens:
            self.tell(usage)
        self.complete(reason)

    def _without_message(self, record: Record) -> None:
        error = record.get("error")
        if error is None:
            self.unknown(record)
            return
        message = text(error) or text(fields(error).get("message"))
        self.fail(trouble(message, "not_found" if "not found" in message else "server_error"))


def recognize(record: Record) -> bool:
    """A line with `model`, `done` and one of the two places for the answer."""
    return "done" in record and "model" in record and ("message" in record or "response" in record)


BACKEND = Backend(
    name="ollama",
    summary="Ollama's /api/chat and /api/generate",
    recognized_by='lines with "model", "done" and "message" or "response"',
    recognize=recognize,
    reader=OllamaReader,
)
