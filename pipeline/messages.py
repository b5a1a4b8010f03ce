"""The conversation as state: messages with text, thinking and tool entries, as immutable snapshots.

`MessageState.apply` takes coalesced events and keeps `messages` current. Every snapshot shares all but the
changed path with the one before (`penstock.vector`) and its texts are views (`penstock.growing`), so that an
update costs the same with 10,000 messages behind it as with 10, and whoever kept a snapshot keeps what it said.
"""

from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
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
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
    Usage,
)
from penstock.growing import GrowingText, TextView
from penstock.updates import ToolBlockUpdate, ToolStage, Update
from penstock.vector import Vector

__all__ = ["Entry", "Message", "MessageState", "Messages", "TextEntry", "ThinkingEntry", "ToolEntry"]


class TextEntry(Struct, frozen=True):
    """A piece of the assistant's visible text."""

    content: TextView
    is_streaming: bool = False
    is_refusal: bool = False

    @property
    def text(self) -> str:
        return str(self.content)


class ThinkingEntry(Struct, frozen=True):
    """A piece of the assistant's thinking."""

    content: TextView
    is_streaming: bool = False

    @property
    def text(self) -> str:
        return str(self.content)


class ToolEntry(Struct, frozen=True):
    """A tool call: its arguments as they grow, then its parsed input, then its result."""

    call_id: str
    name: str
    arguments: TextView
    is_streaming: bool = False
    input: Any = None
    output: Any = None
    is_error: bool = False
    is_done: bool = False
    stage: ToolStage = "start"
    compact_params: str = ""


Entry: TypeAlias = TextEntry | ThinkingEntry | ToolEntry


class Message(Struct, frozen=True):
    """One message. `entries` are in order of appearance; `error` tells what broke it off."""

    message_id: str
    model: str = ""
    parent_call_id: str = ""
    round: int = 0
    entries: Vector[Entry] = Vector()
    is_streaming: bool = True
    stop_reason: str = ""
    usage: Usage | None = None
    error: StreamError | None = None

    @property
    def text(self) -> str:
        """The visible text of all its text entries."""
        return "".join(entry.text for entry in self.entries if isinstance(entry, TextEntry))

    @property
    def tools(self) -> list[ToolEntry]:
        return [entry for entry in self.entries if isinstance(entry, ToolEntry)]


Messages: TypeAlias = Vector[Message]


class _Place:
    """Where a conversation's message under way sits, and which entry each of its blocks is."""

    __slots__ = ("entries", "growing", "message")

    def __init__(self, message: int) -> None:
        self.message = message
        self.entries: dict[int, int] = {}
        self.growing: dict[int, GrowingText] = {}


