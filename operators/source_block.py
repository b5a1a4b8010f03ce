"""One text block of the backend, and the blocks that it turns out to be."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import orjson

from penstock.events import (
    BlockKind,
    BlockStart,
    BlockStop,
    Event,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
)
from penstock.operators.cursor import Cursor, Reading

__all__ = ["BlockReader", "SourceBlock", "SplitMessage", "Turns", "turns_of"]

Turns: TypeAlias = tuple[str, str, str]
"""Up to three characters that matter to a reader (fewer are filled up with one that text does not have)."""

ASK: Turns = ("", "", "")
"""Every text has the empty string in it: the reader has to look at all of it."""


def turns_of(characters: str) -> Turns:
    """The characters a reader looks for, as far as three are enough for them."""
    if len(characters) > 3:
        return ASK
    filled = characters.ljust(3, "\0")
    return filled[0], filled[1], filled[2]


class SplitMessage:
    """The message that blocks belong to: whose it is, and how its blocks are numbered."""

    __slots__ = (
        "blocks",
        "call_ids",
        "emit",
        "has_spoken",
        "indexes",
        "is_over",
        "message_id",
        "next_index",
        "parent",
    )

    def __init__(
        self, message_id: str, parent: str, emit: Callable[[Event], object], call_ids: Iterator[str]
    ) -> None:
        self.message_id = message_id
        self.parent = parent
        self.emit = emit
        self.call_ids = call_ids
        self.next_index = 0
        self.indexes: dict[int, int] = {}
        self.blocks: dict[int, SourceBlock] = {}
        self.has_spoken = False
        self.is_over = False

    def take_index(self) -> int:
        """The next block's index."""
        self.next_index += 1
        return self.next_index - 1


class _Segment:
    """One block that came out of a text block."""

    __slots__ = ("call_id", "index", "is_open", "kind", "tool_name")

    def __init__(self, kind: BlockKind, index: int, call_id: str) -> None:
        self.kind = kind
        self.index = index
        self.call_id = call_id
        self.tool_name = ""
        self.is_open = True


