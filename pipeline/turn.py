"""One turn of an agent: rounds of the model, tools between them, one stream to the sinks, one end."""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.backends.reader import Reader
from penstock.backends.writer import numbered_ids
from penstock.errors import PenstockError, SourceFailed, TurnClosed
from penstock.events import Event, StreamError, ToolInvocation, TurnCompleted, Usage
from penstock.messages import Messages, MessageState
from penstock.operators.clock import Clock, loop_clock
from penstock.operators.coalesce import Coalesce
from penstock.operators.gate import Gate
from penstock.operators.read import Read
from penstock.operators.stage import Chain, Stage
from penstock.reply import CollectReply, Reply, TurnResult, total_usage
from penstock.sinks.delivery import Delivery
from penstock.sinks.sink import Item, Sink
from penstock.sources.chunks import Chunk, Source, chunks_of
from penstock.summary import Figures, TurnSummary
from penstock.tool_block import ToolBlock
from penstock.updates import Completed, MessagesChanged

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

__all__ = ["Round", "Turn"]

_MAX_WAITING_BYTES = 64 * 1024


class Round:
    """One model call of a turn, pushed by hand: `feed` chunks, then `finish`. `Turn.round` does it for a source."""

    def __init__(self, turn: "Turn", backend: str | None, number: int) -> None:
        self._turn = turn
        self._collect = CollectReply(turn.turn_id, number)
        stages = [make() for make in turn.pipeline.reading(backend, turn.message_ids, turn.call_ids).make]
        self._chain: Chain[Any, Any] = Chain([*stages, self._collect])
        self._chain.connect(turn._events.feed, turn.clock, lambda action: turn._alarm(lambda: self._alarm(action)))
        self._reader = next(_readers(stages))
        self._reads_text = self._reader is not stages[0] and not isinstance(stages[0], Read)
        self._collect.on_stall = self._interrupt
        self._task: asyncio.Task[Any] | None = None
        self._is_interrupted = False
        self._is_broken = False
        self._is_over = False
        # A source that sends the whole text so far each time needs its chunks one by one.
        self._may_join_chunks = turn.pipeline.settings.deltas == "delta"
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._cancel_timer: Callable[[], object] | None = None
        self.is_stopped = False
        self.number = number
        self.chunks = 0
        if turn._figures is not None:
            self.feed = turn._figures.open_round(number, self.feed)  # type: ignore[method-assign]

    @property
    def backend(self) -> str:
        """Whose stream it is; with `auto`, the one that was recognised."""
        return getattr(self._reader, "chosen", "") or self._reader.backend

    async def read(self, source: Source) -> Reply:
        """Feed everything the source has; a source that breaks becomes a `StreamError` in its place."""
        task = self._task = asyncio.current_task()
        try:
            async with aclosing(chunks_of(source)) as chunks:
                async for chunk in chunks:
                    self.feed(chunk)
                    if self._is_interrupted:
                        break
        except asyncio.CancelledError:
            # Our own interruption cancels the wait for the next chunk; anybody else's cancellation goes on.
            if not self._is_interrupted or task is None or task.uncancel() > 0:
                self.stop()
                self.finish()
                raise
        except SourceFailed as error:
            self.fail(StreamError("source_failed", str(error), retryable=True))
        except PenstockError:
            raise
        except Exception as error:
            self.fail(StreamError("source_failed", f"{type(error).__name__}: {error}", retryable=True))
        finally:
            self._task = None
        return self.finish()

    def feed(self, chunk: Chunk) -> None:
        """Push one chunk: raw bytes or text, or a record that is parsed already.

        While the window is closed, nothing could be shown: bytes that arrive then wait, unread, until it opens or
        there are many of them, and are read in one go. Called from the turn's own thread.
        """
        self.chunks += 1
        waiting = self._waiting
        if type(chunk) is bytes and self._may_join_chunks and (waiting or self._turn._coalesce.closed_for_s > 0):
            if not waiting:
                self._cancel_timer = self._turn.clock.call_later(self._turn._coalesce.closed_for_s, self._open)
            waiting.append(chunk)
            self._waiting_bytes += len(chunk)
            if self._waiting_bytes >= _MAX_WAITING_BYTES:
                self.catch_up()
        else:
            self.catch_up()
            self._turn._gate.run(self._push, chunk)

    def _open(self) -> None:
        """The window opens: read what waits, and show all of it at once."""
        self.catch_up()
        self._turn._gate.run(self._turn._coalesce.flush)

    def catch_up(self) -> None:
        """Read what has arrived and waits, now."""
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None
        if self._waiting:
            chunk = b"".join(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._turn._gate.run(self._push, chunk)

    def _push(self, chunk: Chunk) -> None:
        if self._is_over:
            return
        try:
            if type(chunk) is dict or (type(chunk) is str and self._reads_text):
                self._reader.feed(chunk)
            else:
                self._chain.feed(chunk)
            self._chain.settle()
        except Exception as error:
            self._break(error)

    def _break(self, error: Exception) -> None:
        """An operator raised: the round ends in an error, and what the others hold is still delivered."""
        if not self._is_broken:
            self._is_broken = True
            self._collect.feed(StreamError("operator_failed", f"{type(error).__name__}: {error}"))
            self._interrupt()

    def _alarm(self, action: Callable[[], object]) -> None:
        try:
            action()
        except Exception as error:
            self._break(error)

    def stop(self) -> None:
        """End now: what has arrived is kept, and the missing rest is nobody's error."""
        self.is_stopped = True
        self._interrupt()

    def _interrupt(self) -> None:
        self._reader.is_stopped = True
        if self._task is not None and not self._is_interrupted and self._task is not _current_task():
            self._task.cancel()
        self._is_interrupted = True

    def fail(self, error: StreamError) -> None:
        """The source broke: say so in its place, after everything that arrived."""
        self.catch_up()
        self._turn._gate.run(self._end, error)

    def finish(self) -> Reply:
        """The input is over: everything held is delivered, everything open is closed."""
        self.catch_up()
        self._turn._gate.run(self._end, None)
        return self._collect.reply

    def _end(self, error: StreamError | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        if error is not None:
            self._reader.feed(error)
        for stage in self._chain.stages:
            try:
                stage.finish()
            except Exception as failure:
                self._break(failure)
        self._chain.release()
        self._turn._round_ended(self, self._collect.reply)


def _readers(stages: Iterable[Stage[Any, Any]]) -> Iterator[Reader]:
    for stage in stages:
        if isinstance(stage, Read):
            yield stage.reader
        elif isinstance(stage, Reader):
            yield stage


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Turn:
    """`async with pipeline.turn() as turn:` around an agent's loop.

    Three verbs end things early, and they differ:

    * `abort()`: the turn ends now. The upstream is closed, what has arrived is kept and delivered, everything
      open is closed, and the sinks get one terminal event with the reason. Leaving the block by an exception or
      a cancelled task does the same, with the reason `error` or `cancelled`.
    * `stop()`: only the round under way ends now; its partial reply is returned and the loop goes on.
    * `detach(sink)`: one sink hears no more; the turn and the other sinks go on.
    """

    def __init__(self, pipeline: "Pipeline", sinks: Sequence[Sink], clock: Clock | None = None) -> None:
        self.pipeline = pipeline
        self.turn_id = uuid.uuid4().hex[:12]
        self.message_ids = numbered_ids("message")
        self.call_ids = numbered_ids("call")
        self._sinks = sinks
        self._clock = clock
        self._gate = Gate()
        self._state = MessageState()
        self._open_rounds: list[Round] = []
        self._rounds = 0
        self._chunks = 0
        self._usage: list[Usage] = []
        self._error: StreamError | None = None
        self._message: str | None = None
        self._final_message: str | None = None
        self._stop_reason = ""
        self._is_open = False
        self._is_ended = False

    async def __aenter__(self) -> "Turn":
        settings = self.pipeline.settings
        self.clock = self._clock or loop_clock()
        self._delivery = Delivery(
            self._sinks, self.turn_id, max_items=settings.sink_max_items, max_chars=settings.sink_max_chars
        )
        self._figures = Figures(self.turn_id, self.clock.now) if self._delivery.wants(TurnSummary) else None
        showing = self.pipeline.showing(self._state, notifies=self._delivery.wants(MessagesChanged))
        self._events: Chain[Event, Item] = showing.chain().connect(self._deliver, self.clock, self._alarm)
        self._coalesce = next(stage for stage in self._events.stages if isinstance(stage, Coalesce))
        self._is_open = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
            self.abort("cancelled" if cancelled else "error")
        await self.close()

    # ── what the loop does ───────────────────────────────────────────────────────────────────────────────

    async def round(self, source: Source, *, backend: str | None = None) -> Reply:
        """Read one model call to its end (or its abort, or its break) and return what it said."""
        return await self.open_round(backend).read(source)

    def open_round(self, backend: str | None = None) -> Round:
        """Begin a round that is pushed by hand, for loops that have their own way of reading."""
        self._check_open()
        self._rounds += 1
        round_ = Round(self, backend, self._rounds)
        self._open_rounds.append(round_)
        return round_

    def tool(self, call: ToolInvocation) -> ToolBlock:
        """A context around the execution of a call: it runs, it ends, exactly once."""
        self._check_open()
        return ToolBlock(self.push, call)

    def push(self, event: Event) -> None:
        """Put an event of one's own into the turn's stream; after the end, it is dropped."""
        self._gate.run(self._take, event)

    def complete(self, message: str) -> None:
        """End with this message instead of the last round's text: a hint request, a refusal, an early answer."""
        self._message = message
        self._gate.run(self._end)

    # ── ending early ─────────────────────────────────────────────────────────────────────────────────────

    def abort(self, reason: str = "aborted") -> None:
        """End the turn now; what has arrived is kept. A round under way returns its partial reply."""
        if not self._is_ended:
            self._stop_reason = self._stop_reason or reason
            self.stop()
            for round_ in self._open_rounds:
                round_.catch_up()
            self._gate.run(self._end)

    def stop(self) -> None:
        """End the round under way; its partial reply is returned and the turn goes on."""
        for round_ in list(self._open_rounds):
            round_.stop()

    def detach(self, sink: Sink) -> None:
        """This sink hears no more; the turn goes on."""
        self._gate.run(self._delivery.detach, sink)

    async def close(self) -> None:
        """End the turn if it has not ended, and close the sinks. Closing twice changes nothing."""
        if self._is_open:
            self._is_open = False
            self._gate.run(self._end)
            await self._delivery.close(self.pipeline.settings.sink_close_timeout_s)

    # ── what there is to see ─────────────────────────────────────────────────────────────────────────────

    @property
    def messages(self) -> Messages:
        """The conversation as it is now, everything that has arrived included."""
        if not self._is_ended:
            for round_ in self._open_rounds:
                round_.catch_up()
            self._gate.run(self._coalesce.flush)
        return self._state.messages

    @property
    def final_message(self) -> str:
        """The final message once the turn is over; until then, the text of the last message that has some."""
        if self._final_message is not None:
            return self._final_message
        texts = (message.text for message in reversed(self.messages) if not message.parent_call_id)
        return next((text for text in texts if text), "")

    @property
    def result(self) -> TurnResult:
        """What the turn came to."""
        return TurnResult(
            self.final_message,
            self._stop_reason,
            total_usage(self._usage),
            self._rounds,
            self._chunks,
            self.messages,
            self._error,
        )

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _check_open(self) -> None:
        if self._is_ended:
            raise TurnClosed("this turn has ended; open a new one with pipeline.turn()")
        if not self._is_open:
            raise TurnClosed("enter the turn first: async with pipeline.turn() as turn: …")

    def _alarm(self, action: Callable[[], object]) -> None:
        if not self._is_ended:
            self._gate.run(action)

    def _take(self, event: Event) -> None:
        if not self._is_ended:
            self._events.feed(event)

    def _deliver(self, item: Item) -> None:
        if type(item) is Completed:
            self._final_message = item.message
        if self._figures is not None:
            self._figures.item(item)
        self._delivery.push(item)

    def _round_ended(self, round_: Round, reply: Reply) -> None:
        self._open_rounds.remove(round_)
        self._coalesce.flush()
        self._chunks += round_.chunks
        self._error = reply.error
        if reply.usage is not None:
            self._usage.append(reply.usage)
        if round_.is_stopped:
            reply.stop_reason = self._stop_reason or "stopped"
            reply.tool_calls = []
        else:
            self._message = reply.final_message
        if self._figures is not None:
            self._delivery.push(
                self._figures.of_round(
                    round_.number,
                    backend=round_.backend,
                    model=reply.model,
                    stop_reason=reply.stop_reason,
                    usage=reply.usage or Usage(),
                )
            )

    def _end(self) -> None:
        if self._is_ended:
            return
        for round_ in list(self._open_rounds):
            round_.stop()
            round_._end(None)
        self._stop_reason = self._stop_reason or ("error" if self._error else "completed")
        self._events.feed(TurnCompleted(self._stop_reason, self._message, self.turn_id))
        self._events.finish()
        self._events.release()
        self._is_ended = True
        if self._figures is not None:
            self._delivery.push(self._figures.of_turn(self._stop_reason, total_usage(self._usage)))
