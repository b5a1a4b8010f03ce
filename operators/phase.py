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
from penstock.growing import GrowingText, TextView
from penstock.operators.stage import Operator, Stage
from penstock.updates import AssistantUpdate, Completed, FinalMessageStart, ThinkingUpdate, Update

__all__ = ["Phase", "phase"]


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

    __slots__ = ("_blocks", "_has_started", "_only", "_round_is_over", "_text", "final_message")

    def __init__(self) -> None:
        self.final_message: str | None = None
        """What the turn was completed with, once it is."""
        self._has_started = False
        self._round_is_over = True
        self._text = GrowingText()
        self._blocks: dict[int, GrowingText] = {}
        """The blocks of the round; of an only one, this is the round's text itself."""
        self._only = -1
        """The index of an only block of a round that is not over."""

    def feed(self, item: Event) -> None:
        self.emit(item)
        if (
            type(item) is TextDelta
            and item.block_index == self._only
            and not item.parent_call_id
            and not item.replace
        ):
            text = self._text
            text.append(item.text)
            self.emit(AssistantUpdate(TextView(text, text.length), item.text, False, item.message_id))
            return
        handler = self._handlers.get(type(item))
        if handler is not None:
            handler(self, item)

    def _thinking_delta(self, delta: ThinkingDelta) -> None:
        if not self._has_started and not delta.parent_call_id:
            self.emit(ThinkingUpdate(delta.text))

    def _message_start(self, start: MessageStart) -> None:
        if not start.parent_call_id:
            self._blocks = {}
            self._end_round()

    def _begin_round(self, event: BlockStart | ToolInvocation) -> None:
        if not event.parent_call_id:
            self._end_round()

    def _end_round(self) -> None:
        self._round_is_over = True
        self._only = -1

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
        elif not built.adopt(final.text):
            self._replace_block(final.block_index, final.text, final.message_id)

    def _append(self, block_index: int, piece: str, message_id: str) -> None:
        is_new = self._round_is_over
        if is_new:
            self._round_is_over = False
            self._text = GrowingText()
            self._blocks = {block_index: self._text}
            self._only = block_index
        elif block_index not in self._blocks:
            for only, block in self._blocks.items():
                if block is self._text:
                    self._blocks[only] = GrowingText(str(block))
            self._blocks[block_index] = GrowingText()
            self._only = -1
        block = self._blocks[block_index]
        if block is not self._text:
            block.append(piece)
        self._text.append(piece)
        self._show(piece, is_new, message_id)

    def _replace_block(self, block_index: int, text: str, message_id: str) -> None:
        self._only = -1
        self._blocks[block_index] = GrowingText(text)
        if len(self._blocks) == 1:
            self._text = self._blocks[block_index]
        else:
            self._text = GrowingText("".join([str(block) for block in self._blocks.values()]))
        self._show(str(self._text), True, message_id)

    def _show(self, piece: str, is_new: bool, message_id: str) -> None:
        if not self._has_started:
            self._has_started = True
            self.emit(FinalMessageStart())
        self.emit(AssistantUpdate(self._text.view(), piece, is_new, message_id))

    def _turn_completed(self, event: TurnCompleted) -> None:
        if self.final_message is None:
            self.final_message = str(self._text) if event.final_message is None else event.final_message
            self.emit(Completed(self.final_message, event.stop_reason, event.turn_id))

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
