"""Tool calls on their way from the text to their blocks."""

from typing import Literal, Protocol

__all__ = ["CallWriter", "Calls"]


class CallWriter(Protocol):
    """Where calls are written: a block begins, gets its argument text, and ends."""

    def call(self, name: str) -> None: ...

    def arguments(self, piece: str) -> None: ...

    def end(self, kind: Literal["tool"]) -> None: ...

    def abandon(self, code: str, message: str) -> None: ...


class Calls:
    """The calls of one section, one after another. Without a writer they are read and left out.

    A block begins when its name is known. Arguments written before the name wait for it, so that the order of keys
    makes no difference to anyone downstream.
    """

    def __init__(self, writer: CallWriter | None) -> None:
        self._writer = writer
        self._name = ""
        self._waiting: list[str] = []

    def start(self, name: str) -> None:
        """The call's name is known."""
        self._name = name
        if self._writer is not None:
            self._writer.call(name)
            for piece in self._waiting:
                self._writer.arguments(piece)
        self._waiting.clear()

    def arguments(self, piece: str) -> None:
        """More of the argument text."""
        if self._writer is None:
            return
        if self._name:
            self._writer.arguments(piece)
        else:
            self._waiting.append(piece)

    @property
    def has_name(self) -> bool:
        return bool(self._name)

    def end(self) -> None:
        """The call is complete."""
        self._name = ""
        if self._writer is not None:
            self._writer.end("tool")

    def cut(self) -> None:
        """The text ended inside the call."""
        self._abandon("incomplete_tool_call", f"the call of {self._name or 'a tool'} was cut off")

    def broken(self) -> None:
        """The call turned out not to be one."""
        self._abandon("malformed_tool_call", f"the call of {self._name or 'a tool'} is not written as one")

    def _abandon(self, code: str, message: str) -> None:
        self._name = ""
        self._waiting.clear()
        if self._writer is not None:
            self._writer.abandon(code, message)
