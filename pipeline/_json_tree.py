"""What a partial JSON document is built of: strings and containers that grow, and snapshots that do not."""

from collections.abc import Callable
from typing import Any, Final

__all__ = ["NOTHING", "LiveText", "OpenContainer", "Snapshot"]

NOTHING: Final = object()
"""No value at all, which is not the same as null."""


class LiveText:
    """A string as it grows. Its counters, head and tail cost the same whatever its length; `str()` joins it."""

    __slots__ = ("_counted", "_newlines", "chars", "is_complete", "listeners", "pieces")

    def __init__(self) -> None:
        self.listeners: list[Callable[[str], object]] = []
        self.start()

    def start(self) -> None:
        """Begin with nothing; pieces that somebody still holds stay as they are."""
        self.pieces: list[str] = []
        self.chars = 0
        self.is_complete = False
        self._counted = 0
        self._newlines = 0

    @property
    def is_cut(self) -> bool:
        """Whether there is more than is kept: never here, but see `Excerpt`."""
        return False

    def grow(self, piece: str) -> None:
        """Add to the text and tell those who follow it."""
        self.pieces.append(piece)
        self.chars += len(piece)
        for listen in self.listeners:
            listen(piece)

    @property
    def lines(self) -> int:
        """How many lines there are; one that has only just begun counts once there is a character in it."""
        pieces = self.pieces
        while self._counted < len(pieces):
            self._newlines += pieces[self._counted].count("\n")
            self._counted += 1
        return self._newlines + (self.chars > 0 and not pieces[-1].endswith("\n"))

    def finish(self) -> "str | LiveText":
        """The text is whole; gives what stands for it from now on: a string, or this where it has not kept all."""
        self.is_complete = True
        if self.is_cut:
            return self
        whole = str(self)
        self._newlines, self._counted = whole.count("\n"), 1
        self.pieces = [whole]  # not kept twice, but for those who still hold the pieces
        return whole

    def head(self, limit: int = 200) -> str:
        """The first `limit` characters."""
        taken = []
        for piece in self.pieces:
            if limit <= 0:
                break
            taken.append(piece[:limit])
            limit -= len(piece)
        return "".join(taken)

    def tail(self, limit: int = 200) -> str:
        """The last `limit` characters."""
        taken = []
        for piece in reversed(self.pieces):
            if limit <= 0:
                break
            taken.append(piece[-limit:])
            limit -= len(piece)
        return "".join(reversed(taken))

    def __str__(self) -> str:
        return "".join(self.pieces)


class OpenContainer:
    """An object or array whose end has not come."""

    __slots__ = ("entries", "key", "members")

    def __init__(self, members: dict[str, Any] | None) -> None:
        self.members = members
        self.key = ""
        self.entries: list[Any] = []
        """Finished items, or (name, value) pairs: only ever appended to, so that a count makes a snapshot."""

    def begin(self, live: Any) -> None:
        if self.members is not None:
            self.members[self.key] = live

    def add(self, value: Any) -> None:
        if self.members is None:
            self.entries.append(value)
        else:
            self.members[self.key] = value
            self.entries.append((self.key, value))


class Snapshot:
    """The value as it was at one moment, for good. Taking it costs the depth of what is open; `value`, a copy."""

    __slots__ = ("_levels", "_pieces", "_value")

    def __init__(self, levels: list[tuple[OpenContainer, int, str]], text: LiveText | None, value: Any) -> None:
        self._levels = levels
        self._pieces = None if text is None else (text.pieces, len(text.pieces))
        self._value = value

    @property
    def value(self) -> Any:
        """Plain Python data; None where there is nothing yet. Finished parts are shared: to read, not to write."""
        if self._pieces is not None:
            pieces, count = self._pieces
            self._value = "".join(pieces[:count])
            self._pieces = None
        while self._levels:
            level, count, key = self._levels.pop()
            if level.members is None:
                outer: Any = level.entries[:count]
                if self._value is not NOTHING:
                    outer.append(self._value)
            else:
                outer = dict(level.entries[:count])
                if self._value is not NOTHING:
                    outer[key] = self._value
            self._value = outer
        return None if self._value is NOTHING else self._value
