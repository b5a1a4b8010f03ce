"""Text blocks taken apart: what `route_tags` and `structured_tools` stand on."""

from collections.abc import Iterator
from itertools import count, repeat
from typing import Any, ClassVar, TypeAlias

from msgspec.structs import replace

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
)
from penstock.operators.source_block import BlockReader, SourceBlock, SplitMessage
from penstock.operators.stage import Stage

__all__ = ["SplitBlocks"]

_Numbered: TypeAlias = BlockStart | BlockStop | ThinkingDelta | ToolInputDelta | Thinking | ToolInvocation

KEPT_MESSAGES = 16
"""How many messages are remembered, for finals that come late."""


class SplitBlocks(Stage[Event, Event]):
    """Gives every text block to a reader, and numbers all blocks of a message anew, in order of appearance.

    Deltas, finals and the named final message of a turn go through the same reader, so that the stream and what is
    kept of it are taken apart alike. Everything else passes in order. What a reader holds back leaves at the end of
    its block or message, before a fatal error, and at the end of the input.
    """

    __slots__ = ("_block", "_call_ids", "_messages", "_nowhere", "_read")

    def __init__(self, read: BlockReader, call_ids: Iterator[str] | None = None) -> None:
        self._read = read
        self._messages: dict[tuple[str, str], SplitMessage] = {}
        self._call_ids = call_ids or (f"call-{number}" for number in count(1))
        self._nowhere = SourceBlock(SplitMessage("", "", self._pass, self._call_ids), -1, read)
        self._block = self._nowhere
        """The block that text came for last."""

    def feed(self, item: Event) -> None:
        if type(item) is TextDelta:
            block = self._block
            if (
                item.block_index != block.source_index
                or item.message_id != block.message_id
                or item.parent_call_id != block.parent
                or item.replace
            ):
                self._text_delta(item)
                return
            text = item.text
            one, two, three = block.turns
            if one in text or two in text or three in text or not text or text.isspace():
                block.push(text)
                return
            block.said = text
            if not block.is_text:
                self.emit(ThinkingDelta(text, block.index, item.message_id, item.parent_call_id))
            elif block.index == item.block_index:
                self.emit(item)
            else:
                self.emit(TextDelta(text, block.index, item.message_id, item.parent_call_id))
        else:
            handler = self._handlers.get(type(item))
            if handler is None:
                self.emit(item)
            else:
                handler(self, item)

    def finish(self) -> None:
        self._stop_all()

    # ── text ─────────────────────────────────────────────────────────────────────────────────────────────

    def _text_delta(self, delta: TextDelta) -> None:
        block = self._block = self._source_block(delta)
        if delta.replace:
            block.replace(delta.text)
        else:
            block.push(delta.text)

    def _text(self, final: Text) -> None:
        self._source_block(final).final(final)

    def _source_block(self, event: TextDelta | Text) -> SourceBlock:
        message = self._message(event.message_id, event.parent_call_id)
        block = message.blocks.get(event.block_index)
        if block is None:
            block = SourceBlock(message, event.block_index, self._read)
            message.blocks[event.block_index] = block
        return block

    # ── messages and blocks ──────────────────────────────────────────────────────────────────────────────

    def _message(self, message_id: str, parent: str) -> SplitMessage:
        message = self._messages.get((parent, message_id))
        if message is None:
            message = SplitMessage(message_id, parent, self._pass, self._call_ids)
            self._messages[parent, message_id] = message
        return message

    def _pass(self, event: Event) -> None:
        self.emit(event)

    def _message_start(self, start: MessageStart) -> None:
        self._block = self._nowhere
        key = (start.parent_call_id, start.message_id)
        if key in self._messages and self._messages[key].is_over:
            del self._messages[key]
        self._message(start.message_id, start.parent_call_id)
        if len(self._messages) > KEPT_MESSAGES:
            oldest = next((key for key, message in self._messages.items() if message.is_over), None)
            if oldest is not None:
                del self._messages[oldest]
        self.emit(start)

    def _message_stop(self, stop: MessageStop) -> None:
        message = self._message(stop.message_id, stop.parent_call_id)
        _stop_blocks(message)
        message.is_over = True
        self.emit(stop)

    def _block_start(self, start: BlockStart) -> None:
        message = self._message(start.message_id, start.parent_call_id)
        if start.kind == "text":
            # It begins with its first character, if that is text at all.
            self._block = self._nowhere
            message.blocks[start.block_index] = SourceBlock(message, start.block_index, self._read)
            return
        message.indexes.pop(start.block_index, None)
        self._renumber(start)

    def _block_stop(self, stop: BlockStop) -> None:
        message = self._message(stop.message_id, stop.parent_call_id)
        block = message.blocks.get(stop.block_index)
        if block is not None:
            block.stop()
        else:
            self._renumber(stop)

    def _renumber(self, event: _Numbered) -> None:
        message = self._message(event.message_id, event.parent_call_id)
        message.has_spoken = True
        index = message.indexes.get(event.block_index)
        if index is None:
            index = message.indexes[event.block_index] = message.take_index()
        self.emit(event if index == event.block_index else replace(event, block_index=index))

    # ── endings ──────────────────────────────────────────────────────────────────────────────────────────

    def _error(self, error: StreamError) -> None:
        if error.is_fatal:
            for message in self._messages.values():
                for block in message.blocks.values():
                    block.settle()
        self.emit(error)

    def _turn_completed(self, completed: TurnCompleted) -> None:
        self._stop_all()
        if completed.final_message:
            completed = replace(completed, final_message=self._visible(completed.final_message))
        self.emit(completed)

    def _visible(self, text: str) -> str:
        """The visible part of a whole message; one that is nothing but thinking has lost its tags already."""
        for has_spoken in (False, True):
            out: list[Event] = []
            message = SplitMessage("", "", out.append, repeat(""))
            message.has_spoken = has_spoken
            SourceBlock(message, 0, self._read).final(Text(text, 0))
            visible = "".join([event.text for event in out if type(event) is Text])
            if visible:
                break
        return visible

    def _stop_all(self) -> None:
        for message in self._messages.values():
            _stop_blocks(message)

    _handlers: ClassVar[dict[type, Any]] = {
        MessageStart: _message_start,
        MessageStop: _message_stop,
        BlockStart: _block_start,
        BlockStop: _block_stop,
        ThinkingDelta: _renumber,
        ToolInputDelta: _renumber,
        Text: _text,
        Thinking: _renumber,
        ToolInvocation: _renumber,
        StreamError: _error,
        TurnCompleted: _turn_completed,
    }


def _stop_blocks(message: SplitMessage) -> None:
    for block in message.blocks.values():
        block.stop()