class SourceBlock:
    """What a reader finds in a text block, written as balanced blocks.

    A block opens with its first character, and closes where another begins. The text can come a second time, as a
    final or in place of what was streamed. The blocks known by then are found again in order: an open one goes on,
    a closed one gets a final, and one that is no longer there becomes empty.
    """

    __slots__ = (
        "_collected",
        "_current",
        "_cursor",
        "_final",
        "_has_streamed",
        "_known",
        "_message",
        "_read",
        "_reading",
        "_replaces",
        "_segments",
        "index",
        "is_first",
        "is_text",
        "message_id",
        "parent",
        "said",
        "source_index",
        "turns",
    )

    def __init__(self, message: SplitMessage, source_index: int, read: "BlockReader") -> None:
        self.source_index = source_index
        self.message_id = message.message_id
        self.parent = message.parent
        self.is_first = False
        """Whether the message begins with this block."""

        self.turns = ASK
        """Text without these characters belongs to the open block (`index`, `is_text`) as it is."""
        self.said = ""
        """The last text that went that way, or the reader's note of what it saw last."""
        self.index = -1
        self.is_text = True

        self._message = message
        self._read = read
        self._reading: Reading[None] | None = None
        self._cursor = Cursor()
        self._segments: list[_Segment] = []
        self._current: _Segment | None = None
        self._known: list[_Segment] = []
        self._collected: list[str] | None = None
        self._replaces = False
        self._final: Text | None = None
        self._has_streamed = False

    # ── what the backend sends ───────────────────────────────────────────────────────────────────────────

    def push(self, text: str) -> None:
        """More of the text."""
        self._has_streamed = True
        self._feed(text)

    def replace(self, text: str) -> None:
        """Other text, in place of all so far."""
        self._reading = None
        self._replay()
        self.push(text)
        self._forget_known()

    def settle(self) -> None:
        """The text is all there: what is held back goes out. An open block stays open."""
        self.turns = ASK
        if self._reading is not None:
            self._cursor.ended = True
            for _ in self._reading:
                pass
            self._reading = None

    def stop(self) -> None:
        """The block is over."""
        self.settle()
        self._close()

    def final(self, final: Text) -> None:
        """The whole text, as the truth about every block in it."""
        self.settle()
        still_open = self._current
        self._replay()
        self._final = final
        self._feed(final.text)
        self.settle()
        self._close()
        self._forget_known()
        self._final = None
        self._current = still_open

    def _feed(self, text: str) -> None:
        self.turns = ASK
        if not text:
            return
        if not self._message.has_spoken:
            self._message.has_spoken = self.is_first = True
        if self._reading is None:
            self._cursor = Cursor(text)
            self._reading = self._read(self._cursor, self)
        else:
            self._cursor.add(text)
        next(self._reading, None)

    # ── what the reader finds ────────────────────────────────────────────────────────────────────────────

    def text(self, piece: str) -> None:
        """Visible text."""
        self._write("text", piece)

    def thinking(self, piece: str) -> None:
        """Thinking."""
        self._write("thinking", piece)

    def call(self, name: str) -> None:
        """A tool call begins."""
        self._open("tool", name)

    def arguments(self, piece: str) -> None:
        """More of the call's argument text."""
        self._write("tool", piece)

    def end(self, kind: BlockKind) -> None:
        """The open block is over, if it is of this kind."""
        if self._current is not None and self._current.kind == kind:
            self._close()

    def abandon(self, code: str, message: str) -> None:
        """The call will never be whole: say so, before its block stops, so that nobody takes it for one."""
        current = self._current
        if current is None or current.kind != "tool":
            self.error(code, message)
            return
        self.error(code, message, current.call_id)
        if self._collected is None:
            self._close()
        else:
            self._current = self._collected = None

    def error(self, code: str, message: str, call_id: str = "") -> None:
        """Trouble that the stream survives. What deltas told, their final does not tell again."""
        if self._final is not None and self._has_streamed:
            return
        error = StreamError(
            code, message, is_fatal=False, call_id=call_id, message_id=self.message_id, parent_call_id=self.parent
        )
        self._message.emit(error)

    def rest(self, turns: Turns) -> None:
        """Nothing is held back: text without `turns` belongs to the open block as it is."""
        current = self._current
        if current is not None and self._collected is None and not self._replaces:
            self.turns = turns
            self.index = current.index
            self.is_text = current.kind == "text"

    # ── blocks ───────────────────────────────────────────────────────────────────────────────────────────

    def _open(self, kind: BlockKind, name: str = "") -> _Segment:
        self._close()
        segment = self._find_known(kind)
        if segment is None:
            message = self._message
            segment = _Segment(kind, message.take_index(), next(message.call_ids) if kind == "tool" else "")
            self._segments.append(segment)
            if self._final is None:
                message.emit(BlockStart(kind, segment.index, self.message_id, segment.call_id, name, self.parent))
            else:
                segment.is_open = False
                self._collected = []
        elif segment.is_open and self._final is None:
            self._replaces = True
        else:
            self._collected = []
        segment.tool_name = name
        self._current = segment
        return segment

    def _write(self, kind: BlockKind, piece: str) -> None:
        segment = self._current
        if not piece:
            return
        if segment is None or segment.kind != kind:
            segment = self._open(kind)
        if self._collected is not None:
            self._collected.append(piece)
        elif kind == "tool":
            self._message.emit(ToolInputDelta(piece, segment.index, segment.call_id, self.message_id, self.parent))
        else:
            delta = TextDelta if kind == "text" else ThinkingDelta
            self._message.emit(delta(piece, segment.index, self.message_id, self.parent, self._replaces))
            self._replaces = False

    def _close(self) -> None:
        segment, collected = self._current, self._collected
        self._current = self._collected = None
        if segment is None:
            return
        if collected is not None:
            self._message.emit(self._final_of(segment, "".join(collected)))
        elif segment.is_open:
            segment.is_open = False
            self._message.emit(BlockStop(segment.index, self.message_id, self.parent))

    def _final_of(self, segment: _Segment, text: str) -> Event:
        if segment.kind == "text":
            is_refusal = self._final is not None and self._final.is_refusal
            return Text(text, segment.index, self.message_id, self.parent, is_refusal)
        if segment.kind == "thinking":
            return Thinking(text, segment.index, self.message_id, self.parent)
        arguments: Any = {}
        is_malformed = False
        if text.strip():
            try:
                arguments = orjson.loads(text)
            except orjson.JSONDecodeError:
                arguments, is_malformed = text, True
        return ToolInvocation(
            segment.call_id,
            segment.tool_name,
            arguments,
            segment.index,
            self.message_id,
            self.parent,
            is_malformed,
        )

    # ── the same text again ──────────────────────────────────────────────────────────────────────────────

    def _replay(self) -> None:
        self._known = self._segments[::-1]
        self._current = self._collected = None
        self._replaces = False

    def _find_known(self, kind: BlockKind) -> _Segment | None:
        known = self._known
        while known:
            segment = known.pop()
            # Argument deltas cannot be taken back, so a call under way cannot go on with others.
            if segment.kind == kind and not (kind == "tool" and segment.is_open and self._final is None):
                return segment
            self._forget(segment)
        return None

    def _forget_known(self) -> None:
        while self._known:
            self._forget(self._known.pop())

    def _forget(self, segment: _Segment) -> None:
        """The block is not in the text any more: what it said is taken back. A call that was made stays made."""
        emit = self._message.emit
        is_live = segment.is_open and self._final is None
        if segment.kind == "tool":
            if is_live:
                self.error(
                    "incomplete_tool_call", f"the call of {segment.tool_name} was taken back", segment.call_id
                )
        elif is_live:
            delta = TextDelta if segment.kind == "text" else ThinkingDelta
            emit(delta("", segment.index, self.message_id, self.parent, replace=True))
        else:
            emit(self._final_of(segment, ""))
        if is_live:
            segment.is_open = False
            emit(BlockStop(segment.index, self.message_id, self.parent))


BlockReader: TypeAlias = Callable[[Cursor, SourceBlock], Reading[None]]
