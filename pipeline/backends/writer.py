"""What every backend writes its messages with: balanced blocks, deltas merged by the chunk."""

import json
from collections.abc import Callable, Hashable, Iterator
from itertools import count
from typing import Any, Literal

import orjson

from penstock.events import (
    BlockKind,
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
)

__all__ = ["Block", "MessageWriter", "argument_text", "mended", "numbered_ids", "parsed_arguments"]


def numbered_ids(word: str = "message") -> Iterator[str]:
    """Ids for messages and calls that come without: `message-1`, `message-2`, …"""
    return map(f"{word}-{{}}".format, count(1))


def parsed_arguments(text: str) -> tuple[Any, bool]:
    """A tool call's argument text as a value, and whether it is malformed (the value is then the text itself)."""
    if not text or text.isspace():
        return {}, False
    try:
        return orjson.loads(text), False
    except orjson.JSONDecodeError:
        return text, True


def argument_text(value: Any) -> str:
    """A tool call's input, sent as a value, as the text it would have been streamed as."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a number beyond 64 bits, half a surrogate pair
        return json.dumps(value)


def mended(text: str) -> str:
    """Surrogates that make a character together are that character; one alone is U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Block:
    """One block of the message under way, under whatever key its backend knows it by."""

    __slots__ = (
        "call_id",
        "half",
        "has_content",
        "has_final",
        "index",
        "is_open",
        "is_refusal",
        "is_server_side",
        "kept",
        "kind",
        "signature",
        "tool_name",
    )

    def __init__(self, kind: BlockKind, index: int, call_id: str, tool_name: str) -> None:
        self.kind = kind
        self.index = index
        self.call_id = call_id
        self.tool_name = tool_name
        self.is_open = True
        self.has_content = False
        self.has_final = False
        self.is_refusal = False
        self.is_server_side = False
        self.signature = ""
        self.half = ""
        # Pieces are kept only where the final says more than the deltas do, so that only the writer can make it.
        self.kept: list[str] | None = [] if kind == "thinking" else None


