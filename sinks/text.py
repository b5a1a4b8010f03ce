"""The visible text, and nothing else: for pipes, files and everything that is not a terminal."""

import sys
from typing import TextIO

from penstock.growing import TextView
from penstock.sinks.sanitize import Sanitizer
from penstock.sinks.sink import Item, Sink
from penstock.updates import AssistantUpdate, Completed

__all__ = ["TextSink", "write_replacing"]


class TextSink(Sink):
    """Writes the assistant's text as it streams: no escape codes, no carriage returns, no status.

    What is written stays, so every round's text stands once, in order: where a later round (or a text that takes
    the place of an earlier one) begins, a blank line comes first, and the whole ends in one line feed. A final
    message that the end of the turn names, and that was not the last round's text, follows in the same way.

    Standard output unless a stream is given. A character that its encoding lacks is replaced, never an error. A
    reader that has gone away (`BrokenPipeError`) is for the caller to handle.
    """

    accepts = frozenset({AssistantUpdate, Completed})

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._sanitizer = Sanitizer()
        self._latest = TextView.of("")
        self._has_written = False
        self._line_feeds = 0
        """How many line feeds the written text ends in; more than two count as two."""

    def open(self, turn_id: str) -> "TextSink":
        return TextSink(self._stream or sys.stdout)

    def on_next(self, item: Item) -> None:
        if type(item) is AssistantUpdate:
            self._latest = item.accumulated
            self._show(item.chunk, item.is_new)
        elif type(item) is Completed and item.message.strip() != str(self._latest).strip():
            self._show(item.message, is_new=True)

    def _show(self, piece: str, is_new: bool) -> None:
        if is_new:
            self._sanitizer = Sanitizer()
            if self._has_written:
                self._write("\n" * (2 - self._line_feeds))
        self._write(self._sanitizer.feed(piece))

    def _write(self, text: str) -> None:
        if text:
            self._has_written = True
            line_feeds = len(text) - len(text.rstrip("\n"))
            self._line_feeds = min(2, line_feeds + (self._line_feeds if line_feeds == len(text) else 0))
            stream = self._stream or sys.stdout
            write_replacing(stream, text)
            stream.flush()

    def close(self) -> None:
        if self._has_written and not self._line_feeds:
            self._write("\n")


def write_replacing(stream: TextIO, text: str) -> None:
    """Write, with `?` for every character that the stream's encoding lacks."""
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        stream.write(text.encode(encoding, "replace").decode(encoding))
