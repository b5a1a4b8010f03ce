"""One turn of an agent: rounds of the model, tools between them, one stream to the sinks, one end."""

import asyncio
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from penstock.backends.writer import numbered_ids
from penstock.errors import TurnClosed
from penstock.events import Event, StreamError, ToolInvocation, TurnCompleted, Usage
from penstock.messages import Messages, MessageState
from penstock.operators.clock import Clock, loop_clock
from penstock.reply import Reply, TurnResult, total_usage
from penstock.round import Round
from penstock.showing import Showing
from penstock.sinks.delivery import Delivery
from penstock.sinks.mailbox import MailboxStatistics
from penstock.sinks.sink import Item, Sink
from penstock.sources.chunks import Source
from penstock.summary import Figures, TurnSummary
from penstock.tool_block import ToolBlock
from penstock.updates import MessagesChanged

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

__all__ = ["Turn"]


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
        self._message_ids = numbered_ids("message")
        self._call_ids = numbered_ids("call")
        self._sinks = sinks
        self._clock = clock
        self._state = MessageState()
        self._open_rounds: list[Round] = []
        self._rounds = 0
        self._chunks = 0
        self._usage: list[Usage] = []
        self._error: StreamError | None = None
        self._message: str | None = None
        self._stop_reason = ""
        self._is_closed = False
        self._showing: Showing | None = None

    async def __aenter__(self) -> "Turn":
        settings = self.pipeline.settings
        clock = self._clock or loop_clock()
        self._delivery = Delivery(
            self._sinks, self.turn_id, max_items=settings.sink_max_items, max_chars=settings.sink_max_chars
        )
        self._figures = Figures(self.turn_id, clock.now) if self._delivery.wants(TurnSummary) else None
        operator = self.pipeline.showing(self._state, notifies=self._delivery.wants(MessagesChanged))
        deliver = self._delivery.push if self._figures is None else self._count_and_deliver
        self._showing = Showing(operator, deliver, clock)
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
        showing = self._check_open()
        self._rounds += 1
        round_ = Round(
            self.pipeline.reading(backend, self._message_ids, self._call_ids),
            showing,
            turn_id=self.turn_id,
            number=self._rounds,
            # A source that sends the whole text so far each time needs its chunks one by one.
            may_join_chunks=self.pipeline.settings.deltas == "delta",
            watch=None if self._figures is None else self._figures.open_round(self._rounds),
            on_end=self._round_ended,
        )
        self._open_rounds.append(round_)
        return round_

    def tool(self, call: ToolInvocation) -> ToolBlock:
        """A context around the execution of a call: it runs, it ends, exactly once."""
        return ToolBlock(self._check_open().push, call)

    def push(self, event: Event) -> None:
        """Put an event of one's own into the turn's stream; after the end, it is dropped."""
        self._entered().push(event)

    def complete(self, message: str) -> None:
        """End with this message instead of the last round's text: a hint request, a refusal, an early answer."""
        showing = self._entered()
        if not showing.is_over:
            self._message = message
            showing.run(self._end, showing)

    # ── ending early ─────────────────────────────────────────────────────────────────────────────────────

    def abort(self, reason: str = "aborted") -> None:
        """End the turn now; what has arrived is kept. A round under way returns its partial reply."""
        showing = self._showing
        if showing is not None and not showing.is_over:
            self._stop_reason = self._stop_reason or reason
            self.stop()
            showing.run(self._end, showing)

    def stop(self) -> None:
        """End the round under way; its partial reply is returned and the turn goes on."""
        for round_ in list(self._open_rounds):
            round_.stop()

    def detach(self, sink: Sink) -> None:
        """This sink hears no more; the turn goes on."""
        self._entered().run(self._delivery.detach, sink)

    async def close(self) -> None:
        """End the turn if it has not ended, and close the sinks. Closing twice changes nothing."""
        if self._showing is not None and not self._is_closed:
            self._is_closed = True
            self._showing.run(self._end, self._showing)
            await self._delivery.close(self.pipeline.settings.sink_close_timeout_s)

    # ── what there is to see ─────────────────────────────────────────────────────────────────────────────

    @property
    def messages(self) -> Messages:
        """The conversation as it is now, everything that has arrived included."""
        showing = self._showing
        if showing is not None and not showing.is_over:
            for round_ in self._open_rounds:
                round_.catch_up()
            showing.run(showing.window.flush)
        return self._state.messages

    @property
    def final_message(self) -> str:
        """The final message once the turn is over; until then, the text of the last message that has some."""
        if self._showing is not None and self._showing.final_message is not None:
            return self._showing.final_message
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

    def sink_statistics(self) -> dict[Sink, MailboxStatistics]:
        """What has gone through the mailbox of each slow sink: accepted, merged, dropped, delivered."""
        return self._delivery.statistics()

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────

    def _entered(self) -> Showing:
        if self._showing is None:
            raise TurnClosed("enter the turn first: async with pipeline.turn() as turn: …")
        return self._showing

    def _check_open(self) -> Showing:
        showing = self._entered()
        if showing.is_over:
            raise TurnClosed("this turn has ended; open a new one with pipeline.turn()")
        return showing

    def _count_and_deliver(self, item: Item) -> None:
        if self._figures is not None:
            self._figures.item(item)
        self._delivery.push(item)

    def _round_ended(self, round_: Round, reply: Reply) -> None:
        self._open_rounds.remove(round_)
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

    def _end(self, showing: Showing) -> None:
        if showing.is_over:
            return
        for round_ in list(self._open_rounds):
            round_.stop()
            round_.end()
        self._stop_reason = self._stop_reason or ("error" if self._error else "completed")
        showing.end(TurnCompleted(self._stop_reason, self._message, self.turn_id))
        if self._figures is not None:
            self._delivery.push(self._figures.of_turn(self._stop_reason, total_usage(self._usage)))
