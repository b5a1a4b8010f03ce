"""A bounded box between a fast stream and a slow reader: it merges what can be merged and loses no final."""

from dataclasses import dataclass

from penstock.operators.conflate import DELTAS, Waiting, piece_of
from penstock.sinks.sink import Item

__all__ = ["Mailbox", "MailboxStatistics"]


@dataclass(slots=True)
class MailboxStatistics:
    """What went through a mailbox. `dropped` counts deltas given up for the finals that carry their text."""

    accepted: int = 0
    merged: int = 0
    dropped: int = 0
    delivered: int = 0
    most_waiting: int = 0


class Mailbox:
    """Items wait here in order, and merge where the reader is slower (`penstock.operators.conflate`).

    When `max_items` or `max_chars` is passed all the same, waiting deltas are dropped and counted: their blocks'
    finals carry the text. Finals and lifecycle items are never dropped. Constant cost an item.
    """

    def __init__(self, max_items: int = 256, max_chars: int = 1 << 20) -> None:
        self._waiting = Waiting()
        self._max_items = max_items
        self._max_chars = max_chars
        self._chars = 0
        self.statistics = MailboxStatistics()

    def put(self, item: Item) -> bool:
        """Take one item in, merging it into one that waits where nothing would be overtaken.

        True where that passed a bound.
        """
        self.statistics.accepted += 1
        if self._waiting.put(item):
            self.statistics.merged += 1
        if type(item) in DELTAS:
            self._chars += len(piece_of(item) or "")
        is_over = self._chars > self._max_chars or len(self._waiting) > self._max_items
        if is_over:
            self.statistics.dropped += self._waiting.drop_deltas()
            self._chars = 0
        self.statistics.most_waiting = max(self.statistics.most_waiting, len(self._waiting))
        return is_over

    def take(self) -> Item:
        """The oldest item, merged; raises `IndexError` where there is none."""
        item: Item = self._waiting.take()
        self.statistics.delivered += 1
        if type(item) in DELTAS:
            self._chars -= len(piece_of(item) or "")
        return item

    def __len__(self) -> int:
        return len(self._waiting)
