"""Anthropic's Messages API: server-sent events, the same as lines, or one whole reply."""

from collections.abc import Callable, Iterator

import msgspec

from penstock.backends.anthropic_events import DeltaEvent, MessageEvents, usage_of
from penstock.backends.fields import elements, fields, string_span, text
from penstock.backends.reader import Backend, Payload, Reader, Record
from penstock.backends.trouble import trouble

__all__ = ["BACKEND", "AnthropicReader"]

EVENTS = {
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
}


class AnthropicReader(Reader):
    """Message events to events, one to one.

    A stream may hold several messages (a proxy tries again; responses are recorded in a row), so the turn is over
    when the input is: truncated where the last message has no `message_stop`.
    """

    backend = "anthropic"
    _decoder = msgspec.json.Decoder(DeltaEvent)

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._message = MessageEvents(self.writer)
        self._outcome = ""

    def feed(self, item: Payload) -> None:
        try:
            event = self._decoder.decode(item)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            super().feed(item)
            return
        if not self._message.read_delta(event):
            super().feed(item)

    def repeats(self, payload: bytes) -> tuple[int, int, Callable[[str], object]] | None:
        try:
            key, block = self._message.only_piece(self._decoder.decode(payload))
        except ValueError:
            return None
        span = string_span(payload, key)
        return None if span is None or block is None else (*span, self.writer.sender(block))

    def read(self, record: Record) -> None:
        kind = record.get("type")
        if kind == "content_block_delta":
            self._read_delta(record)
        elif kind == "message_stop":
            self._message.read(record)
            self._end()
        elif kind == "error":
            self.break_off(trouble(record.get("error")))
            self._outcome = "error"
        elif kind == "message":
            self._read_whole(record)
        elif not self._message.read(record):
            self.unknown(record)

    def _read_delta(self, record: Record) -> None:
        try:
            is_known = self._message.read_delta(msgspec.convert(record, DeltaEvent))
        except ValueError:
            is_known = False
        if not is_known:
            self.unknown(record)

    def _read_whole(self, message: Record) -> None:
        self._message.start(message, is_streamed=False)
        for block in elements(message.get("content")):
            if not self._message.add_whole(fields(block)):
                self.unknown(block)
        self._message.usage = fields(message.get("usage"))
        self._message.stop(text(message.get("stop_reason")))
        self._end()

    def _end(self) -> None:
        self._outcome = self._message.stop_reason
        usage = usage_of(self._message.usage, self.writer.message_id)
        if usage.input_tokens or usage.output_tokens:
            self.tell(usage)

    def finish(self) -> None:
        if self._outcome and not self.writer.is_open:
            self.complete(self._outcome)
        super().finish()


def recognize(record: Record) -> bool:
    """A message event by its `type`, a whole `message`, or an `error` as this API words it."""
    kind = text(record.get("type"))
    if kind == "error":
        error = fields(record.get("error"))
        return (
            text(error.get("type")).endswith("_error") and "code" not in error and "sequence_number" not in record
        )
    if kind == "message":
        return isinstance(record.get("content"), list) and "stop_reason" in record
    return kind in EVENTS


BACKEND = Backend(
    name="anthropic",
    summary="Anthropic Messages API",
    recognized_by='objects whose "type" is "message_start", "content_block_delta", …',
    recognize=recognize,
    reader=AnthropicReader,
)
