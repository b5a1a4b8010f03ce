"""A bounded box between a fast stream and a slow reader: it merges what can be merged and loses no final."""

from collections import deque
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from penstock.events import TextDelta, ThinkingDelta, ToolInputDelta
from penstock.operators.merge import block_key
from penstock.sinks.sink import Item
from penstock.updates import AssistantUpdate, MessagesChanged, ThinkingUpdate, ToolBlockUpdate

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
    """Items wait here in order; where the reader is slower than the stream, neighbours are conflated.

    * Deltas of one block become one; of the updates that say the same thing anew (`AssistantUpdate`,
      `ThinkingUpdate`, `MessagesChanged`, a tool's `streaming` and `running`) the newest stands for all.
    * When `max_items` or `max_chars` is passed all the same, waiting deltas are dropped and counted: their
      blocks' finals carry the text. Finals and lifecycle items are never dropped.

    Constant cost an item.
    """

    def __init__(self, max_items: int = 256, max_chars: int = 1 << 20) -> None:
        self._items: deque[_Slot] = deque()
        self._newest: dict[object, _Slot] = {}
        self._max_items = max_items
        self._max_chars = max_chars
        self._chars = 0
        self.statistics = MailboxStatistics()

    def put(self, item: Item) -> None:
        """Take one item in, merging it into one that waits where nothing would be overtaken."""
        self.statistics.accepted += 1
        key = _conflation_key(item)
        slot = None
        if key is None:
            # What is not conflated is a wall: nothing later may merge into what stands before it.
            self._newest.clear()
        else:
            slot = self._newest.get(key)
        if slot is None:
            slot = _Slot(key, item)
            self._items.append(slot)
            if key is not None:
                self._newest[key] = slot
        else:
            self.statistics.merged += 1
            slot.item = item
        piece = _piece(item)
        if piece is not None:
            slot.pieces.append(piece)
            if type(item) in _DELTAS:
                self._chars += len(piece)
        if self._chars > self._max_chars or len(self._items) > self._max_items:
            self._drop_deltas()
        self.statistics.most_waiting = max(self.statistics.most_waiting, len(self._items))

    def _drop_deltas(self) -> None:
        kept: deque[_Slot] = deque()
        for slot in self._items:
            if type(slot.item) in _DELTAS:
                self.statistics.dropped += len(slot.pieces)
                self._newest.pop(slot.key, None)
            else:
                kept.append(slot)
        self._items = kept
        self._chars = 0

    def take(self) -> Item:
        """The oldest item, merged; raises `IndexError` where there is none."""
        slot = self._items.popleft()
        if self._newest.get(slot.key) is slot:
            del self._newest[slot.key]
        self.statistics.delivered += 1
        if len(slot.pieces) > 1:
            slot.item = _with_piece(slot.item, "".join(slot.pieces))
        if type(slot.item) in _DELTAS:
            self._chars -= len(_piece(slot.item) or "")
        return slot.item

    def __len__(self) -> int:
        return len(self._items)


class _Slot:
    """One place in the queue: the newest of the items that merged here, and the text that each of them brought."""

    __slots__ = ("item", "key", "pieces")

    def __init__(self, key: object, item: Item) -> None:
        self.key = key
        self.item = item
        self.pieces: list[str] = []


_DELTAS = {TextDelta, ThinkingDelta, ToolInputDelta}
_PIECE_FIELDS: dict[type, str] = {
    TextDelta: "text",
    ThinkingDelta: "text",
    ToolInputDelta: "json",
    AssistantUpdate: "chunk",
    ToolBlockUpdate: "parameters_chunk",
}


def _piece(item: Item) -> str | None:
    field = _PIECE_FIELDS.get(type(item))
    return None if field is None else getattr(item, field)


def _with_piece(item: Item, piece: str) -> Item:
    return replace(item, **{_PIECE_FIELDS[type(item)]: piece})


def _conflation_key(item: Any) -> object:
    kind = type(item)
    if kind in _DELTAS:
        return None if kind is not ToolInputDelta and item.replace else block_key(item)
    if kind is AssistantUpdate:
        return None if item.is_new else kind
    if kind is ThinkingUpdate or kind is MessagesChanged:
        return kind
    if kind is ToolBlockUpdate and item.stage in ("streaming", "running"):
        return (kind, item.id, item.stage)
    return None
