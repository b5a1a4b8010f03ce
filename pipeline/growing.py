"""Text that grows at its end, and views of it that never change and cost nothing until they are read."""

from msgspec import Struct

__all__ = ["GrowingText", "TextView"]


class GrowingText:
    """An append-only text: what somebody has read is one string, what came since is in pieces.

    `view()` is constant in time and memory however long the text is; a view joins its pieces when it is first
    read, and what one view has joined the later ones do not join again. So a consumer that reads only the
    newest chunk pays nothing for the accumulated text, and one that reads it pays one copy, not one per piece.
    Nothing is kept twice: a piece that is joined is gone.
    """

    __slots__ = ("_joined", "_pieces", "length")

    def __init__(self, text: str = "") -> None:
        self._joined = text
        self._pieces: list[str] = []
        self.length = len(text)

    def append(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    def view(self) -> "TextView":
        """The text as it is now, for good."""
        return TextView(self, self.length)

    def adopt(self, text: str) -> bool:
        """Whether `text` is what has grown here; if so, it is kept in place of the pieces, and shared."""
        if len(text) != self.length or not text.startswith(self._joined):
            return False
        at = len(self._joined)
        for piece in self._pieces:
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        self._joined = text
        self._pieces.clear()
        return True

    def between(self, begin: int, end: int) -> str:
        """The text from one length to a later one, at the cost of what has come since the first."""
        found = []
        at = self.length
        for piece in reversed(self._pieces):
            if at <= begin:
                break
            found.append(piece)
            at -= len(piece)
        if at > begin:
            found.append(self._joined[begin:])
            at = begin
        text = "".join(reversed(found))
        return text[begin - at : end - at]

    def up_to(self, length: int) -> str:
        """The text as it was when it had this length."""
        text = self._joined
        if length > len(text):
            count, at = len(self._pieces), self.length
            while at - len(self._pieces[count - 1]) >= length:
                count -= 1
                at -= len(self._pieces[count])
            more = "".join(self._pieces[:count])
            del self._pieces[:count]
            self._joined = ""  # a string that nobody else holds grows in its place instead of being copied
            text += more
            self._joined = text
        return text if len(text) == length else text[:length]

    def __str__(self) -> str:
        return self.up_to(self.length)


class TextView(Struct, gc=False, eq=False):
    """A text as it was at one moment; `str()` of it is the text."""

    _growing: GrowingText | None
    length: int
    _text: str = ""

    @classmethod
    def of(cls, text: str) -> "TextView":
        """A view of a text that is whole already."""
        return TextView(None, len(text), text)

    def after(self, earlier: "TextView") -> str | None:
        """What has been appended since `earlier`; None where this is not the earlier text, grown on.

        Costs what is new, as long as nobody has read either of the two whole.
        """
        growing = self._growing
        if growing is not None and growing is earlier._growing and earlier.length <= self.length:
            return growing.between(earlier.length, self.length)
        text = str(self)
        return text[earlier.length :] if text.startswith(str(earlier)) else None

    def __str__(self) -> str:
        if self._growing is not None:
            self._text = self._growing.up_to(self.length)
            self._growing = None
        return self._text

    def __len__(self) -> int:
        return self.length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextView | str) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return repr(str(self))
