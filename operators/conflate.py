"""Items that wait in order and merge while they wait: the newest state stands for the older, deltas are joined."""

from collections import OrderedDict
from typing import Any

from msgspec.structs import replace

from penstock.events import Event, TextDelta, ThinkingDelta, ToolInputDelta
from penstock.operators.merge import block_key
from penstock.updates import AssistantUpdate, MessagesChanged, ThinkingUpdate, ToolBlockUpdate, Update

__all__ = ["DELTAS", "Waiting", "WaitingItem", "piece_of"]

DELTAS = frozenset({TextDelta, ThinkingDelta, ToolInputDelta})

_PIECE_FIELDS: dict[type, str] = {
    TextDelta: "text",
    ThinkingDelta: "text",
    ToolInputDelta: "json",
    AssistantUpdate: "chunk",
    ToolBlockUpdate: "parameters_chunk",
}


class WaitingItem:
    """One place in the queue: the newest of the items that merged here, and the text that each of them brought."""

    __slots__ = ("item", "key", "number", "pieces")

    def __init__(self, key: object, number: int, item: Event | Update) -> None:
        self.key = key
        self.number = number
        self.item = item
        self.pieces: list[str] = []


class Waiting:
    """A queue in which neighbours are conflated.

    Deltas of one block become one; of the updates that say the same thing anew (`AssistantUpdate`,
    `ThinkingUpdate`, `MessagesChanged`, a tool's `streaming` and `running`) the newest stands for all. Everything
    else is a wall: nothing later merges into what stands before it. Constant cost an item.
    """

    def __init__(self) -> None:
        self._items: OrderedDict[int, WaitingItem] = OrderedDict()
        self._count = 0
        self._deltas: set[int] = set()
        self._newest: dict[object, WaitingItem] = {}

    def put(self, item: Event | Update) -> bool:
        """Take one item in; True where it merged into one that waits."""
        key = _key(item)
        waiting = None
        if key is None:
            self._newest.clear()
        else:
            waiting = self._newest.get(key)
        has_merged = waiting is not None
        if waiting is None:
            self._count += 1
            waiting = self._items[self._count] = WaitingItem(key, self._count, item)
            if type(item) in DELTAS:
                self._deltas.add(waiting.number)
            if key is not None:
                self._newest[key] = waiting
        else:
            waiting.item = item
        piece = piece_of(item)
        if piece is not None:
            waiting.pieces.append(piece)
        return has_merged

    def take(self) -> Any:
        """The oldest item, merged; raises `IndexError` where there is none."""
        if not self._items:
            raise IndexError("nothing waits")
        number, waiting = self._items.popitem(last=False)
        self._deltas.discard(number)
        if self._newest.get(waiting.key) is waiting:
            del self._newest[waiting.key]
        if len(waiting.pieces) > 1:
            return replace(waiting.item, **{_PIECE_FIELDS[type(waiting.item)]: "".join(waiting.pieces)})
        return waiting.item

    def drop_deltas(self) -> int:
        """Give up the deltas that wait; how many there were."""
        dropped = [self._items.pop(number) for number in self._deltas]
        self._deltas.clear()
        for waiting in dropped:
            self._newest.pop(waiting.key, None)
        return sum(len(waiting.pieces) for waiting in dropped)

    def __len__(self) -> int:
        return len(self._items)


def piece_of(item: Event | Update) -> str | None:
    """The text an item brings that the one before it did not have."""
    field = _PIECE_FIELDS.get(type(item))
    return None if field is None else getattr(item, field)


def _key(item: Any) -> object:
    """What two items must share to merge; None for those that never do."""
    kind = type(item)
    if kind in DELTAS:
        return None if kind is not ToolInputDelta and item.replace else block_key(item)
    if kind is AssistantUpdate:
        return None if item.is_new else kind
    if kind is ThinkingUpdate or kind is MessagesChanged:
        return kind
    if kind is ToolBlockUpdate and item.stage in ("streaming", "running"):
        return (kind, item.id, item.stage)
    return None
