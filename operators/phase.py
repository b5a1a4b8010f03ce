"""Replace, then append, then clear: the updates of a chat screen over a whole turn."""

from typing import Any, ClassVar

from penstock.events import (
    BlockStart,
    Event,
    MessageStart,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolInvocation,
    TurnCompleted,
)
from penstock.growing import GrowingText
from penstock.operators.stage import Operator, Stage
from penstock.updates import AssistantUpdate, Completed, FinalMessageStart, ThinkingUpdate, Update

__all__ = ["phase"]


class Phase(Stage[Event, Event | Update]):
    """Passes every event and follows it with the updates it causes.

        thinking*        the latest chunk; it takes the place of the one before     until text arrives
        final_message_start                                                         once a turn
        assistant*       the text so far; a later round's overwrites an earlier's   until the turn is over
        completed        clear everything, keep the final message                   once a turn

    The text of a round is what follows the last message start or tool call: when more text comes after one, it
    overwrites. So the final message is the last round's text alone, unless the turn's end names another.
    What subagents say is not part of it. A turn that ends without its `TurnCompleted` is completed on finish.
    Constant cost an event: accumulated text is a view, joined only where it is read.
    """

    def __init__(self) -> None:
        self._has_started = False
        self._is_completed = False
        self._round_is_over = True
        self._text = GrowingText()
        self._blocks: dict[int, GrowingText] = {}

    def feed(self, item: Event) -> None:
        self.emit(item)
        handler = self._handlers.get(type(item))
        if handler is not None:
            handler(self, item)

    def _thinking_delta(self, delta: ThinkingDelta) -> None:
        if not self._has_started and not delta.parent_call_id:
            self.emit(ThinkingUpdate(delta.text))

    def _message_start(self, start: MessageStart) -> None:
        if not start.parent_call_id:
            self._blocks = {}
            self._round_is_over = True

    def _begin_round(self, event: BlockStart | ToolInvocation) -> None:
        if not event.parent_call_id:
            self._round_is_over = True

    def _block_start(self, start: BlockStart) -> None:
        if start.kind == "tool":
            self._begin_round(start)

    def _text_delta(self, delta: TextDelta) -> None:
        if delta.parent_call_id:
            return
        if delta.replace:
            self._replace_block(delta.block_index, delta.text, delta.message_id)
        else:
            self._append(delta.block_index, delta.text, delta.message_id)

    def _text_final(self, final: Text) -> None:
        if final.parent_call_id or not final.text:
            return
        built = self._blocks.get(final.block_index)
        if built is None:
            self._append(final.block_index, final.text, final.message_id)
        elif built.adopt(final.text):
            self._text.adopt(final.text)  # where the round has said no more than this
        else:
            self._replace_block(final.block_index, final.text, final.message_id)

    def _append(self, block_index: int, piece: str, message_id: str) -> None:
        is_new = self._round_is_over
        if is_new:
            self._round_is_over = False
            self._text = GrowingText()
            self._blocks = {}
        block = self._blocks.get(block_index)
        if block is None:
            block = self._blocks[block_index] = GrowingText()
        block.append(piece)
        self._text.append(piece)
        self._show(piece, is_new, message_id)

    def _replace_block(self, block_index: int, text: str, message_id: str) -> None:
        self._blocks[block_index] = GrowingText(text)
        self._text = GrowingText()
        for block in self._blocks.values():
            self._text.append(str(block))
        self._show(str(self._text), True, message_id)

    def _show(self, piece: str, is_new: bool, message_id: str) -> None:
        if not self._has_started:
            self._has_started = True
            self.emit(FinalMessageStart())
        self.emit(AssistantUpdate(self._text.view(), piece, is_new, message_id))

    def _turn_completed(self, event: TurnCompleted) -> None:
        if not self._is_completed:
            self._is_completed = True
            message = str(self._text) if event.final_message is None else event.final_message
            self.emit(Completed(message, event.stop_reason, event.turn_id))

    def finish(self) -> None:
        self._turn_completed(TurnCompleted())

    _handlers: ClassVar[dict[type, Any]] = {
        TextDelta: _text_delta,
        ThinkingDelta: _thinking_delta,
        Text: _text_final,
        MessageStart: _message_start,
        BlockStart: _block_start,
        ToolInvocation: _begin_round,
        TurnCompleted: _turn_completed,
    }


def phase() -> Operator[Event, Event | Update]:
    """Each event, followed by the screen updates it causes."""
    return Operator("phase", Phase)