class MessageWriter:
    """Writes the messages of one conversation as balanced events.

    A backend says what it saw; the writer sees to it that a block is open before its delta and closed before
    the message is, that an empty delta opens nothing, and that indexes count up from 0 in order of appearance.
    Deltas of the same block are held until something else is written or `settle` is called, and leave as one.

    It writes finals only where they say what no delta can (a signature, a refusal, a call the backend runs
    itself), inside their block, right before its stop, and for what a backend sends whole (`whole_text` …).
    The rest are made further down, by `finalize`.
    """

    __slots__ = (
        "_count", "_held", "_held_block", "_holds", "_is_cut", "_message_ids", "blocks", "emit", "is_open",
        "may_get_halves", "message_id", "parent_call_id", "running",
    )  # fmt: skip

    def __init__(
        self, emit: Callable[[Event], object], message_ids: Iterator[str], parent_call_id: str = ""
    ) -> None:
        self.emit = emit
        self.parent_call_id = parent_call_id
        self.message_id = ""
        self.is_open = False
        self.may_get_halves = False
        """Whether a piece may end in the first half of a surrogate pair and the next begin with the other."""
        self.blocks: dict[Hashable, Block] = {}
        self.running: Block | None = None
        """The running text or thinking block."""
        self._message_ids = message_ids
        self._count = 0
        self._held: list[str] = []
        self._held_block: Block | None = None
        self._holds: BlockKind | Literal[""] = (
            ""  # the kind of the running block, while its deltas are what is held
        )
        self._is_cut = False

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
        self.running = None
        self._is_cut = False
        self.emit(MessageStart(self.message_id, model, parent_call_id=self.parent_call_id))

    def stop(self, stop_reason: str = "") -> None:
        """End the message under way, closing what is open in it; without one, nothing happens."""
        if not self.is_open:
            return
        self.close_all()
        self.is_open = False
        self.emit(MessageStop(self.message_id, stop_reason, self.parent_call_id))

    def cut(self) -> None:
        """End the message under way because its stream broke off (say so with a `StreamError` first).

        Whoever turns blocks into finals knows by that error, before the block stops, that a tool call may lack
        its end; the writer itself makes no call of arguments that do not parse.
        """
        self._is_cut = True
        self.stop()

    # ── blocks under a key, for backends that announce theirs ────────────────────────────────────────────

    def open(self, key: Hashable, kind: BlockKind, call_id: str = "", tool_name: str = "") -> Block:
        """Open a block under `key`; one that stood there before is closed first."""
        self.close(key)
        block = self.blocks[key] = self._begin(kind, call_id, tool_name)
        return block

    def write(self, block: Block, piece: str) -> None:
        """Add to a block; an empty piece is nothing."""
        if not piece:
            return
        if block is not self._held_block:
            self.settle()
            self._held_block = block
            self._holds = ""
            block.has_content = True
        self._held.append(piece)

    def close(self, key: Hashable) -> None:
        """Close the block under `key`, if it is open."""
        block = self.blocks.get(key)
        if block is None or not block.is_open:
            return
        self.settle()
        if block.half:
            block.half = ""
            self.write(block, "\ufffd")
            self.settle()
        block.is_open = False
        if block is self.running:
            self.running = None
        if (block.signature or block.is_refusal or block.is_server_side) and not block.has_final:
            self._final(block)
        self.emit(BlockStop(block.index, self.message_id, self.parent_call_id))

    def close_all(self) -> None:
        """Close every open block, in order of appearance."""
        for key in list(self.blocks):
            self.close(key)
        self.settle()

    def _begin(self, kind: BlockKind, call_id: str = "", tool_name: str = "") -> Block:
        block = Block(kind, self._next_index(), call_id, tool_name)
        self.emit(BlockStart(kind, block.index, self.message_id, call_id, tool_name, self.parent_call_id))
        return block

    def _next_index(self) -> int:
        if not self.is_open:
            self.start()
        self.settle()
        self._count += 1
        return self._count - 1

    # ── running text, for backends that only send pieces ─────────────────────────────────────────────────

    def text(self, piece: str) -> None:
        """Add visible text, opening a text block where another kind (or nothing) ran before."""
        if self._holds == "text" and piece:
            self._held.append(piece)
        else:
            self._run("text", piece)

    def thinking(self, piece: str) -> None:
        """Add thinking, opening a thinking block where another kind (or nothing) ran before."""
        if self._holds == "thinking" and piece:
            self._held.append(piece)
        else:
            self._run("thinking", piece)

    def refusal(self, piece: str) -> None:
        """Add text that is a refusal, in a text block of its own."""
        self._run("text", piece, is_refusal=True)

    def end_run(self, copy: str = "") -> None:
        """Close the running block (with the backend's full copy, if it sends one); the next piece opens another."""
        block = self.running
        if block is None:
            return
        if copy:
            self.settle()
            final = Text if block.kind == "text" else Thinking
            self.emit(final(copy, block.index, self.message_id, self.parent_call_id))
        self.close(block)

    def _run(self, kind: BlockKind, piece: str, is_refusal: bool = False) -> None:
        if not piece:
            return
        block = self.running
        if block is None or block.kind != kind or block.is_refusal is not is_refusal:
            self.end_run()
            block = self.running = self._begin(kind)
            self.blocks[block] = block  # its own key: no backend's key can collide with it
            if is_refusal:
                block.is_refusal = True
                block.kept = []
        self.write(block, piece)
        self._holds = "" if is_refusal else kind

    # ── what only the backend knows about a block ────────────────────────────────────────────────────────

    def sign(self, block: Block, signature: str) -> None:
        """The backend's signature of a thinking block, open or closed; the last one counts."""
        block.signature = signature
        if not block.is_open:
            self.settle()
            self._final(block)

    def copy(self, block: Block, final: Text | Thinking | ToolInvocation) -> None:
        """The backend's own full copy of a block it streams; what the deltas built up gives way to it."""
        block.has_final = True
        self.tell(final)

    def run_by_backend(self, block: Block) -> None:
        """The backend runs this tool call itself; to be said before its first delta."""
        block.is_server_side = True
        block.kept = []

    def _final(self, block: Block) -> None:
        text = "".join(block.kept or ())
        index, message_id, parent = block.index, self.message_id, self.parent_call_id
        if block.kind == "thinking":
            self.emit(Thinking(text, index, message_id, parent, block.signature))
        elif block.kind == "text":
            self.emit(Text(text, index, message_id, parent, is_refusal=True))
        else:
            value, is_malformed = parsed_arguments(text)
            if not (self._is_cut and (is_malformed or not text.strip())):
                self.emit(
                    ToolInvocation(
                        block.call_id, block.tool_name, value, index, message_id, parent, is_malformed, True
                    )
                )

    # ── blocks that come whole: a final alone, without start and stop ────────────────────────────────────

    def whole_text(self, text: str, is_refusal: bool = False) -> None:
        """A text block that was never streamed; empty text is nothing."""
        if text:
            self.end_run()
            text = mended(text) if self.may_get_halves else text
            self.emit(Text(text, self._next_index(), self.message_id, self.parent_call_id, is_refusal))

    def whole_thinking(self, text: str, signature: str = "") -> None:
        """A thinking block that was never streamed; one with only a signature is kept too."""
        if text or signature:
            self.end_run()
            text = mended(text) if self.may_get_halves else text
            self.emit(Thinking(text, self._next_index(), self.message_id, self.parent_call_id, signature))

    def whole_tool(
        self,
        call_id: str,
        tool_name: str,
        value: Any,
        is_malformed: bool = False,
        is_server_side: bool = False,
    ) -> ToolInvocation:
        """A tool call that was never streamed, its input parsed; gives back what it wrote."""
        self.end_run()
        index = self._next_index()
        call = ToolInvocation(
            call_id, tool_name, value, index, self.message_id, self.parent_call_id, is_malformed, is_server_side
        )
        self.emit(call)
        return call

    # ── merging and telling ──────────────────────────────────────────────────────────────────────────────

    def tell(self, event: Event) -> None:
        """Emit an event that is no delta, after the deltas held back for merging."""
        self.settle()
        self.emit(event)

    def sender(self, block: Block) -> Callable[[str], object]:
        """What adds pieces to an open block and emits them at once; good until anything else is written."""
        return _Sender(self, block).send

    def settle(self) -> None:
        """Emit the held deltas of one block as one."""
        block = self._held_block
        if block is None:
            return
        held = self._held
        piece = held[0] if len(held) == 1 else "".join(held)
        held.clear()
        self._held_block = None
        self._holds = ""
        if self.may_get_halves:
            piece = self._joined_to_half(block, piece)
            if not piece:
                return
        if block.kept is not None:
            block.kept.append(piece)
        if block.kind == "text":
            self.emit(TextDelta(piece, block.index, self.message_id, self.parent_call_id))
        elif block.kind == "thinking":
            self.emit(ThinkingDelta(piece, block.index, self.message_id, self.parent_call_id))
        else:
            self.emit(ToolInputDelta(piece, block.index, block.call_id, self.message_id, self.parent_call_id))

    def _joined_to_half(self, block: Block, piece: str) -> str:
        piece = block.half + piece
        block.half = piece[-1] if "\ud800" <= piece[-1] <= "\udbff" else ""
        return mended(piece[:-1] if block.half else piece)


class _Sender:
    """Writes pieces to one block; it has all it needs in one place, for that is what a long answer goes through."""

    __slots__ = ("_block", "_call_id", "_delta", "_emit", "_index", "_kept", "_message_id", "_parent", "_writer")

    def __init__(self, writer: MessageWriter, block: Block) -> None:
        self._writer = writer
        self._block = block
        self._emit = writer.emit
        self._kept = block.kept
        self._delta = {"text": TextDelta, "thinking": ThinkingDelta, "tool": None}[block.kind]
        self._index = block.index
        self._call_id = block.call_id
        self._message_id = writer.message_id
        self._parent = writer.parent_call_id

    def send(self, piece: str) -> None:
        writer, delta = self._writer, self._delta
        if writer._held_block is not None or writer.may_get_halves:
            writer.write(self._block, piece)
            writer.settle()
        elif piece:
            if self._kept is not None:
                self._kept.append(piece)
            if delta is not None:
                self._emit(delta(piece, self._index, self._message_id, self._parent))
            else:
                self._emit(ToolInputDelta(piece, self._index, self._call_id, self._message_id, self._parent))
