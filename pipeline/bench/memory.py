"""What turns hold: an idle one, one that speaks, and a long message."""

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from penstock.bench.workload import Workload
from penstock.pipeline import Pipeline
from penstock.turn import Turn

__all__ = ["Memory", "measure_memory", "memory_factor"]

_SPOKEN_CHUNKS = 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes a turn."""

    idle: int
    """Entered, nothing read yet."""
    speaking: int
    """In a round, after its first chunks."""


def measure_memory(pipeline: Pipeline, workload: Workload, turns: int = 200) -> Memory:
    """What each of many open turns takes, as Python's allocator sees it."""
    first = b"".join(workload.arrivals[:_SPOKEN_CHUNKS])

    def speak(turn: Turn) -> None:
        turn.open_round(workload.backend).feed(first)

    return Memory(
        asyncio.run(_bytes_a_turn(pipeline, turns, lambda turn: None)),
        asyncio.run(_bytes_a_turn(pipeline, turns, speak)),
    )


async def _bytes_a_turn(pipeline: Pipeline, turns: int, use: Callable[[Turn], object]) -> int:
    async with AsyncExitStack() as stack:
        for _ in range(turns // 10 + 1):  # what all turns share is made by the first ones
            use(await stack.enter_async_context(pipeline.turn()))
        with _Tracing() as allocated:
            for _ in range(turns):
                use(await stack.enter_async_context(pipeline.turn()))
            return allocated() // turns


def memory_factor(pipeline: Pipeline, small: Workload, large: Workload) -> float:
    """How much more a turn holds at its peak for each byte (of a Python string) that its message is longer."""
    (small_peak, small_text), (large_peak, large_text) = (
        asyncio.run(_peak(pipeline, workload.reads, workload.backend)) for workload in (small, large)
    )
    return (large_peak - small_peak) / (large_text - small_text)


async def _peak(pipeline: Pipeline, reads: Sequence[bytes], backend: str) -> tuple[int, int]:
    with _Tracing():
        async with pipeline.turn() as turn:
            round_ = turn.open_round(backend)
            for read in reads:
                round_.feed(read)
            reply = round_.finish()
        peak = tracemalloc.get_traced_memory()[1]
    said = reply.text + reply.thinking + "".join([str(call.input) for call in reply.tool_calls])
    return peak, sys.getsizeof(said)


class _Tracing:
    """Counts allocations inside; what it gives says how many bytes more there are than at the start."""

    def __enter__(self) -> Callable[[], int]:
        gc.collect()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]

        def allocated() -> int:
            gc.collect()
            return tracemalloc.get_traced_memory()[0] - before

        return allocated

    def __exit__(self, *_: object) -> None:
        tracemalloc.stop()
