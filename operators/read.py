"""Framing and normalizing as one stage, with a short way for what repeats."""

import re
import string
from collections.abc import Callable, Iterator
from itertools import takewhile

import orjson

from penstock.backends.auto import AutoReader
from penstock.backends.reader import Backend, Payload, Reader
from penstock.backends.registry import backend_named
from penstock.events import Event
from penstock.operators.frame import Frame
from penstock.operators.frame_error import DEFAULT_LIMIT_BYTES
from penstock.operators.stage import Operator, Stage

__all__ = ["Read", "read"]

_MAX_MISSES = 32
_MAX_HELD_BYTES = 256 * 1024
# Enough of the bytes before a piece to be rare elsewhere, and few enough to be found quickly.
_KEY_LENGTH = 10
_MANY_BYTES = 4096
# As numbers: looking for bytes in bytes costs an exception inside CPython, looking for one byte does not.
_BACKSLASH = ord("\\")
_CARRIAGE_RETURN = ord("\r")
_LINE_FEED = ord("\n")
# What servers fill their records up with, to any length, against eavesdroppers: Anthropic with spaces before the
# last brace, OpenAI with letters in a field of their own. Before it, after it, and what it is made of.
_FILLERS = (
    (re.compile(rb"(.*\}) +(\}\n+)"), b" "),
    (re.compile(rb'(.*"obfuscation":")\w*("[^"].*)', re.DOTALL), (string.ascii_letters + string.digits).encode()),
)


