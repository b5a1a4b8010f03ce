"""Framing and normalizing as one stage, with a short way for what repeats."""

from collections.abc import Callable, Iterator

import orjson

from penstock.backends.auto import AutoReader
from penstock.backends.reader import Backend, Payload, Reader
from penstock.backends.registry import backend_named
from penstock.events import Event
from penstock.operators.frame import DEFAULT_LIMIT_BYTES, Frame
from penstock.operators.stage import Operator, Stage

__all__ = ["Read", "read"]

_MAX_MISSES = 32
_MAX_HELD_BYTES = 256 * 1024
_BACKSLASH = 92


class Read(Stage[bytes | str, Event]):
    """`frame` and a reader in one, and equal to them; nearly all of a long answer takes the short way.

    Streams repeat themselves: from one chunk of text to the next, the same bytes stand before the piece of text and
    the same bytes after it. Where a reader says so (`Reader.repeats`), what follows is compared with those bytes and
    only the pieces between them are decoded, a whole read at a time. The first bytes that differ go the plain
    way again, and a stream that never repeats gives the short way up for good.

    Completion and error: what is held is framed and read like everything else. Linear; holds at most one event, and no
    more of it than `_MAX_HELD_BYTES` outside the framing.
    """

    def __init__(self, reader: Reader, max_payload_bytes: int) -> None:
        self.reader = reader
        self._frame = Frame(max_payload_bytes)
        self._frame.emit = self._take
        self._payload: object = None
        self._held = b""
        self._misses = 0
        self._is_short_way_open = True
        self._before = b""
        self._after = b""
        self._write: Callable[[str], object] | None = None

    def start(self) -> None:
        self.reader.emit = self.emit

    def feed(self, item: bytes | str) -> None:
        if not self._is_short_way_open or type(item) is not bytes:
            self._give_up_short_way()
            self._frame.feed(item)
            return
        chunk = self._held + item if self._held else item
        write = self._write
        if write is not None:
            before, after = self._before, self._after
            length = len(before)
            startswith, find = chunk.startswith, chunk.find
            position = 0
            pieces: list[bytes] = []
            while startswith(before, position):
                begin = position + length
                end = find(after, begin)
                if end < 0 or chunk[end - 1] == _BACKSLASH:
                    break
                pieces.append(chunk[begin:end])
                position = end + len(after)
            if pieces and self._decode(b"".join(pieces), write):
                self._misses = 0
                chunk = chunk[position:]
        self._plain_way(chunk)

    def _decode(self, pieces: bytes, write: Callable[[str], object]) -> bool:
        # An escaped surrogate may be half a character whose other half is in the next piece: not for this way.
        if b"\\u" in pieces:
            return False
        try:
            write(orjson.loads(b'"%b"' % pieces))
        except orjson.JSONDecodeError:
            return False
        return True

    def _plain_way(self, chunk: bytes) -> None:
        """Frame and read the whole events in `chunk`; the rest waits here, where the short way can find it."""
        end = chunk.rfind(self._frame.record_end) + len(self._frame.record_end)
        if end < len(self._frame.record_end):
            self._held = chunk
            if len(chunk) > _MAX_HELD_BYTES:
                self._give_up_short_way()
            return
        self._held = chunk[end:]
        self._payload = self._write = None
        self._frame.feed(chunk[:end] if self._held else chunk)
        self._learn()

    def _take(self, payload: Payload) -> None:
        self._payload = payload
        self.reader.feed(payload)

    def _learn(self) -> None:
        payload = self._payload
        if type(payload) is not bytes:
            return
        self._misses += 1
        if self._misses > _MAX_MISSES:
            self._give_up_short_way()
            return
        repeats = self.reader.repeats(payload)
        if repeats is not None:
            begin, end, self._write = repeats
            self._before = self._frame.record_start(payload) + payload[:begin]
            self._after = payload[end:] + self._frame.record_end

    def _give_up_short_way(self) -> None:
        if self._is_short_way_open:
            self._is_short_way_open = False
            self._frame.emit = self.reader.feed
            self._write = None
        if self._held:
            held, self._held = self._held, b""
            self._frame.feed(held)

    def settle(self) -> None:
        self.reader.settle()

    def finish(self) -> None:
        self._give_up_short_way()
        self._frame.finish()
        self.reader.finish()


def read(
    backend: str | Backend = "auto",
    message_ids: Iterator[str] | None = None,
    *,
    max_payload_bytes: int = DEFAULT_LIMIT_BYTES,
    on_chosen: Callable[[str], object] | None = None,
) -> Operator[bytes | str, Event]:
    """Raw chunks of a backend to events: `frame() | normalize(backend)`, and faster."""

    def reader() -> Reader:
        if isinstance(backend, Backend):
            return backend.reader(message_ids)
        if backend == "auto":
            return AutoReader(message_ids, on_chosen)
        return backend_named(backend).reader(message_ids)

    name = backend.name if isinstance(backend, Backend) else backend
    return Operator(f"read({name})", lambda: Read(reader(), max_payload_bytes))
