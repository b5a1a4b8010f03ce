"""One model call of a turn: from the chunks of its source to the turn's own stream of events."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any

from penstock.backends.reader import Reader
from penstock.errors import PenstockError, SourceFailed
from penstock.events import Event, StreamError
from penstock.operators.clock import alarm_of
from penstock.operators.read import Read
from penstock.operators.stage import Chain, Operator, Stage
from penstock.reply import CollectReply, Reply
from penstock.showing import Showing
from penstock.sources.chunks import Chunk, Source, chunks_of

__all__ = ["Round"]

_MAX_WAITING_BYTES = 64 * 1024


class Round:
    """One model call of a turn, pushed by hand: `feed` chunks, then `finish`. `Turn.round` does it for a source."""

    __slots__ = (
        "_alarm", "_chain", "_collect", "_is_broken", "_is_interrupted", "_is_over", "_may_join_chunks", "_now",
        "_on_end", "_read_all", "_reader", "_reads_text", "_run", "_task", "_waiting", "_waiting_bytes", "_watch",
        "_window", "chunks", "is_stopped", "number",
    )  # fmt: skip

    def __init__(
        self,
        reading: Operator[Any, Event],
        showing: Showing,
        *,
        turn_id: str,
        number: int,
        may_join_chunks: bool,
        watch: Callable[[Chunk], object] | None,
        on_end: Callable[["Round", Reply], object],
    ) -> None:
        self._run = showing.run
        self._now = showing.clock.now
        self._window = showing.window
        self._on_end = on_end
        self._collect = CollectReply(turn_id, number)
        stages = [make() for make in reading.make]
        self._chain: Chain[Any, Any] = Chain([*stages, self._collect])
        self._chain.connect(
            showing.feed, showing.clock, lambda action: showing.alarm(lambda: self._guard(_ring, action))
        )
        self._reader = next(_readers(stages))
        self._read_all = stages[0].feed_all if isinstance(stages[0], Read) else self._read_joined
        self._reads_text = self._reader is not stages[0] and not isinstance(stages[0], Read)
        self._collect.on_stall = self._interrupt
        self._task: asyncio.Task[Any] | None = None
        self._is_interrupted = False
        self._is_broken = False
        self._is_over = False
        self._may_join_chunks = may_join_chunks
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._alarm = alarm_of(showing.clock, self._open)
        self.is_stopped = False
        self.number = number
        self.chunks = 0
        self._watch = watch

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
        if self._watch is not None:
            self._watch(chunk)
        waiting = self._waiting
        if waiting and type(chunk) is bytes:
            waiting.append(chunk)
            self._waiting_bytes += len(chunk)
            if self._waiting_bytes >= _MAX_WAITING_BYTES:
                self.catch_up()
        elif type(chunk) is bytes and self._may_join_chunks and self._now() < self._window.open_at:
            self._alarm.ring_at(self._window.open_at)
            waiting.append(chunk)
            self._waiting_bytes = len(chunk)
        else:
            self.catch_up()
            self.chunks += 1
            self._run(self._guard, self._read_one, chunk)

    def _open(self) -> None:
        """The window opens: read what waits, and show all of it at once."""
        self._run(self._show_waiting)

    def _show_waiting(self) -> None:
        self._read_waiting()
        self._window.flush()

    def catch_up(self) -> None:
        """Read what has arrived and waits, now."""
        if self._waiting:
            self._alarm()
            self._run(self._read_waiting)

    def _read_waiting(self) -> None:
        waiting = self._waiting
        if waiting:
            self._waiting = []
            self.chunks += len(waiting)
            self._guard(self._read_all, waiting)

    def _guard(self, read: Callable[[Any], object], what: Any) -> None:
        """An operator that raises ends its round, and nothing else."""
        if not self._is_over:
            try:
                read(what)
                if self._chain.settlers:
                    self._chain.settle()
            except Exception as error:
                self._break(error)

    def _read_one(self, chunk: Chunk) -> None:
        if type(chunk) is dict or (type(chunk) is str and self._reads_text):
            self._reader.feed(chunk)
            self._reader.settle()
        else:
            self._chain.feed(chunk)

    def _read_joined(self, chunks: list[bytes]) -> None:
        self._chain.feed(b"".join(chunks))

    def _break(self, error: Exception) -> None:
        """An operator raised: the round ends in an error, and what the others hold is still delivered."""
        if not self._is_broken:
            self._is_broken = True
            self._collect.feed(StreamError("operator_failed", f"{type(error).__name__}: {error}"))
            self._interrupt()

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
        self._run(self.end, error)

    def finish(self) -> Reply:
        """The input is over: everything held is delivered, everything open is closed."""
        self._run(self.end)
        return self._collect.reply

    def end(self, error: StreamError | None = None) -> None:
        """The same, for one who is inside the gate."""
        if self._is_over:
            return
        self._alarm()
        self._read_waiting()
        self._is_over = True
        self._may_join_chunks = False  # what comes now is dropped, and waits for no window
        if error is not None:
            self._reader.feed(error)
        for stage in self._chain.stages:
            try:
                stage.finish()
            except Exception as failure:
                self._break(failure)
        self._chain.release()
        self._window.flush()
        self._on_end(self, self._collect.reply)


def _ring(action: Callable[[], object]) -> None:
    action()


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
