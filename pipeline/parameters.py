"""The arguments of a tool call, read at any moment of their arrival at a cost that does not grow."""

from collections.abc import Mapping
from typing import Any

from penstock.partial_json import LiveText, PartialJson

__all__ = ["Parameters", "as_text"]

HEAD_CHARS = 400
"""No more than this is ever taken of a string: what is made of it is one line."""


class Parameters(PartialJson):
    """The arguments of a call as its formatter sees them: still streaming, complete, or not JSON at all."""

    __slots__ = ("_is_undecided", "raw")

    def __init__(self) -> None:
        super().__init__()
        self.raw = LiveText()
        """The argument text itself, where it is not an object (a patch, say); else empty."""
        self._is_undecided = True

    def feed(self, delta: str) -> None:
        super().feed(delta)
        if self._is_undecided and delta:
            self.raw.grow(delta)
            if type(self.live) is dict:
                self._is_undecided = False
                self.raw = LiveText()

    @property
    def members(self) -> Mapping[str, Any]:
        """The arguments that have begun, by name; a string still being read is a `LiveText`."""
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


def as_text(value: Any) -> str:
    """An argument in a few words: the head of a string, the size of an array."""
    if type(value) is str:
        return value[:HEAD_CHARS]
    if type(value) is LiveText:
        return value.head(HEAD_CHARS)
    if type(value) is list:
        return f"[{len(value)}]"
    if type(value) is dict:
        return "{…}" if value else "{}"
    if value is None or type(value) is bool:
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)
