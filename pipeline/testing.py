"""For the tests of people who build on penstock: a sink that records, a clock turned by hand, and what must hold.

    clock, seen = VirtualClock(), RecordingSink()
    async with Pipeline(sinks=[seen], clock=clock).turn() as turn:
        await turn.round(scripted(clock, (0.0, first_chunk), (0.2, second_chunk)))
    assert_order(seen.items)
    assert seen.of(Completed)[0].message == "Hello"

Nothing here sleeps: time passes when the test (or a scripted source) says so.
"""

import asyncio
import heapq
from collections.abc import AsyncGenerator, Callable, Iterable
from itertools import count
from typing import TypeVar

from penstock.events import (
    BlockStart,
    BlockStop,
    MessageStart,
    MessageStop,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
)
from penstock.sinks.sink import Item, Sink
from penstock.sources.chunks import Chunk
from penstock.updates import (
    AssistantUpdate,
    Completed,
    FinalMessageStart,
    MessagesChanged,
    ThinkingUpdate,
    ToolBlockUpdate,
    ToolStage,
)

__all__ = ["RecordingSink", "VirtualClock", "assert_balanced", "assert_order", "assert_tool_stages", "scripted"]

Kind = TypeVar("Kind")


class VirtualClock:
    """A clock for `Pipeline(clock=…)` on which time stands still until `advance`."""

    def __init__(self) -> None:
        self._now = 0.0
        self._alarms: list[tuple[float, int, Callable[[], object]]] = []
        self._cancelled: set[int] = set()
        self._numbers = count()

    def now(self) -> float:
        return self._now

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        number = next(self._numbers)
        heapq.heappush(self._alarms, (self._now + max(delay_s, 0.0), number, action))
        return lambda: self._cancelled.add(number)

    def advance(self, seconds: float) -> None:
        """Let so much time pass; what falls due meanwhile happens in order, each at its own moment."""
        until = self._now + seconds
        while self._alarms and self._alarms[0][0] <= until:
            at, number, action = heapq.heappop(self._alarms)
            if number in self._cancelled:
                self._cancelled.remove(number)
                continue
            self._now = max(self._now, at)
            action()
        self._now = until

    @property
    def waiting(self) -> int:
        """How many alarms are set: 0 when everything that was timed has ended."""
        return sum(1 for _, number, _ in self._alarms if number not in self._cancelled)


