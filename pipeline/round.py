"""One model call of a turn: from the chunks of its source to the turn's own stream of events."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from penstock.backends.reader import Reader
from penstock.errors import PenstockError, SourceFailed
from penstock.events import StreamError
from penstock.operators.read import Read
from penstock.operators.stage import Chain, Stage
from penstock.reply import CollectReply, Reply
from penstock.sources.chunks import Chunk, Source, chunks_of

if TYPE_CHECKING:
    from penstock.turn import Turn

__all__ = ["Round"]

_MAX_WAITING_BYTES = 64 * 1024


class Round:
    """One model call of a turn, pushed by hand: `feed` chunks, then `finish`. `Turn.round` does it for a source."""

    __slots__ = (
        "_cancel_timer", "_chain", "_clock", "_coalesce", "_collect", "_count", "_gate", "_is_broken",
        "_is_interrupted", "_is_over", "_may_join_chunks", "_reader", "_reads_text", "_task", "_turn", "_waiting",
        "_waiting_bytes", "_when_open", "chunks", "is_stopped", "number",
    )  # fmt: skip

    def __init__(self, turn: "Turn", backend: str | None, number: int) -> None:
        self._turn = turn
        self._gate = turn._gate
        self._clock = turn.clock
        self._coalesce = turn._coalesce
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
        self._when_open = self._open  # bound once, not once a window
        self.is_stopped = False
        self.number = number
        self.chunks = 0
        self._count = None if turn._figures is None else turn._figures.open_round(number)

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
        if self._count is not None:
            self._count(chunk)
        waiting = self._waiting
        if type(chunk) is bytes and self._may_join_chunks and (waiting or self._may_wait()):
            waiting.append(chunk)
            self._waiting_bytes += len(chunk)
            if self._waiting_bytes >= _MAX_WAITING_BYTES:
                self.catch_up()
        else:
            self.catch_up()
            self._gate.run(self._push, chunk)

    def _may_wait(self) -> bool:
        """Whether the window is closed; if so, what waits will be read when it opens."""
        closed_for_s = self._coalesce.open_at - self._clock.now()
        if closed_for_s <= 0:
            return False
        self._cancel_timer = self._clock.call_later(closed_for_s, self._when_open)
        return True

    def _open(self) -> None:
        """The window opens: read what waits, and show all of it at once."""
        self._cancel_timer = None
        self._gate.run(self._show_waiting)

    def _show_waiting(self) -> None:
        self._push_waiting()
        self._coalesce.flush()

    def catch_up(self) -> None:
        """Read what has arrived and waits, now."""
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None
        if self._waiting:
            self._gate.run(self._push_waiting)

    def _push_waiting(self) -> None:
        waiting = self._waiting
        if waiting:
            chunk = b"".join(waiting)
            waiting.clear()
            self._waiting_bytes = 0
            self._push(chunk)

    def _push(self, chunk: Chunk) -> None:
        if self._is_over:
            return
        try:
            if type(chunk) is dict or (type(chunk) is str and self._reads_text):
                self._reader.feed(chunk)
                self._reader.settle()
            else:
                self._chain.feed(chunk)
            if self._chain.settlers:
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
        self._gate.run(self._end, error)

    def finish(self) -> Reply:
        """The input is over: everything held is delivered, everything open is closed."""
        self.catch_up()
        self._gate.run(self._end, None)
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
