"""The shape every backend has: a reader that turns its records into events, and a card that says how to know it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import orjson

from penstock.backends.writer import MessageWriter, numbered_ids
from penstock.events import Event, StreamError, TurnCompleted, Unknown
from penstock.operators.stage import Stage

__all__ = ["Backend", "Payload", "Reader", "Record"]

Record = dict[str, Any]
Payload = bytes | str | Record
"""A framed payload as bytes or text, or a record that is parsed already (an SDK's object as a dict)."""


class Reader(Stage[Payload, Event]):
    """One backend's payloads to events; subclasses write `read`, for one parsed record.

    A payload that is no JSON becomes a `StreamError` in its place and the stream goes on. An input that ends
    without the backend's end marker is closed in balance, with a `StreamError` of code `truncated`; exactly one
    `TurnCompleted` is emitted, whatever happens.
    """

    backend: ClassVar[str] = ""

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        self.message_ids = message_ids or numbered_ids()
        self.writer = MessageWriter(self.send, self.message_ids)
        self.is_completed = False

    def send(self, event: Event) -> None:
        """Emit what the writer wrote (the reader's `emit` is joined to its neighbour only later)."""
        self.emit(event)

    def tell(self, event: Event) -> None:
        """Emit an event that is no delta, after the deltas held back for merging."""
        self.writer.settle()
        self.emit(event)

    def feed(self, item: Payload) -> None:
        if isinstance(item, dict):
            record: Any = item
        else:
            try:
                record = orjson.loads(item)
            except orjson.JSONDecodeError:
                record = self._parse_again(item)
                if record is None:
                    return
        if isinstance(record, dict):
            self.read(record)
        else:
            self.unknown(record)

    def _parse_again(self, item: bytes | str) -> Any:
        text = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            return self.not_json(text, error)

    def not_json(self, text: str, error: orjson.JSONDecodeError) -> Any:
        """A payload that does not parse; a backend that knows such ones overrides this and returns None."""
        where = f"at character {error.pos}: {text[:80]!r}"
        self.tell(StreamError("bad_json", f"skipped a payload that is not JSON, {where}", is_fatal=False))
        return None

    def read(self, record: Record) -> None:
        raise NotImplementedError

    def unknown(self, payload: Any) -> None:
        """Keep what nobody knows."""
        self.tell(Unknown(self.backend, payload))

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        """The turn is over; said once."""
        if not self.is_completed:
            self.is_completed = True
            self.tell(TurnCompleted(stop_reason, final_message))

    def settle(self) -> None:
        self.writer.settle()

    def finish(self) -> None:
        """Close what is open. A backend that has an end marker says `truncated` where it is missing."""
        self.writer.stop()
        self.complete()


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