class RecordingSink(Sink):
    """Keeps every item it is given, with the time of each where it has a clock."""

    def __init__(self, clock: VirtualClock | None = None, accepts: frozenset[type] | None = None) -> None:
        self.accepts = accepts
        self.items: list[Item] = []
        self.times: list[float] = []
        self.turn_ids: list[str] = []
        self.closed = 0
        self._clock = clock

    def open(self, turn_id: str) -> "RecordingSink":
        self.turn_ids.append(turn_id)
        return self

    def on_next(self, item: Item) -> None:
        self.items.append(item)
        if self._clock is not None:
            self.times.append(self._clock.now())

    def close(self) -> None:
        self.closed += 1

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The items of one kind, in order."""
        return [item for item in self.items if isinstance(item, kind)]


async def scripted(clock: VirtualClock, *steps: tuple[float, Chunk]) -> AsyncGenerator[Chunk, None]:
    """A source that brings each chunk so many seconds after the one before, and turns the clock itself."""
    for delay_s, chunk in steps:
        # Whoever waits for the event loop runs before time does.
        await asyncio.sleep(0)
        clock.advance(delay_s)
        yield chunk


# ── what must hold ───────────────────────────────────────────────────────────────────────────────────────


def assert_order(items: Iterable[Item]) -> None:
    """One turn's screen updates: `thinking* (final_message_start assistant+)? completed`, and nothing shown after.

    Other items may stand anywhere between them.
    """
    step = "streaming"
    following: dict[type, dict[str, str]] = {
        ThinkingUpdate: {"streaming": "streaming"},
        FinalMessageStart: {"streaming": "final_message_start"},
        AssistantUpdate: {"final_message_start": "assistant", "assistant": "assistant"},
        Completed: {"streaming": "completed", "assistant": "completed"},
    }
    for place, item in enumerate(items):
        kind = type(item)
        if kind in following:
            assert step in following[kind], f"item {place}, {item}, may not follow {step}"
            step = following[kind][step]
        else:
            is_late = step == "completed" and kind not in (MessagesChanged, TurnCompleted)
            assert not is_late, f"item {place}, {item}, comes after the turn was completed"
    assert step == "completed", f"the turn never completed; it ended in {step}"


def assert_tool_stages(items: Iterable[Item]) -> None:
    """Every tool call starts once with its id, streams, then runs, and ends exactly once with its outcome.

    An id that starts again after its end is another call: some backends count anew.
    """
    ranks: dict[ToolStage, int] = {"start": 0, "streaming": 1, "running": 2, "end": 3}
    latest: dict[str, ToolStage] = {}
    for update in items:
        if type(update) is not ToolBlockUpdate:
            continue
        before = latest.get(update.id, "end")
        if before == "end":
            assert update.stage == "start", f"{update.id} began with {update.stage}"
            assert update.id, f"{update} has no id"
        else:
            assert update.stage != "start", f"{update.id} started twice"
            assert ranks[update.stage] >= ranks[before], f"{update.id}: {update.stage} after {before}"
        if update.stage == "end":
            assert update.success is not None, f"{update.id} ended without an outcome"
            assert update.success or update.error is not None, f"{update.id} failed without a summary"
        latest[update.id] = update.stage
    still_open = [call_id for call_id, stage in latest.items() if stage != "end"]
    assert not still_open, f"calls that never ended: {still_open}"


def assert_balanced(events: Iterable[object]) -> None:
    """Starts and stops pair up, deltas lie inside their open block of the right kind, indexes count up from 0.

    A final either is the copy of a block that has begun, or stands alone and takes the next index itself.
    """
    kinds = {TextDelta: "text", ThinkingDelta: "thinking", ToolInputDelta: "tool"}
    messages: dict[str, str] = {}
    blocks: dict[tuple[str, int], str] = {}
    next_index: dict[str, int] = {}
    ended: dict[tuple[str, str], int] = {}
    for event in events:
        match event:
            case MessageStart():
                assert event.parent_call_id not in messages, f"{event} inside a message"
                messages[event.parent_call_id] = event.message_id
                next_index[event.parent_call_id] = 0
            case MessageStop():
                assert messages.pop(event.parent_call_id, None) == event.message_id, f"{event} closes nothing"
                still_open = [key for key in blocks if key[0] == event.parent_call_id]
                assert not still_open, f"{event} with open blocks {still_open}"
                ended[event.parent_call_id, event.message_id] = next_index[event.parent_call_id]
            case BlockStart():
                assert messages.get(event.parent_call_id) == event.message_id, f"{event} outside its message"
                assert event.block_index == next_index[event.parent_call_id], f"{event} out of order"
                next_index[event.parent_call_id] += 1
                blocks[event.parent_call_id, event.block_index] = event.kind
            case BlockStop():
                assert blocks.pop((event.parent_call_id, event.block_index), None), f"{event} closes nothing"
            case TextDelta() | ThinkingDelta() | ToolInputDelta():
                kind = blocks.get((event.parent_call_id, event.block_index))
                assert kind == kinds[type(event)], f"{event} in a block of kind {kind}"
            case Text() | Thinking() | ToolInvocation():
                if messages.get(event.parent_call_id) == event.message_id:
                    assert event.block_index <= next_index[event.parent_call_id], f"{event} out of order"
                    if event.block_index == next_index[event.parent_call_id]:
                        next_index[event.parent_call_id] += 1
                else:
                    known = ended.get((event.parent_call_id, event.message_id), 0)
                    assert event.block_index < known, f"{event} belongs to no block of its message"
            case _:
                pass
    assert not messages, f"messages never stopped: {messages}"
    assert not blocks, f"blocks never stopped: {blocks}"
