"""What is new in a conversation since it was last looked at, in order."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from penstock.growing import TextView
from penstock.messages import Entry, Message, Messages, TextEntry, ThinkingEntry, ToolEntry

__all__ = ["NewText", "Rewritten", "RoundOver", "StateReader", "Step", "Thought"]


class NewText(NamedTuple):
    """The text of the current round grew."""

    piece: str


class Rewritten(NamedTuple):
    """The text of the current round is another now."""

    before: str
    after: str


class RoundOver(NamedTuple):
    """A tool call or another message: text that follows belongs to a new round."""


class Thought(NamedTuple):
    """The thinking grew."""

    piece: str


Step: TypeAlias = NewText | Rewritten | RoundOver | Thought

_NOTHING = TextView.of("")


class StateReader:
    """Follows the main conversation from snapshot to snapshot.

    A step costs what is new. An entry that is finished and followed by another is not looked at again.
    """

    def __init__(self) -> None:
        self.chars = 0
        """How much text, thinking and arguments there has been."""
        self._found = 0
        self._message = -1
        self._settled = 0
        self._seen: dict[int, TextView] = {}
        self._round: list[int] = []
        self._texts: list[str] = []

    def read(self, messages: Messages) -> Iterator[Step]:
        """The steps from the snapshot read last to this one; take them all."""
        if self._message >= 0:
            yield from self._entries(messages[self._message])
        while self._found < len(messages):
            message = messages[self._found]
            if not message.parent_call_id:
                self._message = self._found
                self._settled = 0
                self._seen = {}
                self._round = []
                yield RoundOver()
                yield from self._entries(message)
            self._found += 1

    def round_text(self) -> str:
        """The text of the round read last."""
        return "".join([str(self._seen[index]) for index in self._round]) if self._round else ""

    def _entries(self, message: Message) -> Iterator[Step]:
        entries = message.entries
        for index in range(self._settled, len(entries)):
            entry = entries[index]
            yield from self._entry(index, entry)
            if index == self._settled and not entry.is_streaming and index + 1 < len(entries):
                self._settled += 1

    def _entry(self, index: int, entry: Entry) -> Iterator[Step]:
        is_new = index not in self._seen
        if isinstance(entry, ToolEntry):
            if is_new and self._round:
                self._round = []
            if is_new:
                yield RoundOver()
            self.chars += max(0, len(entry.arguments) - len(self._seen.get(index, _NOTHING)))
            self._seen[index] = entry.arguments
            return
        before = self._seen.get(index, _NOTHING)
        if entry.content is before:
            return
        piece = entry.content.after(before)
        text_before = self.round_text() if piece is None or (index in self._round and index != self._round[-1]) else ""
        self._seen[index] = entry.content
        self.chars += len(piece or "")
        if isinstance(entry, ThinkingEntry):
            if piece:
                yield Thought(piece)
        elif isinstance(entry, TextEntry):
            if is_new:
                self._round.append(index)
            if piece is not None and index == self._round[-1]:
                if piece:
                    yield NewText(piece)
            else:
                yield Rewritten(text_before, self.round_text())
