"""Plain text: the bytes are the message. For programs and servers that print the answer and nothing else.

Text has no end marker, so the end of the input is the end of the message, and no text at all is no message: neither
is an error.
"""

import codecs
from collections.abc import Iterator

from penstock.backends.reader import Backend, Payload, Reader

__all__ = ["BACKEND", "TextReader"]


class TextReader(Reader):
    """Pieces of text, or of its UTF-8 bytes cut anywhere, to one message; malformed bytes become U+FFFD."""

    backend = "text"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, item: Payload) -> None:
        if type(item) is bytes:
            self.writer.text(self._decode(item))
        elif type(item) is str:
            self.writer.text(item)
        else:
            super().feed(item)

    def read(self, record: dict[str, object]) -> None:
        self.unknown(record)

    def finish(self) -> None:
        if not self.is_completed:
            self.writer.text(self._decode(b"", final=True))
            self.writer.stop("end")
            self.complete("end")


BACKEND = Backend(
    name="text",
    summary="plain text: whatever is printed is the message",
    recognized_by="never by itself: any input could be text, so it has to be asked for",
    recognize=lambda record: False,
    reader=TextReader,
    framing="text",
)
