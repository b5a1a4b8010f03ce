"""A recording, or any file of a stream, to measure with."""

import asyncio
import random
from contextlib import aclosing
from pathlib import Path

from penstock.bench.workload import Workload, split_into_reads
from penstock.errors import UsageError
from penstock.sources.recordings import steps

__all__ = ["recorded_workload"]

_AT_ONCE = 1e9  # as fast as can be, and still record by record


def recorded_workload(path: Path, backend: str = "auto", *, max_read_bytes: int = 1500) -> Workload:
    """The longest round in `path`: its chunks as they arrived, and the same bytes in reads of random sizes."""
    arrivals = asyncio.run(_longest_round(path))
    if not arrivals:
        raise UsageError(f"there is nothing to measure in {path}")
    body = b"".join(arrivals)
    return Workload(path.name, backend, split_into_reads(body, max_read_bytes, random.Random(1)), arrivals)


async def _longest_round(path: Path) -> list[bytes]:
    rounds: list[list[bytes]] = [[]]
    async with aclosing(steps(path, speed=_AT_ONCE)) as played:
        async for step in played:
            if step.mark is not None:
                rounds.append([])
            else:
                rounds[-1].append(step.chunk)
    return max(rounds, key=lambda chunks: sum(map(len, chunks)))
