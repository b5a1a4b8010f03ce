"""The framing of the default pipeline: bytes of any known shape in, payloads out."""

import re

from penstock.operators.frame_error import DEFAULT_LIMIT_BYTES, FrameError
from penstock.operators.frame_json import ValueSplitter
from penstock.operators.frame_records import FIELD, FrameRecords
from penstock.operators.stage import Operator

__all__ = ["frame"]

_LINE_END = re.compile(rb"[\r\n]")
_LINE_START = re.compile(rb"(?:\xef\xbb\xbf)*")
_ARRAY_OF_RECORDS = re.compile(rb"[ \t]{0,64}+\[[ \t\r\n]{0,1024}+(\{|\Z)")
_LONG_LINE = 2048  # longer than the beginning of an array can be
_UNFINISHED = (b"{", b"[", b",")  # how the first line of a record ends that is printed over several


class Frame(FrameRecords):
    """Undecided at first, and again after each JSON document; a line that says more makes it `FrameRecords`."""

    def __init__(self, max_payload_bytes: int) -> None:
        super().__init__(max_payload_bytes)
        self._is_decided = False
        self._undecided = bytearray()
        self._values = ValueSplitter(max_payload_bytes)

    def finish(self) -> None:
        if self._undecided:
            self._decide(self._take_undecided() + b"\n")
            rest = self._take_undecided().strip()
            if rest:
                self.emit(rest)
        self._values.finish(self.emit)
        if self._is_decided:
            super().finish()

    def _feed_with_care(self, chunk: bytes) -> None:
        if self._is_decided:
            super()._feed_with_care(chunk)
        elif self._values.is_open:
            self._decide(chunk)
        else:
            # Only the end of the line can decide about a long one; looking at each chunk would cost its square.
            is_short = len(self._undecided) < _LONG_LINE
            self._undecided += chunk
            if is_short or len(self._undecided) > self._limit or _LINE_END.search(chunk):
                self._decide(self._take_undecided())

    def _take_undecided(self) -> bytes:
        undecided = bytes(self._undecided)
        self._undecided.clear()
        return undecided

    def _decide(self, buffer: bytes) -> None:
        """Go through `buffer` line by line, until one of them says what this is."""
        position = 0
        while position < len(buffer):
            if self._values.is_open:
                position = self._values.scan(buffer, position, self.emit)
                continue
            position = _LINE_START.match(buffer, position).end()  # type: ignore[union-attr]  # it always matches
            array = _ARRAY_OF_RECORDS.match(buffer, position)
            if array and array[1]:
                position = self._values.scan(buffer, position, self.emit)
                continue
            end = _LINE_END.search(buffer, position)
            if array or end is None or end.start() - position > self._limit:
                break
            line = buffer[position : end.start()]
            content = line.strip()
            if content.startswith(b"{") and content.endswith(_UNFINISHED):
                position = self._values.scan(buffer, position, self.emit)
                continue
            if content.startswith(b"{") or FIELD.match(line):
                self._be_decided(buffer[position:], is_sse=not content.startswith(b"{"))
                return
            if content:
                self.emit(line)
            position = end.end()
        if len(buffer) - position > self._limit:
            self._be_decided(buffer[position:], is_sse=False)
        else:
            self._undecided += buffer[position:]

    def _be_decided(self, rest: bytes, is_sse: bool) -> None:
        self._is_decided = True
        self.begin(is_sse)
        self.feed(rest)


def frame(max_payload_bytes: int = DEFAULT_LIMIT_BYTES) -> Operator[bytes | str, bytes | FrameError]:
    """Cut a stream of records into payloads (bytes, undecoded), whichever way it is framed.

    The first line that can decides: a field or a comment of an event stream makes it server-sent events, of which
    the data is the payload; `{…}` makes it JSON lines; `[` before a `{` a JSON array, of which each element is a
    payload; `{` on a line that breaks off there a record printed over several lines, after which it is decided
    anew. Lines before that are log noise and pass as payloads: the reader reports what is not JSON. A `{…}` line
    amid events, and data lines amid JSON lines, are payloads too. `data: [DONE]` is the payload `[DONE]`; empty
    data and blank lines are nothing. Text is encoded first. Byte order marks are dropped.

    A payload over `max_payload_bytes` is dropped while it arrives, and a `FrameError` stands in its place.

    On completion and on error, what no end of line or blank line ended is delivered as it is: whole, because
    servers do leave the last end out, or torn, which its reader reports. Linear; holds at most one payload.
    """
    return Operator("frame", lambda: Frame(max_payload_bytes))
