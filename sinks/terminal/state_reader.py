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
        self._round: dict[int, TextView] = {}
        self._is_round_over = True

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
                yield from self._end_round()
                yield from self._entries(message)
            self._found += 1

    def message(self, messages: Messages) -> Message | None:
        """The main conversation's newest message, in the snapshot read last."""
        return messages[self._message] if self._message >= 0 else None

    def round_text(self) -> str:
        """The text of the round read last."""
        return "".join([str(view) for view in self._round.values()])

    def _entries(self, message: Message) -> Iterator[Step]:
        entries = message.entries
        for index in range(self._settled, len(entries)):
            entry = entries[index]
            yield from self._entry(index, entry)
            if index == self._settled and not entry.is_streaming and index + 1 < len(entries):
                self._settled += 1

    def _entry(self, index: int, entry: Entry) -> Iterator[Step]:
        before = self._seen.get(index)
        if isinstance(entry, ToolEntry):
            if before is None:
                yield from self._end_round()
            self._see(index, entry.arguments)
        elif entry.content is before:
            return
        elif isinstance(entry, TextEntry):
            yield from self._text(index, entry.content, before)
        elif isinstance(entry, ThinkingEntry):
            piece = entry.content.after(before or _NOTHING)
            self._see(index, entry.content)
            if piece:
                yield Thought(piece)

    def _text(self, index: int, content: TextView, before: TextView | None) -> Iterator[Step]:
        piece = content.after(before or _NOTHING)
        self._see(index, content)
        if piece is not None and (self._is_round_over or index >= max(self._round)):
            if self._is_round_over and piece:
                self._is_round_over = False
                self._round = {}
            if not self._is_round_over:
                self._round[index] = content
            if piece:
                yield NewText(piece)
        elif index in self._round and not self._is_round_over:
            text_before = self.round_text()
            self._round[index] = content
            yield Rewritten(text_before, self.round_text())

    def _end_round(self) -> Iterator[Step]:
        self._is_round_over = True
        yield RoundOver()

    def _see(self, index: int, view: TextView) -> None:
        self.chars += max(0, len(view) - len(self._seen.get(index, _NOTHING)))
        self._seen[index] = view
