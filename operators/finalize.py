"""Deltas and finals reconciled, block by block: every block ends in exactly one truth."""

from typing import Any, ClassVar, TypeAlias

import orjson

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
)
from penstock.long_json import parse_json
from penstock.operators.stage import Operator, Stage

__all__ = ["finalize"]

BlockFinal: TypeAlias = Text | Thinking | ToolInvocation
Key: TypeAlias = tuple[str, int]

CUT_SHORT = {"", "length", "max_tokens", "max_output_tokens", "MAX_TOKENS", "error", "incomplete", "content_filter"}
"""Stop reasons after which arguments that do not parse were cut off, rather than written wrong."""


NOT_A_CALL = {"incomplete_tool_call", "malformed_tool_call"}
"""What is said of a call inside its block, by those who read it out of text, where nothing may come of it."""


class _Building:
    """A block while its deltas arrive."""

    __slots__ = ("block_index", "copy", "parent_call_id", "pieces", "start")

    def __init__(self, start: BlockStart) -> None:
        self.start = start
        self.block_index = start.block_index
        self.parent_call_id = start.parent_call_id
        self.pieces: list[str] = []
        self.copy: BlockFinal | None = None


class Finalize(Stage[Event, Event]):
    """Gives every block its final, right after its `BlockStop`.

    Where the backend sends a full copy, the copy is the truth: one that arrives while the block is open takes the
    place of what the deltas built up, one that arrives later is dropped if it says the same and passes, as a
    replacement, if it does not. Where the backend sends none, the joined deltas are the final. Finals of
    blocks that never streamed pass as they are; the same one twice passes once. An empty text or thinking
    block has no final.

    Tool arguments are parsed once, here. Arguments that do not parse wait for the `MessageStop`: cut off by a
    limit or a torn stream they are a `StreamError` of code `incomplete_tool_call`, never an invocation;
    otherwise they are an invocation with `is_malformed`, the text kept as it was.

    Completion, error and disposal: nothing is held past the block it belongs to, except such arguments, which
    become the error. Linear: a delta is one append, a block one join.
    """

    __slots__ = ("_done", "_latest", "_open", "_torn", "_unparsed")

    def __init__(self) -> None:
        self._open: dict[Key, _Building] = {}
        self._latest: _Building | None = None
        """The block of the latest delta, as long as nothing else has come."""
        self._done: dict[Key, BlockFinal] = {}
        self._unparsed: dict[Key, _Building] = {}
        self._torn = False

    def feed(self, item: Event) -> None:
        kind = type(item)
        if kind is TextDelta or kind is ThinkingDelta:
            delta: TextDelta | ThinkingDelta = item  # type: ignore[assignment]
            building = self._latest
            if (
                building is None
                or building.block_index != delta.block_index
                or building.parent_call_id != delta.parent_call_id
            ):
                building = self._latest = self._open.get((delta.parent_call_id, delta.block_index))
            if building is not None:
                if delta.replace:
                    building.pieces.clear()
                building.pieces.append(delta.text)
            self.emit_text(delta)
        else:
            self._latest = None
            handler = self._handlers.get(kind)
            if handler is None:
                self.emit(item)
            else:
                handler(self, item)

    def _tool_input(self, delta: ToolInputDelta) -> None:
        building = self._open.get((delta.parent_call_id, delta.block_index))
        if building is not None:
            building.pieces.append(delta.json)
        self.emit(delta)

    def _message_start(self, start: MessageStart) -> None:
        parent = start.parent_call_id
        self._torn = False
        for kept in (self._open, self._done, self._unparsed):
            for key in [key for key in kept if key[0] == parent]:
                del kept[key]
        self.emit(start)

    def _block_start(self, start: BlockStart) -> None:
        self._open[start.parent_call_id, start.block_index] = _Building(start)
        self.emit(start)

    def _block_stop(self, stop: BlockStop) -> None:
        self.emit(stop)
        key = (stop.parent_call_id, stop.block_index)
        building = self._open.pop(key, None)
        if building is None:
            return
        if building.copy is not None:
            self._settle_on(key, building.copy)
        elif building.start.kind == "tool":
            self._invoke(key, building)
        elif text := "".join(building.pieces):
            start = building.start
            final = Text if start.kind == "text" else Thinking
            self._settle_on(key, final(text, start.block_index, start.message_id, start.parent_call_id))

    def _invoke(self, key: Key, building: _Building) -> None:
        arguments = "".join(building.pieces)
        building.pieces.clear()  # they are as long as the arguments, and what is parsed will be so, too
        if arguments and not arguments.isspace():
            try:
                parsed = parse_json(arguments)
            except orjson.JSONDecodeError:
                pass
            else:
                del arguments
                self._settle_on(key, _invocation(building.start, parsed))
                return
        # No arguments at all mean none were needed, unless the stream broke before they came.
        building.pieces.append(arguments)
        self._unparsed[key] = building

    def _message_stop(self, stop: MessageStop) -> None:
        is_cut = self._torn or stop.stop_reason in CUT_SHORT
        for key in [key for key in self._unparsed if key[0] == stop.parent_call_id]:
            self._judge(key, self._unparsed.pop(key), is_cut)
        self.emit(stop)

    def _judge(self, key: Key, building: _Building, is_cut: bool) -> None:
        start = building.start
        (arguments,) = building.pieces
        if is_cut:
            self.emit(
                StreamError(
                    "incomplete_tool_call",
                    f"the call of {start.tool_name or 'a tool'} was cut off after {len(arguments)} characters",
                    is_fatal=False,
                    call_id=start.call_id,
                    message_id=start.message_id,
                    parent_call_id=start.parent_call_id,
                )
            )
        elif arguments.strip():
            self._settle_on(key, _invocation(start, arguments, is_malformed=True))
        else:
            self._settle_on(key, _invocation(start, {}))

    def _final(self, final: BlockFinal) -> None:
        key = (final.parent_call_id, final.block_index)
        building = self._open.get(key)
        if building is not None:
            building.copy = final
            return
        self._unparsed.pop(key, None)
        if self._done.get(key) != final:
            self._settle_on(key, final)

    def _settle_on(self, key: Key, final: BlockFinal) -> None:
        self._done[key] = final
        self.emit(final)

    def _error(self, error: StreamError) -> None:
        self._torn = self._torn or error.is_fatal
        if error.code in NOT_A_CALL:
            for key in [key for key, building in self._open.items() if building.start.call_id == error.call_id]:
                del self._open[key]
        self.emit(error)

    def finish(self) -> None:
        for key, building in self._unparsed.items():
            self._judge(key, building, is_cut=True)
        self._unparsed.clear()

    _handlers: ClassVar[dict[type, Any]] = {
        ToolInputDelta: _tool_input,
        BlockStart: _block_start,
        BlockStop: _block_stop,
        MessageStart: _message_start,
        MessageStop: _message_stop,
        Text: _final,
        Thinking: _final,
        ToolInvocation: _final,
        StreamError: _error,
    }


def _invocation(start: BlockStart, arguments: Any, is_malformed: bool = False) -> ToolInvocation:
    return ToolInvocation(
        start.call_id,
        start.tool_name,
        arguments,
        start.block_index,
        start.message_id,
        start.parent_call_id,
        is_malformed,
    )


def finalize() -> Operator[Event, Event]:
    """Deltas and finals reconciled: each block's truth once, after its `BlockStop`."""
    return Operator("finalize", Finalize)
