"""Many streams at once on a real event loop, at the pace of a model: the delay that is added, and its cost."""

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import NamedTuple

from penstock.pipeline import Pipeline
from penstock.sinks.sink import Item, Sink
from penstock.updates import AssistantUpdate, ThinkingUpdate, ToolBlockUpdate

__all__ = ["Live", "measure_live", "percentile"]

_SLEEP_S = 0.001


@dataclass(frozen=True, slots=True)
class Live:
    """What `streams` streams of `chunks_per_s` each came to."""

    streams: int
    chunks_per_s: float
    updates: int
    first_ms: tuple[float, float]
    """From the first chunk that shows anything to its update: the median, and the 99th percentile."""
    added_ms: tuple[float, float]
    """From the arrival of the oldest chunk in an update to that update: the median, and the 99th percentile."""
    core_share: float
    """Of one core, what feeding and showing took: without the generator of the chunks and the stopwatches."""
    machine_ms: float
    """How late the machine itself was, with nothing to do but the generator: the 99th percentile."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class _Pace(NamedTuple):
    """What it took to feed everything at its time, and how late it was each time the loop woke for it."""

    core_share: float
    late_s: list[float]


class _Stopwatch(Sink):
    """Notes how long the oldest chunk of each update has waited for it."""

    accepts = frozenset({AssistantUpdate, ThinkingUpdate, ToolBlockUpdate})

    def __init__(self, added: Sequence[float] = ()) -> None:
        self.oldest: float | None = None
        self.added = list(added)

    def on_next(self, item: Item) -> None:
        if self.oldest is not None:
            self.added.append(time.perf_counter() - self.oldest)
            self.oldest = None


def measure_live(
    pipeline: Pipeline,
    arrivals: Sequence[bytes],
    backend: str | None = None,
    *,
    streams: int = 1,
    chunks_per_s: float = 50.0,
    max_chunks: int = 250,
) -> Live:
    """Feed `arrivals` to each of `streams` turns at `chunks_per_s`, evenly spread, on an event loop of its own."""
    ignoring = [_feeding(lambda read: None, _Stopwatch([0.0])) for _ in range(streams)]
    idle = asyncio.run(_pace(ignoring, arrivals[: max_chunks // 4 + 1], chunks_per_s))
    return asyncio.run(_measure(pipeline, backend, arrivals[:max_chunks], streams, chunks_per_s, idle))


async def _measure(
    pipeline: Pipeline,
    backend: str | None,
    arrivals: Sequence[bytes],
    streams: int,
    chunks_per_s: float,
    idle: _Pace,
) -> Live:
    watches = [_Stopwatch() for _ in range(streams)]
    async with AsyncExitStack() as stack:
        feeds = []
        fed = 0
        for watch in watches:
            turn = await stack.enter_async_context(pipeline.turn(watch))
            feed = _feeding(turn.open_round(backend).feed, watch)
            feeds.append(feed)
            fed = _feed_until_shown(feed, watch, arrivals)
            await asyncio.sleep(0)
        gc.collect()  # what opening has left is not the stream's
        busy = await _pace(feeds, arrivals[fed:], chunks_per_s)
    first = [watch.added[0] * 1000 for watch in watches if watch.added]
    added = [wait * 1000 for watch in watches for wait in watch.added[1:]]
    return Live(
        streams,
        chunks_per_s,
        len(first) + len(added),
        (percentile(first, 0.5), percentile(first, 0.99)),
        (percentile(added, 0.5), percentile(added, 0.99)),
        max(0.0, busy.core_share - idle.core_share),
        percentile(idle.late_s, 0.99) * 1000,
    )


def _feeding(feed: Callable[[bytes], object], watch: _Stopwatch) -> Callable[[bytes, float], object]:
    def push(read: bytes, due: float) -> None:
        if not watch.added:
            watch.oldest = time.perf_counter()
        elif watch.oldest is None:
            watch.oldest = due  # not when the loop got round to it: that it was busy is delay, too
        feed(read)

    return push


def _feed_until_shown(feed: Callable[[bytes, float], object], watch: _Stopwatch, arrivals: Sequence[bytes]) -> int:
    """Begin the answer, up to the chunk that shows something first; how many chunks that took."""
    for number, read in enumerate(arrivals, 1):
        feed(read, 0.0)
        if watch.added:
            return number
    return len(arrivals)


async def _pace(
    feeds: Sequence[Callable[[bytes, float], object]], arrivals: Sequence[bytes], chunks_per_s: float
) -> _Pace:
    """Every chunk at its time, however late the one before it was."""
    late_s: list[float] = []
    step_s = 1 / (chunks_per_s * len(feeds))
    cpu = time.process_time()
    began = due = now = time.perf_counter()
    for read in arrivals:
        for feed in feeds:
            while due > now:
                # The loop has its turn after what was due together, as after a round of ready sockets.
                await asyncio.sleep(_SLEEP_S)
                now = time.perf_counter()
                late_s.append(max(0.0, now - due))
            feed(read, due)
            due += step_s
    return _Pace((time.process_time() - cpu) / (time.perf_counter() - began), late_s)