class MessageState:
    """Applies events to messages; several conversations (subagents) may speak at once.

    Text that arrives grows at once, and enters the tree of messages when somebody looks, or another kind of event
    comes: where nobody asks for snapshots, a delta costs one append.
    """

    __slots__ = ("_calls", "_grown", "_latest", "_latest_block", "_latest_parent", "_messages", "_places")

    takes: ClassVar[frozenset[type]]
    """The classes of items that change messages."""

    def __init__(self) -> None:
        self._messages: Messages = Vector()
        self._grown: dict[tuple[str, int], GrowingText] = {}
        # Where the latest text went, as long as nobody has looked and no other kind of event has come.
        self._latest: GrowingText | None = None
        self._latest_block = -1
        self._latest_parent = ""
        self._places: dict[str, _Place] = {}
        self._calls: dict[str, tuple[int, int]] = {}

    def apply(self, item: Event | Update) -> bool:
        """Take one event or tool update in; True where it changed the messages."""
        kind = type(item)
        if kind is TextDelta or kind is ThinkingDelta:
            delta: TextDelta | ThinkingDelta = item  # type: ignore[assignment]
            latest = self._latest
            if (
                latest is None
                or delta.block_index != self._latest_block
                or delta.parent_call_id != self._latest_parent
                or delta.replace
            ):
                return self._grow(delta, delta.text, delta.replace)
            latest.append(delta.text)
            return True
        if kind is ToolInputDelta:
            return self._grow(item, item.json, replaces=False)  # type: ignore[union-attr]
        handler = self._handlers.get(kind)
        if handler is None:
            return False
        before = self.messages
        handler(self, item)
        return self._messages is not before

    @property
    def messages(self) -> Messages:
        """The conversation as it is now."""
        if self._grown:
            self._latest = None
            grown, self._grown = self._grown, {}
            for (parent_call_id, block_index), growing in grown.items():
                self._show(self._places[parent_call_id], block_index, growing)
        return self._messages

    def _show(self, place: _Place, block_index: int, growing: GrowingText) -> None:
        message = self._messages[place.message]
        index = place.entries[block_index]
        entry = message.entries[index]
        if isinstance(entry, ToolEntry):
            entry = replace(entry, arguments=growing.view())
        else:
            entry = replace(entry, content=growing.view())
        entries = message.entries.set(index, entry)
        self._messages = self._messages.set(place.message, replace(message, entries=entries))

    # ── deltas ───────────────────────────────────────────────────────────────────────────────────────────

    def _message_start(self, event: MessageStart) -> None:
        self._places[event.parent_call_id] = _Place(len(self._messages))
        self._messages = self._messages.append(
            Message(event.message_id, event.model, event.parent_call_id, event.round)
        )

    def _block_start(self, event: BlockStart) -> None:
        growing = GrowingText()
        self._add(event, growing, _entry(event, growing.view(), is_streaming=True))

    def _block_stop(self, event: BlockStop) -> None:
        self._change(event, is_streaming=False)
        place = self._places.get(event.parent_call_id)
        if place is not None:
            place.growing.pop(event.block_index, None)

    def _message_stop(self, event: MessageStop) -> None:
        self._change_message(event.parent_call_id, is_streaming=False, stop_reason=event.stop_reason)

    # ── finals: they replace what deltas built, or stand alone ───────────────────────────────────────────

    def _text(self, event: Text) -> None:
        entry = TextEntry(TextView.of(event.text), is_refusal=event.is_refusal)
        self._settle(event, entry)

    def _thinking(self, event: Thinking) -> None:
        self._settle(event, ThinkingEntry(TextView.of(event.text)))

    def _tool_invocation(self, event: ToolInvocation) -> None:
        known = self._entry_of(event)
        if isinstance(known, ToolEntry):
            name = event.tool_name or known.name
            self._set(event, replace(known, name=name, input=event.input, is_streaming=False))
        else:
            self._add(event, None, ToolEntry(event.call_id, event.tool_name, TextView.of(""), input=event.input))

    def _tool_completion(self, event: ToolCompletion) -> None:
        self._change_call(
            event.call_id, output=event.output, is_error=event.is_error, is_done=True, is_streaming=False
        )

    def _tool_block(self, update: ToolBlockUpdate) -> None:
        self._change_call(update.id, stage=update.stage, compact_params=update.compact_params)

    def _usage(self, event: Usage) -> None:
        self._change_message(event.parent_call_id, usage=event)

    def _error(self, event: StreamError) -> None:
        if event.is_fatal:
            self._change_message(event.parent_call_id, error=event)

    def _turn_completed(self, event: TurnCompleted) -> None:
        for parent, place in self._places.items():
            if self._messages[place.message].is_streaming:
                self._change_message(parent, is_streaming=False)
        self._places.clear()
        self._calls.clear()

    # ── the paths into the tree ──────────────────────────────────────────────────────────────────────────

    def _add(self, event: Any, growing: GrowingText | None, entry: Entry) -> None:
        place = self._places.get(event.parent_call_id)
        if place is None:
            self._message_start(MessageStart(event.message_id, parent_call_id=event.parent_call_id))
            place = self._places[event.parent_call_id]
        message = self._messages[place.message]
        index = place.entries[event.block_index] = len(message.entries)
        if growing is not None:
            place.growing[event.block_index] = growing
        if isinstance(entry, ToolEntry) and entry.call_id:
            self._calls[entry.call_id] = (place.message, index)
        self._messages = self._messages.set(place.message, replace(message, entries=message.entries.append(entry)))

    def _grow(self, event: Any, piece: str, replaces: bool) -> bool:
        key = (event.parent_call_id, event.block_index)
        growing = self._grown.get(key)
        if growing is None or replaces:
            place = self._places.get(event.parent_call_id)
            growing = place.growing.get(event.block_index) if place is not None else None
            if place is None or growing is None:
                return False
            if replaces:
                growing = place.growing[event.block_index] = GrowingText()
            self._grown[key] = growing
        growing.append(piece)
        self._latest = growing
        self._latest_block = event.block_index
        self._latest_parent = event.parent_call_id
        return True

    def _entry_of(self, event: Any) -> Entry | None:
        place = self._places.get(event.parent_call_id)
        index = place.entries.get(event.block_index) if place is not None else None
        if place is None or index is None:
            return None
        return self._messages[place.message].entries[index]

    def _change(self, event: Any, **fields: Any) -> None:
        entry = self._entry_of(event)
        if entry is not None:
            self._set(event, replace(entry, **fields))

    def _settle(self, event: Any, entry: Entry) -> None:
        if self._entry_of(event) is None:
            self._add(event, None, entry)
        else:
            self._set(event, entry)

    def _set(self, event: Any, entry: Entry) -> None:
        place = self._places[event.parent_call_id]
        message = self._messages[place.message]
        entries = message.entries.set(place.entries[event.block_index], entry)
        self._messages = self._messages.set(place.message, replace(message, entries=entries))

    def _change_call(self, call_id: str, **fields: Any) -> None:
        found = self._calls.get(call_id)
        if found is not None:
            at, index = found
            message = self._messages[at]
            entry = message.entries[index]
            if isinstance(entry, ToolEntry):
                entries = message.entries.set(index, replace(entry, **fields))
                self._messages = self._messages.set(at, replace(message, entries=entries))

    def _change_message(self, parent_call_id: str, **fields: Any) -> None:
        place = self._places.get(parent_call_id)
        if place is not None:
            changed = replace(self._messages[place.message], **fields)
            self._messages = self._messages.set(place.message, changed)

    _handlers: ClassVar[dict[type, Any]] = {
        MessageStart: _message_start,
        BlockStart: _block_start,
        BlockStop: _block_stop,
        MessageStop: _message_stop,
        Text: _text,
        Thinking: _thinking,
        ToolInvocation: _tool_invocation,
        ToolCompletion: _tool_completion,
        Usage: _usage,
        StreamError: _error,
        TurnCompleted: _turn_completed,
        ToolBlockUpdate: _tool_block,
    }


MessageState.takes = frozenset({TextDelta, ThinkingDelta, ToolInputDelta, *MessageState._handlers})


def _entry(start: BlockStart, view: TextView, is_streaming: bool) -> Entry:
    if start.kind == "text":
        return TextEntry(view, is_streaming)
    if start.kind == "thinking":
        return ThinkingEntry(view, is_streaming)
    return ToolEntry(start.call_id, start.tool_name, view, is_streaming)
