"""Text that arrives in pieces, and how it is read by coroutines that wait where they cannot decide yet.

A reader is a generator that looks at `cursor.text` from `cursor.pos` on, moves `pos` over what it has dealt
with, and says `yield` where it needs more. When it goes on, either there is more text or `cursor.ended` is
true. What it has not moved over is what it holds back; a reader keeps that short, because it is looked at again
with every piece.
"""

import re
from collections.abc import Generator
from typing import TypeAlias, TypeVar

__all__ = ["Broken", "Cursor", "Cut", "Reading"]

Result = TypeVar("Result")
Reading: TypeAlias = Generator[None, None, Result]

_NOT_BLANK = re.compile(r"\S")


class Cut(Exception):
    """The text ended in the middle of what was being read."""


class Broken(Exception):
    """What was being read is not what it began as."""


class Cursor:
    """The text at hand and the place reached in it."""

    __slots__ = ("ended", "pos", "text")

    def __init__(self, text: str = "", ended: bool = False) -> None:
        self.text = text
        self.pos = 0
        self.ended = ended

    def add(self, piece: str) -> None:
        """More text, after what is held back."""
        held = self.text[self.pos :]
        self.text = held + piece if held else piece
        self.pos = 0

    def more(self) -> Reading[None]:
        """Wait for more; `Cut` where there is none."""
        if self.ended:
            raise Cut
        yield

    def peek(self) -> Reading[str]:
        """The next character, left where it is; empty at the end."""
        while self.pos == len(self.text):
            if self.ended:
                return ""
            yield
        return self.text[self.pos]

    def skip_blank(self) -> Reading[str]:
        """Move over white space; the character after it, left where it is, empty at the end."""
        while True:
            found = _NOT_BLANK.search(self.text, self.pos)
            if found is not None:
                self.pos = found.start()
                return self.text[self.pos]
            self.pos = len(self.text)
            if self.ended:
                return ""
            yield
