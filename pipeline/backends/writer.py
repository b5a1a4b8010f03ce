"""What every backend writes its messages with: balanced blocks, deltas merged by the chunk."""

from collections.abc import Callable, Hashable, Iterator
from itertools import count

from penstock.events import (
    BlockKind,
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)

__all__ = ["Block", "MessageWriter", "numbered_ids"]


def numbered_ids() -> Iterator[str]:
    """Message ids for backends that have none: `message-1`, `message-2`, …"""
    return (f"message-{number}" for number in count(1))


class Block:
    """One block of the message under way, under whatever key its backend knows it by."""

    __slots__ = ("call_id", "has_content", "index", "is_open", "kind", "tool_name")

    def __init__(self, kind: BlockKind, index: int, call_id: str, tool_name: str) -> None:
        self.kind = kind
        self.index = index
        self.call_id = call_id
        self.tool_name = tool_name
        self.is_open = True
        self.has_content = False


class MessageWriter:
    """Writes the messages of one conversation as balanced events.

    A backend says what it saw; the writer sees to it that a block is open before its delta and closed before
    the message is, that an empty delta opens nothing, and that indexes count up from 0 in order of appearance.
    Deltas of the same block are held until something else is written or `settle` is called, and leave as one.
    """

    def __init__(
        self, emit: Callable[[Event], object], message_ids: Iterator[str], parent_call_id: str = ""
    ) -> None:
        self.emit = emit
        self.parent_call_id = parent_call_id
        self.message_id = ""
        self.is_open = False
        self.blocks: dict[Hashable, Block] = {}
        self._message_ids = message_ids
        self._count = 0
        self._held: list[str] = []
        self._held_block: Block | None = None
        self._running: Block | None = None

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────────

    def start(self, message_id: str = "", model: str = "") -> None:
        """Begin a message, ending the one under way; the same id again changes nothing."""
        if self.is_open:
            if message_id and message_id == self.message_id:
                return
            self.stop()
        self.message_id = message_id or next(self._message_ids)
        self.is_open = True
        self.blocks = {}
        self._count = 0
        self._running = None
        self.emit(MessageStart(self.message_id, model, parent_call_id=self.parent_call_id))

    def stop(self, stop_reason: str = "") -> None:
        """End the message under way, closing what is open in it; without one, nothing happens."""
        if not self.is_open:
            return
        self.close_all()
        self.is_open = False
        self.emit(MessageStop(self.message_id, stop_reason, self.parent_call_id))

    # ── blocks under a key, for backends that announce theirs ────────────────────────────────────────────

    def open(self, key: Hashable, kind: BlockKind, call_id: str = "", tool_name: str = "") -> Block:
        """Open a block under `key`; one that stood there before is closed first."""
        if not self.is_open:
            self.start()
        before = self.blocks.get(key)
        if before is not None:
            self.close(key)
        self.settle()
        block = Block(kind, self._count, call_id, tool_name)
        self._count += 1
        self.blocks[key] = block
        self.emit(BlockStart(kind, block.index, self.message_id, call_id, tool_name, self.parent_call_id))
        return block

    def write(self, block: Block, piece: str) -> None:
        """Add to a block; an empty piece is nothing."""
        if not piece:
            return
        if block is not self._held_block:
            self.settle()
            self._held_block = block
            block.has_content = True
        self._held.append(piece)

    def close(self, key: Hashable) -> None:
        """Close the block under `key`, if it is open."""
        block = self.blocks.get(key)
        if block is None or not block.is_open:
            return
        self.settle()
        block.is_open = False
        if block is self._running:
            self._running = None
        self.emit(BlockStop(block.index, self.message_id, self.parent_call_id))

    def close_all(self) -> None:
        """Close every open block, in order of appearance."""
        for key in list(self.blocks):
            self.close(key)
        self.settle()

    # ── running text, for backends that only send pieces ─────────────────────────────────────────────────

    def text(self, piece: str) -> None:
        """Add visible text, opening a text block where another kind (or nothing) ran before."""
        self._run("text", piece)

    def thinking(self, piece: str) -> None:
        """Add thinking, opening a thinking block where another kind (or nothing) ran before."""
        self._run("thinking", piece)

    def end_run(self) -> None:
        """Close the running text or thinking block: the next piece opens a new one."""
        if self._running is not None:
            self.close(self._running)

    def _run(self, kind: BlockKind, piece: str) -> None:
        if not piece:
            return
        block = self._running
        if block is None or block.kind != kind:
            self.end_run()
            # The block is its own key: no backend's key can collide with it.
            block = self.open(("running", self._count), kind)
            self.blocks[block] = self.blocks.pop(("running", block.index))
            self._running = block
        self.write(block, piece)

    # ── merging ──────────────────────────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Emit the held deltas of one block as one."""
        block = self._held_block
        if block is None:
            return
        held = self._held
        piece = held[0] if len(held) == 1 else "".join(held)
        held.clear()
        self._held_block = None
        if block.kind == "text":
            self.emit(TextDelta(piece, block.index, self.message_id, self.parent_call_id))
        elif block.kind == "thinking":
            self.emit(ThinkingDelta(piece, block.index, self.message_id, self.parent_call_id))
        else:
            self.emit(ToolInputDelta(piece, block.index, block.call_id, self.message_id, self.parent_call_id))
