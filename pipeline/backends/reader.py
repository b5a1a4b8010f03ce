"""The shape every backend has: a reader that turns its records into events, and a card that says how to know it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import orjson
from msgspec.structs import replace

from penstock.backends.writer import MessageWriter, numbered_ids
from penstock.events import Event, StreamError, TurnCompleted, Unknown
from penstock.operators.frame_error import FrameError
from penstock.operators.stage import Stage

__all__ = ["Backend", "Payload", "Reader", "Record"]

Record = dict[str, Any]
Payload = bytes | str | Record | FrameError | StreamError
"""A framed payload as bytes or text, or a record that is parsed already (an SDK's object as a dict); or, in its
place, what went wrong before the reader: bytes that could not be framed, records that never arrived."""


class Reader(Stage[Payload, Event]):
    """One backend's payloads to events; subclasses write `read`, for one parsed record.

    A payload that is no JSON becomes a `StreamError` in its place and the stream goes on. `complete` says that the
    backend's end marker was seen; an input that ends without it is closed in balance after a `StreamError` of code
    `truncated`. Each turn gets exactly one `TurnCompleted`, whatever happens.

    `writer` is the main conversation's; a subagent's, under the tool call that started it, is `speaker(call_id)`.
    """

    backend: ClassVar[str] = ""

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        self.message_ids = message_ids or numbered_ids()
        self.writer = MessageWriter(self.send, self.message_ids)
        self.writers = {"": self.writer}
        self.is_completed = False
        self.is_stopped = False
        """Set by whoever ends the input on purpose: what is missing then is nobody's error."""
        self._speaking = self.writer

    def start(self) -> None:
        for writer in self.writers.values():
            writer.emit = self.emit

    def send(self, event: Event) -> None:
        """Emit what a writer wrote that was made before there was an `emit`."""
        self.emit(event)

    def tell(self, event: Event) -> None:
        """Emit an event that is no delta, after the deltas held back for merging."""
        self._speaking.settle()
        self.emit(event)

    def speaker(self, parent_call_id: str) -> MessageWriter:
        """The writer of one of several conversations; what the previous speaker held back leaves first."""
        writer = self.writers.get(parent_call_id)
        if writer is None:
            writer = self.writers[parent_call_id] = MessageWriter(self.send, self.message_ids, parent_call_id)
            writer.may_get_halves = self.writer.may_get_halves
        if writer is not self._speaking:
            self._speaking.settle()
            self._speaking = writer
        return writer

    def feed(self, item: Payload) -> None:
        if type(item) is bytes or type(item) is str:
            try:
                record: Any = orjson.loads(item)
            except orjson.JSONDecodeError as error:
                record = self._parse_again(item, error)
                if record is None:
                    return
        elif isinstance(item, FrameError):
            self.tell(StreamError(item.code, item.message, is_fatal=False))
            return
        elif isinstance(item, StreamError):
            if item.is_fatal:
                self.fail(item)
            else:
                self.tell(item)
            return
        else:
            record = item
            self._expect_halves()
        if isinstance(record, dict):
            self.read(record)
        elif isinstance(record, list):  # a whole recording, or a reply without framing, as one array
            for element in record:
                if isinstance(element, dict):
                    self.read(element)
                else:
                    self.unknown(element)
        else:
            self.unknown(record)

    def _parse_again(self, item: bytes | str, error: orjson.JSONDecodeError) -> Any:
        """What only a strict parser refuses: bytes that are no UTF-8, half a surrogate pair, control characters."""
        text = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
        self._expect_halves()
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return self.not_json(text, error)

    def _expect_halves(self) -> None:
        """A lenient parser lets half a surrogate pair pass; a strict one, as on the usual way, never does."""
        if not self.writer.may_get_halves:
            for writer in self.writers.values():
                writer.may_get_halves = True

    def not_json(self, text: str, error: orjson.JSONDecodeError) -> Any:
        """A payload that does not parse; a backend that knows such ones overrides this and returns None."""
        where = f"at character {error.pos}: {text[:80]!r}"
        self.tell(StreamError("bad_json", f"skipped a payload that is not JSON, {where}", is_fatal=False))
        return None

    def read(self, record: Record) -> None:
        raise NotImplementedError

    def repeats(self, payload: bytes) -> tuple[int, int, Callable[[str], object]] | None:
        """Where the piece of text stands in a payload that was just read and was that piece and nothing else.

        The span of the piece within its quotes, and what to call with the piece of a payload that is the same
        around it: that must do exactly what reading the payload would. None, where there is no such piece.
        """
        return None

    def unknown(self, payload: Any) -> None:
        """Keep what nobody knows."""
        self.tell(Unknown(self.backend, payload))

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        """The turn is over: close what is open, and say so once."""
        self.close()
        if not self.is_completed:
            self.is_completed = True
            self.tell(TurnCompleted(stop_reason, final_message))

    def fail(self, error: StreamError) -> None:
        """The turn ends in `error`."""
        self.break_off(error)
        self.complete("error")

    def break_off(self, error: StreamError) -> None:
        """Every open message ends in `error`, which comes before the stops of what it cuts off."""
        if self.writer.is_open and not error.message_id:
            error = replace(error, message_id=self.writer.message_id)
        self.tell(error)
        for writer in self.writers.values():
            writer.cut()

    def close(self) -> None:
        """Stop every message that is open, subagents' first."""
        for writer in reversed(self.writers.values()):
            writer.stop()

    def settle(self) -> None:
        self._speaking.settle()

    def finish(self) -> None:
        """The input is over. A backend that need not send an end marker overrides this, and calls `complete`."""
        if not self.is_completed and self.is_stopped:
            for writer in self.writers.values():
                writer.cut()
            self.complete("stopped")
        elif not self.is_completed:
            self.fail(StreamError("truncated", "the stream broke off before its end", retryable=True))
        self.close()


@dataclass(frozen=True, slots=True)
class Backend:
    """How a backend is named, known and read."""

    name: str
    summary: str
    recognized_by: str
    """In words, for people: what in the first payloads gives it away."""
    recognize: Callable[[Record], bool]
    """Whether this record can only come from this backend."""
    reader: Callable[[Iterator[str] | None], Reader]
    framing: Literal["auto", "text"] = "auto"
    """`text`: the bytes are the message itself, not framed records."""
