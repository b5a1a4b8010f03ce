"""Payloads out of lines: the data of server-sent events, JSON lines, and the mixtures of both that occur."""

import re

from penstock.operators.frame_error import FrameError, too_large
from penstock.operators.line_splitter import LineEnds, LineSplitter, as_bytes
from penstock.operators.stage import Stage

__all__ = ["FIELD", "FrameRecords"]

FIELD = re.compile(rb"(?:data|event|id|retry)?:")
"""How a line of an event stream begins, be it a comment."""

_BRACE = ord("{")
_SHORT = 4096  # up to here, adding to what is held by making it anew is cheaper than growing it in place


class FrameRecords(Stage[bytes | str, bytes | FrameError]):
    """Records by lines, once it is known which: the data of events, JSON lines, or both.

    With `is_sse`, lines end at CR too, and a line that is neither a field nor begins with `{` is nothing, as the
    rules for event streams have it; without, it is a payload.

    `feed` is the hot path of all that is framed, and written for what nearly always comes: reads without CR, far
    below the limit, events with one line of data. Other lines it leaves to `_read_line`, other reads to
    `_feed_with_care`. These two know all the rules; `feed` only has to be faster, not to know more.
    """

    def __init__(self, max_payload_bytes: int) -> None:
        self.record_end = b""
        """What ends a record, once it is known."""
        self._limit = max_payload_bytes
        self._fast_limit = -1  # the largest read that `feed` takes itself; negative where it must not
        # The beginning of a line is held here while it is short, else by the splitter.
        self._held = b""
        self._is_held_here = True
        # The event under way: None; or its only line of data; or empty, and these are its lines and their size.
        self._data: bytes | None = None
        self._several: list[bytes] = []
        self._size = 0

    def begin(self, is_sse: bool) -> None:
        """Now it is known which."""
        self._is_sse = is_sse
        self.record_end = b"\n\n" if is_sse else b"\n"
        self._ends = LineEnds()
        self._splitter = LineSplitter(self._limit + len(b"data: "))
        self._fast_limit = self._limit // 2  # so that what is held and a read together keep the limit

    def feed(self, item: bytes | str) -> None:
        if type(item) is not bytes or len(item) > self._fast_limit or b"\r" in item:
            self._feed_with_care(item if type(item) is bytes else as_bytes(item))
            return
        lines = item.split(b"\n")
        lines[0] = self._held + lines[0]
        self._held = lines.pop()
        if not lines:
            if len(self._held) > _SHORT or len(self._held) > self._fast_limit:
                self._is_held_here = False
                self._fast_limit = -1
            return
        emit = self.emit
        data = self._data
        self._data = None
        for line in lines:
            if not line:
                if data:
                    emit(data)
                elif data is not None:
                    self._data = data
                    self._end_event()
                data = None
            elif data is None and line[:6] == b"data: ":
                data = line[6:]
            elif data is None and line[0] == _BRACE:
                emit(line)
            elif line[:6] != b"event:":
                self._data = data
                self._read_line(line)
                data = self._data
        self._data = data

    def finish(self) -> None:
        last = self._splitter.rest() or self._held
        if last:
            self._read_line(last, self._splitter.lost_bytes)
        self._end_event()

    def _feed_with_care(self, chunk: bytes) -> None:
        fast_limit = self._limit // 2
        if self._is_sse:
            chunk = self._ends.unify(chunk)
        if self._is_held_here and len(chunk) <= fast_limit and b"\r" not in chunk:
            self._fast_limit = fast_limit
            self.feed(chunk)
        else:
            lines = self._splitter.split(self._held + chunk)
            lost = self._splitter.lost_bytes
            for line in lines:
                self._read_line(line, lost)
                lost = 0
            held = self._splitter.give_back(min(_SHORT, fast_limit))
            self._held = held or b""
            self._is_held_here = held is not None
        self._fast_limit = fast_limit if self._is_held_here and not self._ends.is_after_cr else -1

    def _read_line(self, line: bytes, lost: int = 0) -> None:
        if line.startswith(b"data:"):
            self._add_data(line[6:] if line.startswith(b"data: ") else line[5:], lost)
        elif not line or line[0] == _BRACE or not (self._is_sse or line.isspace() or FIELD.match(line)):
            self._end_event()
            if len(line) + lost > self._limit:
                self.emit(too_large("a line", len(line) + lost, self._limit))
            elif line:
                self.emit(line)

    def _add_data(self, value: bytes, lost: int) -> None:
        size = len(value) + lost
        if self._data is None:
            if size <= self._limit:
                self._data = value
                return
            self._size = size
        else:
            if not self._size:
                self._several.append(self._data)
                self._size = len(self._data)
            self._several.append(value)
            self._size += 1 + size
        self._data = b""
        if self._size > self._limit:
            self._several.clear()

    def _end_event(self) -> None:
        if self._size > self._limit:
            self.emit(too_large("an event", self._size, self._limit))
        elif self._size:
            self.emit(b"\n".join(self._several))
        elif self._data:
            self.emit(self._data)
        self._data = None
        self._several.clear()
        self._size = 0
