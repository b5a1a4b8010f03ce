"""Deltas, whatever the adapter sends: new pieces, everything so far, or now one and now the other."""

from typing import Literal, TypeAlias

from penstock.errors import UsageError
from penstock.events import BlockStop, Event, MessageStop, TextDelta, ThinkingDelta
from penstock.operators.stage import Operator, Stage

__all__ = ["DeltaMode", "to_deltas"]

DeltaMode: TypeAlias = Literal["delta", "accumulated", "mixed"]


class PassOn(Stage[Event, Event]):
    def feed(self, item: Event) -> None:
        self.emit(item)


class ToDeltas(Stage[Event, Event]):
    def __init__(self, is_mixed: bool) -> None:
        self._is_mixed = is_mixed
        self._blocks: dict[tuple[int, str, str], _Text] = {}

    def feed(self, item: Event) -> None:
        if type(item) is TextDelta or type(item) is ThinkingDelta:
            self._feed_delta(item)
            return
        if type(item) is BlockStop:
            self._blocks.pop((item.block_index, item.message_id, item.parent_call_id), None)
        elif type(item) is MessageStop:
            message = (item.message_id, item.parent_call_id)
            for key in [key for key in self._blocks if key[1:] == message]:
                del self._blocks[key]
        self.emit(item)

    def _feed_delta(self, item: TextDelta | ThinkingDelta) -> None:
        key = (item.block_index, item.message_id, item.parent_call_id)
        so_far = self._blocks.get(key)
        if so_far is None or item.replace:
            self._blocks[key] = _Text(item.text)
            self.emit(item)
        elif so_far.is_begun_by(item.text):
            added = item.text[so_far.length :]
            if added:
                so_far.set(item.text)
                self._emit_like(item, added)
        elif self._is_mixed:
            so_far.append(item.text)
            self.emit(item)
        elif item.text:
            so_far.set(item.text)
            self._emit_like(item, item.text, replace=True)

    def _emit_like(self, item: TextDelta | ThinkingDelta, text: str, replace: bool = False) -> None:
        self.emit(type(item)(text, item.block_index, item.message_id, item.parent_call_id, replace))


class _Text:
    """A block's text so far, in pieces until somebody needs it whole."""

    __slots__ = ("_pieces", "length")

    def __init__(self, text: str) -> None:
        self.set(text)

    def set(self, text: str) -> None:
        self._pieces = [text]
        self.length = len(text)

    def append(self, text: str) -> None:
        self._pieces.append(text)
        self.length += len(text)

    def is_begun_by(self, text: str) -> bool:
        """Whether `text` begins with all of this; the pieces are joined only for a text at least as long."""
        if len(text) < self.length:
            return False
        if len(self._pieces) > 1:
            self.set("".join(self._pieces))
        return text.startswith(self._pieces[0])


def to_deltas(mode: DeltaMode = "mixed") -> Operator[Event, Event]:
    """Text and thinking deltas that hold only what is new, block by block; all other events pass.

    | mode          | what comes in                 | "A", "AB", "ABC" | "A", "B", "C" | "AB", "AX"          |
    | ------------- | ----------------------------- | ---------------- | ------------- | ------------------- |
    | "delta"       | pieces; nothing is touched    | as it is         | as it is      | as it is            |
    | "accumulated" | all the block's text so far   | "A", "B", "C"    | (not its use) | "AB", "AX" replaces |
    | "mixed"       | either, also within one block | "A", "B", "C"    | "A", "B", "C" | "AB", "AX"          |

    What begins with all the block's text so far gives the rest of it, and nothing where there is no rest (a final
    snapshot after its deltas). What does not is, in "accumulated", a new text, sent with `replace`; in "mixed", a
    piece like any other. An empty text says nothing in either. A delta that says `replace` itself starts over.

    "mixed" has to guess where a piece could be a snapshot too: "ha", "ha" is taken for one "ha" said twice, and
    "1", "10" for "10". That can only be while a piece is as long as everything before it, in practice at the
    second piece of a block; but where an adapter is known to send pieces, say "delta".

    A block's text is let go at its stop and at its message's. On completion, error and disposal nothing is held
    back. Linear in what comes in: the text so far is compared only with something at least as long.
    """
    if mode == "delta":
        return Operator("to_deltas", PassOn)
    if mode not in ("accumulated", "mixed"):
        raise UsageError(f"mode is 'delta', 'accumulated' or 'mixed', not {mode!r}")
    is_mixed = mode == "mixed"
    return Operator("to_deltas", lambda: ToDeltas(is_mixed))
