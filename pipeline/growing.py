"""Text that grows at its end, and views of it that never change and cost nothing until they are read."""

__all__ = ["GrowingText", "TextView"]


class GrowingText:
    """An append-only text, kept in pieces.

    `view()` is constant in time and memory however long the text is; a view joins its pieces when it is first
    read, and what one view has joined the later ones do not join again. So a consumer that reads only the
    newest chunk pays nothing for the accumulated text, and one that reads it pays one copy, not one per piece.
    """

    __slots__ = ("_joined", "_joined_count", "_pieces", "length")

    def __init__(self, text: str = "") -> None:
        self._pieces: list[str] = []
        self._joined = ""
        self._joined_count = 0
        self.length = 0
        if text:
            self.append(text)

    def append(self, piece: str) -> None:
        self._pieces.append(piece)
        self.length += len(piece)

    def view(self) -> "TextView":
        """The text as it is now, for good."""
        return TextView(self, len(self._pieces), self.length)

    def adopt(self, text: str) -> bool:
        """Whether `text` is what has grown here; if so, later readers share it, and nobody joins the pieces."""
        if len(text) != self.length:
            return False
        at = 0
        for piece in self._pieces:
            if not text.startswith(piece, at):
                return False
            at += len(piece)
        self._joined = text
        self._joined_count = len(self._pieces)
        return True

    def _text_of(self, count: int) -> str:
        if count < self._joined_count:
            return "".join(self._pieces[:count])
        text = self._joined
        if count > self._joined_count:
            more = "".join(self._pieces[self._joined_count : count])
            self._joined = ""  # a string that nobody else holds grows in its place instead of being copied
            text += more
            self._joined = text
            self._joined_count = count
        return text

    def __str__(self) -> str:
        return self._text_of(len(self._pieces))


class TextView:
    """A text as it was at one moment; `str()` of it is the text."""

    __slots__ = ("_count", "_growing", "_text", "length")

    def __init__(self, growing: GrowingText, count: int, length: int) -> None:
        self._growing: GrowingText | None = growing
        self._count = count
        self._text = ""
        self.length = length

    @classmethod
    def of(cls, text: str) -> "TextView":
        """A view of a text that is whole already."""
        return GrowingText(text).view()

    def after(self, earlier: "TextView") -> str | None:
        """What has been appended since `earlier`; None where this is not the earlier text, grown on.

        Costs what is new, as long as nobody has read either of the two whole.
        """
        growing = self._growing
        if growing is not None and growing is earlier._growing and earlier._count <= self._count:
            return "".join(growing._pieces[earlier._count : self._count])
        text = str(self)
        return text[earlier.length :] if text.startswith(str(earlier)) else None

    def __str__(self) -> str:
        if self._growing is not None:
            self._text = self._growing._text_of(self._count)
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
