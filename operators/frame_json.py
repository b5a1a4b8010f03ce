"""JSON values out of a stream of them: the elements of an array while it grows, or one value after another."""

import re
from collections.abc import Callable

from penstock.operators.frame_error import DEFAULT_LIMIT_BYTES, FrameError, too_large
from penstock.operators.line_splitter import BYTE_ORDER_MARK, as_bytes
from penstock.operators.stage import Operator, Stage

__all__ = ["ValueSplitter", "frame_json"]

_BETWEEN_VALUES = re.compile(rb"[ \t\r\n,]*")
_BARE_WORD = re.compile(rb'[^ \t\r\n,"\[\]{}]*')
_UP_TO_A_BRACKET = re.compile(rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_REST_OF_A_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)

_QUOTE, _BACKSLASH = b'"\\'
_OPENING_BRACKET, _CLOSING_BRACKET = b"[]"
_OPENING = b"[{"
_NESTING = b'[{"'


class ValueSplitter:
    """Finds where values end by their brackets and strings, without parsing them; broken ones pass as they are.

    A document is a value, or an array whose elements are the values.
    """

    def __init__(self, max_value_bytes: int) -> None:
        self._is_in_value = False
        self._is_in_array = False
        self._limit = max_value_bytes
        self._held = bytearray()
        self._lost = 0
        self._is_bare = False
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False

    @property
    def is_open(self) -> bool:
        """Whether a document is under way."""
        return self._is_in_array or self._is_in_value

    def scan(self, buffer: bytes, position: int, emit: Callable[[bytes | FrameError], object]) -> int:
        """Emit what `buffer` completes, from `position` to the end of the document or of the buffer; say where."""
        while position < len(buffer):
            start = position
            if not self._is_in_value:
                start = position = _end(_BETWEEN_VALUES, buffer, position)
                if position == len(buffer):
                    break
                byte = buffer[position]
                if byte == _CLOSING_BRACKET and self._is_in_array:
                    self._is_in_array = False
                    return position + 1
                if byte == _OPENING_BRACKET and not self._is_in_array:
                    self._is_in_array = True
                    position += 1
                    continue
                self._is_in_value = True
                self._is_bare = byte not in _NESTING
            position = self._end_of_bare(buffer, start) if self._is_bare else self._end_of_nested(buffer, start)
            if position < 0:
                self._hold(buffer[start:])
                break
            self._deliver(buffer[start:position], emit)
            if not self._is_in_array:
                return position
        return len(buffer)

    def finish(self, emit: Callable[[bytes | FrameError], object]) -> None:
        """Emit the last value, where the input ended before it did (a number has no other end)."""
        if self._is_in_value:
            self._deliver(b"", emit)

    def _end_of_bare(self, buffer: bytes, position: int) -> int:
        end = _end(_BARE_WORD, buffer, position)
        if end == len(buffer):
            return -1
        # A closing bracket that closes nothing is a broken value of its own.
        return end + 1 if end == position and not self._held else end

    def _end_of_nested(self, buffer: bytes, position: int) -> int:
        if not self._depth and not self._is_in_string and buffer[position] == _QUOTE:
            self._is_in_string = True  # the value itself is a string
            position += 1
        while position < len(buffer):
            if self._is_in_string:
                if self._is_escaped:
                    self._is_escaped = False
                    position += 1
                position = _end(_REST_OF_A_STRING, buffer, position)
                if position == len(buffer):
                    break
                if buffer[position] == _BACKSLASH:
                    self._is_escaped = True
                    break
                self._is_in_string = False
                position += 1
            else:
                position = _end(_UP_TO_A_BRACKET, buffer, position)
                if position == len(buffer):
                    break
                byte = buffer[position]
                position += 1
                if byte == _QUOTE:
                    self._is_in_string = True
                    continue
                self._depth += 1 if byte in _OPENING else -1
            if self._depth == 0:
                return position
        return -1

    def _hold(self, piece: bytes) -> None:
        self._held += piece
        if len(self._held) > self._limit:
            self._lost += len(self._held) - 1
            del self._held[1:]

    def _deliver(self, end: bytes, emit: Callable[[bytes | FrameError], object]) -> None:
        size = self._lost + len(self._held) + len(end)
        value = b"".join((self._held, end)) if self._held else end
        self._held.clear()
        self._lost = 0
        self._depth = 0
        self._is_in_value = self._is_in_string = self._is_escaped = False
        emit(value if size <= self._limit else too_large("a JSON value", size, self._limit))


def _end(pattern: re.Pattern[bytes], buffer: bytes, position: int) -> int:
    match = pattern.match(buffer, position)
    assert match is not None, "these patterns match the empty string"
    return match.end()


class FrameJson(Stage[bytes | str, bytes | FrameError]):
    def __init__(self, max_value_bytes: int) -> None:
        self._values = ValueSplitter(max_value_bytes)
        self._beginning: bytes | None = b""

    def feed(self, item: bytes | str) -> None:
        chunk = item if type(item) is bytes else as_bytes(item)
        if self._beginning is not None:
            chunk = self._beginning + chunk
            if BYTE_ORDER_MARK.startswith(chunk):
                self._beginning = chunk
                return
            chunk = chunk.removeprefix(BYTE_ORDER_MARK)
            self._beginning = None
        position = 0
        while position < len(chunk):
            position = self._values.scan(chunk, position, self.emit)

    def finish(self) -> None:
        if self._beginning and self._beginning != BYTE_ORDER_MARK:
            self.emit(self._beginning)
        self._values.finish(self.emit)


def frame_json(max_value_bytes: int = DEFAULT_LIMIT_BYTES) -> Operator[bytes | str, bytes | FrameError]:
    """One payload for each element of a top-level array, or for each of several values in a row.

    For streams that are one JSON array from first to last (the Gemini API without `alt=sse`, recordings) and for
    values printed over many lines. An element leaves as soon as its last byte is here, exactly as it was written.
    White space and commas between values are skipped; text is encoded first; a byte order mark is dropped.

    What is no JSON passes as it is, for the reader to report. A value over `max_value_bytes` is dropped, not
    buffered, and a `FrameError` stands in its place. On completion and on error, a value torn by the end is
    delivered as it is. Linear: the cost is one regular-expression match a bracket, none a byte.
    """
    return Operator("frame_json", lambda: FrameJson(max_value_bytes))
