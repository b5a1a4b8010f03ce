"""Bytes to text, with characters that were split across chunks put together again."""

from codecs import utf_8_decode

from penstock.operators.stage import Operator, Stage

__all__ = ["decode_utf8"]


class DecodeUtf8(Stage[bytes, str]):
    def __init__(self) -> None:
        self._tail = b""
        self._has_begun = False

    def feed(self, item: bytes) -> None:
        self._decode(self._tail + item if self._tail else item, is_end=False)

    def finish(self) -> None:
        self._decode(self._tail, is_end=True)

    def _decode(self, octets: bytes, is_end: bool) -> None:
        text, consumed = utf_8_decode(octets, "replace", is_end)
        self._tail = octets[consumed:]
        if text and not self._has_begun:
            self._has_begun = True
            text = text.removeprefix("\ufeff")
        if text:
            self.emit(text)


def decode_utf8() -> Operator[bytes, str]:
    """Decode UTF-8 incrementally; whatever the chunks, the text is that of the whole.

    Malformed bytes become U+FFFD by the maximal-subpart rule, as the WHATWG decoder does it: one for each longest
    beginning of a character that can no longer become one. A byte order mark is dropped, once, at the start.

    At most three bytes are held back. On completion and on error, an unfinished character becomes one U+FFFD.
    Linear; an empty text is never emitted.
    """
    return Operator("decode_utf8", DecodeUtf8)
