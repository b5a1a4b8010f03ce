"""Bytes to lines, however they are cut, in bounded memory: what the framings by lines have in common."""

__all__ = ["BYTE_ORDER_MARK", "LineEnds", "LineSplitter", "as_bytes"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_KEPT_OF_A_LOST_LINE = 16  # enough to see what kind of line it was


def as_bytes(item: bytes | str) -> bytes:
    """The item as bytes. A lone surrogate passes as the bytes it would be: the decoder makes it U+FFFD."""
    return item.encode("utf-8", "surrogatepass") if isinstance(item, str) else bytes(item)


class LineEnds:
    """Makes CR and CRLF, cut anywhere, the one LF they stand for in an event stream; nothing is held back."""

    __slots__ = ("is_after_cr",)

    def __init__(self) -> None:
        self.is_after_cr = False

    def unify(self, chunk: bytes) -> bytes:
        if self.is_after_cr and chunk:
            self.is_after_cr = False
            chunk = chunk.removeprefix(b"\n")  # its CR has ended the line already
        if b"\r" not in chunk:
            return chunk
        self.is_after_cr = chunk.endswith(b"\r")
        # For bytes, unlike str, these three are all that `splitlines` knows; twice as fast as replacing.
        unified = b"\n".join(chunk.splitlines())
        return unified + b"\n" if chunk.endswith((b"\r", b"\n")) else unified


class LineSplitter:
    """Cuts at LF and takes one CR before it away; nothing else ends a line, not even U+2028.

    A line that grows past `max_line_bytes` before its end is seen is let go except for its beginning, and counted
    in `lost_bytes`. Linear in the bytes, whatever the cuts.
    """

    __slots__ = ("_held", "_limit", "_lost", "lost_bytes")

    def __init__(self, max_line_bytes: int) -> None:
        self.lost_bytes = 0
        """How much is missing of the first of the lines last returned; 0 for nearly all."""
        self._limit = max_line_bytes + 1  # room for the CR of a CRLF whose LF is still to come
        self._held = bytearray()
        self._lost = 0

    def split(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without their ends."""
        lines = chunk.split(b"\n")
        tail = lines.pop()
        if lines:
            if self._held:
                lines[0] = self._take(lines[0])
            else:
                self.lost_bytes = 0
            if lines[0].endswith(b"\r") or b"\r" in chunk:
                lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if tail:
            self._hold(tail)
        return lines

    def rest(self) -> bytes:
        """The last line, where the input ended without ending it; empty where there is none."""
        return self._take(b"")

    def give_back(self, max_bytes: int) -> bytes | None:
        """The beginning of a line that is held, if it is short, whole and does not end in CR; else None."""
        if len(self._held) > max_bytes or self._lost or self._held.endswith(b"\r"):
            return None
        return self._take(b"")

    def _take(self, end: bytes) -> bytes:
        line = b"".join((self._held, end))
        self.lost_bytes = self._lost
        self._lost = 0
        self._held.clear()
        return line

    def _hold(self, more: bytes) -> None:
        held = self._held
        held += more
        if len(held) > self._limit and len(held) > _KEPT_OF_A_LOST_LINE:
            size = len(held)
            # A CR at the end may belong to the end of the line; nothing else may look as if it did.
            last = b"\r" if held.endswith(b"\r") else b"?"
            del held[_KEPT_OF_A_LOST_LINE:]
            held += last
            self._lost += size - len(held)
