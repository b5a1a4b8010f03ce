"""Neighbouring deltas of one block, joined into one."""

from collections.abc import Sequence
from typing import TypeAlias

from penstock.events import TextDelta, ThinkingDelta, ToolInputDelta

__all__ = ["BlockKey", "Piece", "block_key", "merge_deltas"]

Piece: TypeAlias = TextDelta | ThinkingDelta | ToolInputDelta
BlockKey: TypeAlias = tuple[type, int, str, str]


def block_key(delta: Piece) -> BlockKey:
    """What two deltas must share to be joined."""
    return (type(delta), delta.block_index, delta.message_id, delta.parent_call_id)


def merge_deltas(deltas: Sequence[Piece]) -> Piece:
    """One delta for several of the same block, in order. Linear in their text."""
    first = deltas[0]
    if len(deltas) == 1:
        return first
    if type(first) is ToolInputDelta:
        return ToolInputDelta(
            "".join([delta.json for delta in deltas]),  # type: ignore[union-attr]
            first.block_index,
            first.call_id,
            first.message_id,
            first.parent_call_id,
        )
    kind = TextDelta if type(first) is TextDelta else ThinkingDelta
    text = "".join([delta.text for delta in deltas])  # type: ignore[union-attr]
    return kind(text, first.block_index, first.message_id, first.parent_call_id, first.replace)  # type: ignore[union-attr]
