"""A pipeline: the operators in force for a deployment, and the turns that run through them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from penstock.backends.registry import backend_named
from penstock.compact import Formatter
from penstock.events import Event
from penstock.messages import MessageState
from penstock.operators.clock import Clock
from penstock.operators.coalesce import coalesce
from penstock.operators.decode_utf8 import decode_utf8
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.hide import hide
from penstock.operators.limit_silence import limit_silence
from penstock.operators.normalize import normalize
from penstock.operators.phase import phase
from penstock.operators.read import read
from penstock.operators.redact import redact
from penstock.operators.reorder import reorder
from penstock.operators.stage import Operator
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.operators.to_deltas import to_deltas
from penstock.operators.tool_engine import tool_engine
from penstock.operators.track_messages import track_messages
from penstock.operators.track_tools import track_tools
from penstock.settings import Settings
from penstock.sinks.mailbox import Mailbox
from penstock.sinks.sink import Item, Sink
from penstock.sources.chunks import Source
from penstock.sync_turn import SyncTurn
from penstock.turn import Turn
from penstock.updates import AssistantStreamingToolCall, ThinkingUpdate, ToolBlockUpdate, Update

__all__ = ["Pipeline"]


class Pipeline:
    """The way from chunks to sinks, as configured. One value serves any number of turns, also at once.

    `extra_operators` are a deployment's own: they stand after `finalize`, before the window, and see every event.
    `formatters` make a tool call's compact line, by tool name; they come before the built-in ones.
    `on_backend_chosen` is told the name each time `auto` has found out whose stream it is.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sinks: Sequence[Sink] = (),
        extra_operators: Sequence[Operator[Event, Event]] = (),
        formatters: Mapping[str, Formatter] | None = None,
        clock: Clock | None = None,
        on_backend_chosen: Callable[[str], object] | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.sinks = tuple(sinks)
        self._extra_operators = tuple(extra_operators)
        self._formatters = formatters
        self._clock = clock
        self._on_backend_chosen = on_backend_chosen
        if self.settings.backend != "auto":
            backend_named(self.settings.backend)

    # ── turns ────────────────────────────────────────────────────────────────────────────────────────────

    def turn(self, *sinks: Sink) -> Turn:
        """A turn, to be entered with `async with`; `sinks` hear this turn besides the pipeline's own."""
        return Turn(self, (*self.sinks, *sinks), self._clock)

    def sync_turn(self, *sinks: Sink) -> SyncTurn:
        """A turn for a synchronous loop, to be entered with `with`."""
        return SyncTurn(self.turn(*sinks))

    async def stream(self, source: Source, *, backend: str | None = None) -> AsyncIterator[Item]:
        """One round as a turn of its own, item by item, for people who do not want sinks.

        A consumer that is slower than the stream gets merged items; leaving the loop aborts the turn.
        """
        inbox = _Inbox(self.settings.sink_max_items, self.settings.sink_max_chars)
        async with self.turn(inbox) as turn:
            reading = asyncio.create_task(_read(turn, source, backend))
            try:
                async for item in inbox.items():
                    yield item
            finally:
                turn.abort()
                await reading

    # ── what the chain is made of ────────────────────────────────────────────────────────────────────────

    def reading(
        self,
        backend: str | None = None,
        message_ids: Iterator[str] | None = None,
        call_ids: Iterator[str] | None = None,
    ) -> Operator[bytes | str, Event]:
        """From raw chunks to reconciled events: what runs once a round.

        The ids are for messages and calls that come without; a turn gives its rounds the same iterators.
        """
        settings = self.settings
        name = backend or settings.backend
        is_text = name != "auto" and backend_named(name).framing == "text"
        max_bytes = settings.max_record_bytes or sys.maxsize
        chain: Operator[Any, Event]
        if is_text:
            decoding: Operator[Any, str] = decode_utf8()
            chain = decoding | normalize(name, message_ids)
        elif settings.reorder_window_items:
            ordered: Operator[Any, Any] = reorder(window_items=settings.reorder_window_items)
            chain = frame(max_bytes) | ordered | normalize(name, message_ids, on_chosen=self._on_backend_chosen)
        else:
            chain = read(
                name,
                message_ids,
                max_payload_bytes=max_bytes,
                merges=settings.deltas == "delta",
                on_chosen=self._on_backend_chosen,
            )
        if settings.first_chunk_timeout_s or settings.between_chunks_timeout_s:
            chain |= limit_silence(settings.first_chunk_timeout_s, settings.between_chunks_timeout_s)
        if settings.deltas != "delta":
            chain |= to_deltas(settings.deltas)
        if settings.markup != "none" or settings.extra_tags or settings.tool_engine != "native":
            chain |= tool_engine(
                settings.tool_engine,
                settings.markup,
                settings.extra_tags,
                implicit_open=settings.implicit_thinking,
                keep_in_code=settings.keep_markup_in_code,
                call_ids=call_ids,
            )
        chain |= finalize()
        for operator in self._extra_operators:
            chain |= operator
        return chain

    def showing(
        self, state: MessageState | None = None, *, notifies: bool = True
    ) -> Operator[Event, Event | Update]:
        """From events to what sinks show: what runs once a turn."""
        settings = self.settings
        chain: Operator[Any, Any] = coalesce(settings.window_s)
        if settings.redact:
            chain = redact(settings.redact_patterns) | chain
        if settings.streaming_tool_events:
            chain |= streaming_tool_calls()
        chain |= track_tools(self._formatters, heartbeat_s=settings.tool_heartbeat_s)
        chain |= phase()
        chain |= track_messages(state, notifies)
        if not settings.show_thinking:
            chain |= hide(ThinkingUpdate)
        if not settings.show_tools:
            chain |= hide(ToolBlockUpdate, AssistantStreamingToolCall)
        return chain

    def operator(self, backend: str | None = None) -> Operator[bytes | str, Event | Update]:
        """The whole way as one Rx operator, for people who build their own graph."""
        return self.reading(backend) | self.showing()

    def describe(self, form: Literal["text", "mermaid"] = "text") -> str:
        """The operators in force and the sinks behind them, in order: one a line, or as a Mermaid flowchart."""
        labels = self.operator().labels
        sinks = [type(sink).__name__ for sink in self.sinks]
        if form == "text":
            return "\n".join([*labels, *(f"→ {sink}" for sink in sinks)])
        lines = ["flowchart TD", "    chunks([chunks])"]
        previous = "chunks"
        for number, label in enumerate(labels):
            lines.append(f'    {previous} --> o{number}["{label}"]')
            previous = f"o{number}"
        return "\n".join([*lines, *(f'    {previous} --> s{n}(["{sink}"])' for n, sink in enumerate(sinks))])


async def _read(turn: Turn, source: Source, backend: str | None) -> None:
    try:
        await turn.round(source, backend=backend)
    finally:
        await turn.close()


class _Inbox(Sink):
    """A sink whose reader is an `async for`: what it is too slow for is merged, and it may take its time."""

    def __init__(self, max_items: int, max_chars: int) -> None:
        self._mailbox = Mailbox(max_items, max_chars)
        self._arrived = asyncio.Event()
        self._is_closed = False

    def on_next(self, item: Item) -> None:
        self._mailbox.put(item)
        self._arrived.set()

    def close(self) -> None:
        self._is_closed = True
        self._arrived.set()

    async def items(self) -> AsyncIterator[Item]:
        while not self._is_closed or len(self._mailbox):
            while len(self._mailbox):
                yield self._mailbox.take()
            await self._arrived.wait()
            if not self._is_closed:
                self._arrived.clear()