class Read(Stage[bytes | str, Event]):
    """`frame` and a reader in one, and equal to them; nearly all of a long answer takes the short way.

    Streams repeat themselves: from one chunk of text to the next, the same bytes stand before the piece of text
    and the same bytes after it. Where a reader says so (`Reader.repeats`), what follows is compared with those
    bytes and only the pieces between them are decoded, a whole read at a time. Bytes that differ go the plain way,
    where the next repetition is looked for; a stream that does not repeat gives the short way up for good.

    Completion and error: what is held is framed and read like everything else. Linear; holds at most one record,
    and no more of it than `_MAX_HELD_BYTES` outside the framing.
    """

    __slots__ = (
        "_after", "_around", "_before", "_between", "_filler", "_frame", "_head", "_held", "_is_between_records",
        "_is_open", "_key", "_misses", "_payload", "_quote", "_repeated", "_write", "reader",
    )  # fmt: skip

    def __init__(self, reader: Reader, max_payload_bytes: int, merges: bool = True) -> None:
        self.reader = reader
        self._frame = Frame(max_payload_bytes)
        self._frame.emit = self._take if merges else self._take_alone
        self._payload: Payload = b""
        self._is_open = merges
        self._is_between_records = False
        self._held = b""
        self._misses = 0
        self._before = b""
        self._after = b""
        self._quote = self._key = self._head = self._between = b""
        self._filler = b""
        self._repeated = self._repeated_exactly
        self._write: Callable[[str], object] | None = None

    def start(self) -> None:
        self.reader.emit = self.emit
        self.reader.start()

    def feed(self, item: bytes | str) -> None:
        if not self._is_open or type(item) is not bytes or _CARRIAGE_RETURN in item:
            self._close_short_way()
            self._frame.feed(item)
            self.reader.settle()
            return
        rest = self._held + item if self._held else item
        self._held = b""
        rest = self._go_short_way(rest)
        if rest:
            while rest:
                rest = self._go_plain_way(rest)
                if rest:
                    rest = self._go_short_way(rest)
            self.reader.settle()

    def feed_all(self, reads: list[bytes]) -> None:
        """The same as `feed` with the reads joined, cheaper where each is one record that repeats the last one."""
        write = self._write
        if write is not None and not self._held and not self._quote:
            before, after = self._before, self._after
            text = b"".join([read.removeprefix(before).removesuffix(after) for read in reads])
            # As short as it must be, if every read had both.
            is_all = len(text) == sum(map(len, reads)) - self._around * len(reads)
            if is_all and _BACKSLASH not in text and self._decode(b'"%b"' % text, write):
                return
        self.feed(b"".join(reads))

    def _go_short_way(self, chunk: bytes) -> bytes:
        """Read the records at the beginning of `chunk` that repeat the last one; gives back what is left."""
        if self._write is None:
            return chunk
        text, position = self._repeated(chunk)
        if position and not self._decode(text, self._write):
            position = 0
        if position == len(chunk):
            return b""
        if chunk.find(self._frame.record_end, position) < 0:
            return self._hold(chunk[position:])
        return chunk[position:]

    def _repeated_exactly(self, chunk: bytes) -> tuple[bytes, int]:
        """The text of the records at the beginning of `chunk` that repeat the last one, and where they end.

        The text is the pieces as one JSON string. What only looks like a repetition has a quote in its piece, and
        is no JSON string.
        """
        key, after, between = self._key, self._after, self._between
        parts = chunk.split(key)
        if len(parts) == 1 or parts[0] != self._head:
            return b"", 0
        last = parts.pop()
        length = len(between)
        pieces = [part[:-length] for part in parts if part[-length:] == between]
        if len(pieces) < len(parts) - 1:
            pieces = [part[:-length] for part in takewhile(lambda part: part.endswith(between), parts[1:])]
            position = len(pieces) * (length + len(key)) + sum(map(len, pieces))
        else:
            position = len(chunk) - len(last)
            end = last.find(after)
            if end >= 0:
                pieces.append(last[:end])
                position += end + len(after)
            else:
                position -= len(key) + len(self._head)
        text = b'"%b"' % b"".join(pieces)
        if _BACKSLASH in text and any(_escapes_what_follows(piece) for piece in pieces if piece[-1:] == b"\\"):
            return b"", 0
        return text, position

    def _repeated_but_for_filler(self, chunk: bytes) -> tuple[bytes, int]:
        """The same, where the server fills its records up to any length."""
        before, quote, after, filler = self._before, self._quote, self._after, self._filler
        lead, tail = len(before), len(after)
        unended = tail - len(self._frame.record_end)
        position = 0
        found: list[bytes] = []
        while chunk[position : position + lead] == before:
            begin = position + lead
            end = chunk.find(_LINE_FEED, begin) - unended
            if end < begin or chunk[end : end + tail] != after:
                break
            quoted = chunk[begin:end].rstrip(filler)
            piece = quoted.removesuffix(quote)
            if len(piece) == len(quoted) or (piece[-1:] == b"\\" and _escapes_what_follows(piece)):
                break
            found.append(piece)
            position = end + tail
        return b'"%b"' % b"".join(found), position

    def _hold(self, rest: bytes) -> bytes:
        """Keep the beginning of a record here, where the short way can find it, unless it is too long for that."""
        if len(rest) > _MAX_HELD_BYTES:
            self._close_short_way()
            return rest
        self._held = rest
        return b""

    def _decode(self, text: bytes, write: Callable[[str], object]) -> bool:
        # An escaped surrogate may be half a character, with the other half in the next piece: not for this way.
        if _BACKSLASH in text and b"\\u" in text:
            return False
        try:
            piece = orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        self._misses = 0
        write(piece)
        return True

    def _go_plain_way(self, chunk: bytes) -> bytes:
        """Frame and read some whole records at the beginning of `chunk`, and look whether the last will repeat."""
        if not self._is_open:
            self._frame.feed(chunk)
            return b""
        record_end = self._frame.record_end
        end = chunk.find(record_end, _MANY_BYTES) if record_end else -1
        if end < 0 and record_end:
            end = chunk.rfind(record_end)
        if end < 0:
            if self._is_between_records:
                return self._hold(chunk)
            self._frame.feed(chunk)
            return b""
        end += len(record_end)
        self._payload = b""
        self._write = None
        self._frame.feed(chunk[:end])
        if self._is_between_records:
            self._learn(chunk[:end], record_end)
        self._is_between_records = True
        return chunk[end:]

    def _take(self, payload: Payload) -> None:
        self._payload = payload
        self.reader.feed(payload)

    def _take_alone(self, payload: Payload) -> None:
        self.reader.feed(payload)
        self.reader.settle()

    def _learn(self, whole: bytes, record_end: bytes) -> None:
        """See whether the last record in `whole` is one that the next may repeat."""
        self._misses += 1
        payload = self._payload
        if self._misses > _MAX_MISSES:
            self._close_short_way()
        elif payload and type(payload) is bytes and whole.endswith(payload + record_end):
            repeats = self.reader.repeats(payload)
            if repeats is not None:
                begin, end, self._write = repeats
                record = whole[: -len(record_end)].rpartition(record_end)[2] + record_end
                self._before = record[: begin - len(payload) - len(record_end)]
                self._after = record[end - len(payload) - len(record_end) :]
                self._repeated = self._repeated_exactly
                self._quote = b""
                for filled, filler in _FILLERS:
                    found = filled.fullmatch(self._after)
                    if found:
                        self._quote, self._after = found.groups()
                        self._filler = filler
                        self._repeated = self._repeated_but_for_filler
                self._key = self._before[-_KEY_LENGTH:]
                self._head = self._before[:-_KEY_LENGTH]
                self._around = len(self._before) + len(self._after)
                self._between = self._after + self._head

    def _close_short_way(self) -> None:
        if self._is_open:
            self._is_open = False
            self._write = None
            self._frame.emit = self.reader.feed
            if self._held:
                self._frame.feed(self._held)
                self._held = b""

    def finish(self) -> None:
        self._close_short_way()
        self._frame.finish()
        self.reader.finish()


def _escapes_what_follows(piece: bytes) -> bool:
    """Whether the quote after `piece` is part of it."""
    return (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1


def read(
    backend: str | Backend = "auto",
    message_ids: Iterator[str] | None = None,
    *,
    max_payload_bytes: int = DEFAULT_LIMIT_BYTES,
    merges: bool = True,
    on_chosen: Callable[[str], object] | None = None,
) -> Operator[bytes | str, Event]:
    """Raw chunks of a backend to events: `frame() | normalize(backend)`, at a fraction of the cost.

    Deltas of one chunk leave as one, unless `merges` is off: then each record's leave alone, as `to_deltas` needs
    them for a source that sends the whole text so far each time.
    """
    if backend == "auto":
        return Operator("read(auto)", lambda: Read(AutoReader(message_ids, on_chosen), max_payload_bytes, merges))
    card = backend if isinstance(backend, Backend) else backend_named(backend)
    return Operator(f"read({card.name})", lambda: Read(card.reader(message_ids), max_payload_bytes, merges))
