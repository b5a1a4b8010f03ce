"""JSON lines: one payload a line, in bounded memory."""

from penstock.operators.frame_error import DEFAULT_LIMIT_BYTES, FrameError, too_large
from penstock.operators.line_splitter import BYTE_ORDER_MARK, LineSplitter, as_bytes
from penstock.operators.stage import Operator, Stage

__all__ = ["frame_lines"]


class FrameLines(Stage[bytes | str, bytes | FrameError]):
    def __init__(self, max_line_bytes: int) -> None:
        self._limit = max_line_bytes
        self._splitter = LineSplitter(max_line_bytes)
        self._has_begun = False

    def feed(self, item: bytes | str) -> None:
        lines = self._splitter.split(item if type(item) is bytes else as_bytes(item))
        if lines:
            self._deliver(lines)

    def finish(self) -> None:
        last = self._splitter.rest()
        if last:
            self._deliver([last])

    def _deliver(self, lines: list[bytes]) -> None:
        if not self._has_begun:
            self._has_begun = True
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        emit = self.emit
        limit = self._limit
        lost = self._splitter.lost_bytes
        for line in lines:
            if len(line) + lost > limit:
                emit(too_large("a line", len(line) + lost, limit))
            elif line and not line.isspace():
                emit(line)
            lost = 0


def frame_lines(max_line_bytes: int = DEFAULT_LIMIT_BYTES) -> Operator[bytes | str, bytes | FrameError]:
    """Cut at LF, take one CR before it away, skip blank lines; text is encoded first.

    Only LF ends a line: U+2028, U+0085 and a CR within it stay. A line over `max_line_bytes` (its end not counted)
    is dropped, not buffered, and a `FrameError` stands in its place. A byte order mark at the start is dropped.

    On completion and on error, a last line without its LF is delivered, whole or torn: its reader can tell.
    Linear; holds at most one line.
    """
    return Operator("frame_lines", lambda: FrameLines(max_line_bytes))
