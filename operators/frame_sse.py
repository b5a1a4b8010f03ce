"""Server-sent events, by the WHATWG rules for event streams."""

from typing import Literal

from msgspec import Struct

from penstock.errors import UsageError
from penstock.operators.frame_error import DEFAULT_LIMIT_BYTES, FrameError, too_large
from penstock.operators.line_splitter import BYTE_ORDER_MARK, LineEnds, LineSplitter, as_bytes
from penstock.operators.stage import Operator, Stage

__all__ = ["OnTruncated", "ServerSentEvent", "frame_sse"]

OnTruncated = Literal["deliver", "error", "discard"]

_RETRY_DIGITS = 15  # milliseconds beyond the age of the universe are not meant


class ServerSentEvent(Struct, frozen=True, gc=False):
    """One event. `id` and `retry_ms` are the stream's latest at this point, not only what came with the event."""

    event: str = "message"
    data: str = ""
    id: str = ""
    retry_ms: int | None = None


class FrameSse(Stage[bytes | str, ServerSentEvent | FrameError]):
    def __init__(self, max_event_bytes: int, on_truncated: OnTruncated) -> None:
        self._limit = max_event_bytes
        self._on_truncated = on_truncated
        self._ends = LineEnds()
        self._splitter = LineSplitter(max_event_bytes)
        self._has_begun = False
        self._data: list[bytes] = []
        self._event = b""
        self._size = 0
        self._id = ""
        self._retry_ms: int | None = None

    def feed(self, item: bytes | str) -> None:
        lines = self._splitter.split(self._ends.unify(item if type(item) is bytes else as_bytes(item)))
        if lines:
            self._read(lines)

    def finish(self) -> None:
        last = self._splitter.rest()
        if last:
            self._read([last])
        if self._size > self._limit or self._on_truncated == "deliver":
            self._dispatch()
        elif self._on_truncated == "error" and (self._data or (last and not last.startswith(b":"))):
            size = max(self._size, len(last))
            self.emit(FrameError("truncated", f"the input ended inside an event, after {size} bytes of it", size))

    def _read(self, lines: list[bytes]) -> None:
        if not self._has_begun:
            self._has_begun = True
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        lost = self._splitter.lost_bytes
        for line in lines:
            if not line:
                self._dispatch()
                continue
            field, _, value = line.partition(b":")
            if field in _FIELDS:
                self._size += len(line) + lost
                if self._size > self._limit:
                    self._data.clear()
                else:
                    self._set(field, value.removeprefix(b" "))
            lost = 0

    def _set(self, field: bytes, value: bytes) -> None:
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._event = value
        elif field == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif value.isdigit() and len(value) <= _RETRY_DIGITS:
            self._retry_ms = int(value)

    def _dispatch(self) -> None:
        if self._size > self._limit:
            self.emit(too_large("an event", self._size, self._limit))
        elif self._data:
            data = b"\n".join(self._data).decode("utf-8", "replace")
            event = self._event.decode("utf-8", "replace") or "message"
            self.emit(ServerSentEvent(event, data, self._id, self._retry_ms))
        self._data.clear()
        self._event = b""
        self._size = 0


_FIELDS = frozenset((b"data", b"event", b"id", b"retry"))


def frame_sse(
    max_event_bytes: int = DEFAULT_LIMIT_BYTES, on_truncated: OnTruncated = "deliver"
) -> Operator[bytes | str, ServerSentEvent | FrameError]:
    """Parse an event stream; text is encoded first.

    CR, LF and CRLF end a line, cut anywhere, and nothing else does. Comments and unknown fields are skipped;
    several `data` lines join with LF; an id with NUL, a retry that is not all digits are ignored; a byte order mark
    at the start is dropped; an event without `data` is not dispatched (its id still counts).

    An event whose field lines together exceed `max_event_bytes` is dropped while it arrives, and a `FrameError`
    stands in its place.

    On completion and on error, `on_truncated` says what becomes of an event that no blank line ended:
    "deliver" it as it is, because model servers do forget the blank line and the last words must not be lost
    (a torn payload is for its reader to notice); "error", a `FrameError` in its place; "discard", as browsers do.
    Linear; holds at most one event.
    """
    if on_truncated not in ("deliver", "error", "discard"):
        raise UsageError(f"on_truncated is 'deliver', 'error' or 'discard', not {on_truncated!r}")
    return Operator("frame_sse", lambda: FrameSse(max_event_bytes, on_truncated))
