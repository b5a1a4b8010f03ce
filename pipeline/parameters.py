"""The arguments of a tool call, read at any moment of their arrival at a cost that does not grow."""

from collections.abc import Mapping
from typing import Any

from penstock.excerpt import KEPT_CHARS, Excerpt
from penstock.partial_json import LiveText, PartialJson

__all__ = ["Parameters", "as_text"]

_SLICE_CHARS = 16 * 1024
HEAD_CHARS = 400
"""No more than this is ever taken of a string: what is made of it is one line."""


class Parameters(PartialJson):
    """The arguments of a call as its formatter sees them: still streaming, complete, or not JSON at all.

    Of a long string it has an `Excerpt`, for what is made of it is one line: a file of a megabyte that a tool is to
    write is not held here a second time. So `value()` is plain data only where no string is long.
    """

    _new_text = Excerpt

    __slots__ = ("_is_undecided", "raw")

    def __init__(self) -> None:
        super().__init__()
        self.raw: LiveText = Excerpt()
        """The argument text itself, where it is not an object (a patch, say); else empty."""
        self._is_undecided = True

    def feed(self, delta: str) -> None:
        for begin in range(0, len(delta), _SLICE_CHARS):  # reading takes some copies; of a slice they are small
            super().feed(delta[begin : begin + _SLICE_CHARS])
        if self._is_undecided and delta:
            self.raw.grow(delta)
            if type(self.live) is dict:
                self._is_undecided = False
                self.raw = Excerpt()

    def _kept(self, value: str) -> str | LiveText:
        if len(value) <= KEPT_CHARS:
            return value
        text = Excerpt()
        text.grow(value)
        return text.finish()

    def equals(self, value: Any) -> bool:
        """Whether the arguments are complete, and are this."""
        return self.is_complete and _is_equal(self.live, value)

    @property
    def members(self) -> Mapping[str, Any]:
        """The arguments that have begun, by name; a string that is long, or still being read, is a `LiveText`."""
        return self.live if type(self.live) is dict else {}

    def name_of(self, *names: str) -> str:
        """The first of `names` that has begun; empty where none has."""
        members = self.members
        for name in names:
            if name in members:
                return name
        return ""

    def text(self, *names: str) -> str:
        """The head of the first of `names` that says something, as text."""
        members = self.members
        for name in names:
            if name in members:
                text = as_text(members[name])
                if text:
                    return text
        return ""

    def number(self, *names: str) -> int:
        """The first of `names` that has begun, where it is a whole number; else 0."""
        value = self.members.get(self.name_of(*names))
        return value if type(value) is int else 0

    def lines(self, *names: str) -> int:
        """How many lines the first of `names` that has begun has so far."""
        name = self.name_of(*names)
        return self.follow((name,)).lines if name else 0

    def count(self, *names: str) -> int:
        """How many items the first of `names` that has begun has so far."""
        value = self.members.get(self.name_of(*names))
        return len(value) if isinstance(value, list | dict) else 0


def _is_equal(read: Any, value: Any) -> bool:
    if isinstance(read, Excerpt):
        return isinstance(value, str) and read.equals(value)
    if isinstance(read, dict):
        return (
            isinstance(value, dict)
            and read.keys() == value.keys()
            and all(_is_equal(read[name], value[name]) for name in read)
        )
    if isinstance(read, list):
        return isinstance(value, list) and len(read) == len(value) and all(map(_is_equal, read, value))
    return bool(read == value)


def as_text(value: Any) -> str:
    """An argument in a few words: the head of a string, the size of an array."""
    if type(value) is str:
        return value[:HEAD_CHARS]
    if isinstance(value, LiveText):
        return value.head(HEAD_CHARS)
    if type(value) is list:
        return f"[{len(value)}]"
    if type(value) is dict:
        return "{…}" if value else "{}"
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
