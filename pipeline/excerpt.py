"""A long string of which only the ends are kept, and enough to know it again."""

from hashlib import blake2b

from penstock._json_tree import LiveText

__all__ = ["KEPT_CHARS", "Excerpt"]

KEPT_CHARS = 2000
_TAIL_CHARS = 400
_SLICE_CHARS = 64 * 1024


class Excerpt(LiveText):
    """A `LiveText` that keeps no more than its first 2,000 and last 400 characters, however long it grows.

    Until it is longer than that it has everything, and `str()` gives it; after that `str()` gives the beginning.
    Counters are exact, listeners hear all of it, and `equals` knows the whole text again by a hash of 128 bits.
    """

    __slots__ = ("_ending", "_hash")

    def start(self) -> None:
        super().start()
        self._ending = ""
        self._hash: blake2b | None = None

    @property
    def is_cut(self) -> bool:
        """Whether there is more than is kept."""
        return self._hash is not None

    def grow(self, piece: str) -> None:
        if self._hash is None:
            if self.chars + len(piece) <= KEPT_CHARS:
                super().grow(piece)
                return
            self._newlines = sum([kept.count("\n") for kept in self.pieces])
            self._ending = self.tail(_TAIL_CHARS)
            self._hash = _hash_of(str(self))
            self.pieces.append(piece[: KEPT_CHARS - self.chars])
        _add(self._hash, piece)
        self.chars += len(piece)
        self._newlines += piece.count("\n")
        self._ending = (self._ending + piece[-_TAIL_CHARS:])[-_TAIL_CHARS:]
        for listen in self.listeners:
            listen(piece)

    @property
    def lines(self) -> int:
        if self._hash is None:
            return super().lines
        return self._newlines + (not self._ending.endswith("\n"))

    def tail(self, limit: int = 200) -> str:
        return super().tail(limit) if self._hash is None else self._ending[-limit:]

    def equals(self, text: str) -> bool:
        """Whether `text` is what has been read."""
        if len(text) != self.chars:
            return False
        return str(self) == text if self._hash is None else self._hash.digest() == _hash_of(text).digest()


def _hash_of(text: str) -> blake2b:
    found = blake2b(digest_size=16)
    _add(found, text)
    return found


def _add(to: blake2b, text: str) -> None:
    for begin in range(0, len(text), _SLICE_CHARS):  # a copy of all of it as bytes would be one more to hold
        to.update(text[begin : begin + _SLICE_CHARS].encode("utf-8", "surrogatepass"))
