"""Many streams at once on a real event loop, at the pace of a model: what is added to each chunk's way, and at what cost."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

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
    """Of one core, what feeding and showing took: without the generator of the chunks."""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed; 0 where there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class _Stopwatch(Sink):
    """Notes how long the oldest chunk of each update has waited for it."""

    accepts = frozenset({AssistantUpdate, ThinkingUpdate, ToolBlockUpdate})

    def __init__(self) -> None:
        self.oldest: float | None = None
        self.added: list[float] = []

    def on_next(self, item: Item) -> None:
        if self.oldest is not None:
            self.added.append(time.perf_counter() - self.oldest)
            self.oldest = None


def measure_live(
    pipeline: Pipeline,
    reads: Sequence[bytes],
    *,
    streams: int = 1,
    chunks_per_s: float = 50.0,
    max_chunks: int = 250,
) -> Live:
    """Feed `reads` to each of `streams` turns at `chunks_per_s`, evenly spread, on an event loop of their own."""
    reads = reads[:max_chunks]
    idle_s, _ = asyncio.run(_pace([lambda read, due: None] * streams, reads, chunks_per_s))
    return asyncio.run(_measure(pipeline, reads, streams, chunks_per_s, idle_s))


async def _measure(
    pipeline: Pipeline, reads: Sequence[bytes], streams: int, chunks_per_s: float, idle_s: float
) -> Live:
    watches = [_Stopwatch() for _ in range(streams)]
    async with AsyncExitStack() as stack:
        feeds = []
        for watch in watches:
            turn = await stack.enter_async_context(pipeline.turn(watch))
            feeds.append(_feeding(turn.open_round().feed, watch))
        busy_s, took_s = await _pace(feeds, reads, chunks_per_s)
    first = [watch.added[0] * 1000 for watch in watches if watch.added]
    added = [wait * 1000 for watch in watches for wait in watch.added[1:]]
    return Live(
        streams,
        chunks_per_s,
        len(first) + len(added),
        (percentile(first, 0.5), percentile(first, 0.99)),
        (percentile(added, 0.5), percentile(added, 0.99)),
        max(0.0, busy_s - idle_s) / took_s,
    )


def _feeding(feed: Callable[[bytes], object], watch: _Stopwatch) -> Callable[[bytes, float], object]:
    def push(read: bytes, due: float) -> None:
        if watch.oldest is None:
            # Before the first update only the way through counts; later also how late the loop got round to it.
            watch.oldest = due if watch.added else time.perf_counter()
        feed(read)

    return push


async def _pace(
    feeds: Sequence[Callable[[bytes, float], object]], reads: Sequence[bytes], chunks_per_s: float
) -> tuple[float, float]:
    """Every chunk at its time, however late the one before it was. CPU seconds and seconds it took."""
    step_s = 1 / (chunks_per_s * len(feeds))
    cpu = time.process_time()
    began = due = now = time.perf_counter()
    for read in reads:
        for feed in feeds:
            while due > now:
                # The loop has its turn after what was due together, as after a round of ready sockets.
                await asyncio.sleep(_SLEEP_S)
                now = time.perf_counter()
            feed(read, due)
            due += step_s
    return time.process_time() - cpu, time.perf_counter() - began
