"""A process of its own that reads one long message, and says what its memory rose by and how long that was."""

import asyncio
import gc
import sys
from pathlib import Path

from penstock import Pipeline, Reply, Settings
from penstock.bench.workload import Kind, Workload, make_workload
from penstock.sinks import CallbackSink


def resident(which: str) -> int:
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which)]
    return int(line.split()[1]) * 1024


async def read(workload: Workload, replies: list[Reply]) -> None:
    pipeline = Pipeline(Settings(backend="openai-chat"), sinks=[CallbackSink(on_item=lambda item: None)])
    async with pipeline.turn() as turn:
        round_ = turn.open_round(workload.backend)
        for piece in workload.reads:
            round_.feed(piece)
        replies.append(round_.finish())


def main(kind: Kind, chunks: int) -> None:
    workload = make_workload(kind, chunks)
    replies: list[Reply] = []
    asyncio.run(read(make_workload(kind, 1000), replies))  # what every turn shares is made by the first
    replies.clear()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak from here on
    before = resident("VmRSS")
    asyncio.run(read(workload, replies))
    peak = resident("VmHWM")
    (reply,) = replies
    said = reply.text + reply.thinking + "".join([str(call.input) for call in reply.tool_calls])
    print(peak - before, sys.getsizeof(said))


main(sys.argv[1], int(sys.argv[2]))  # type: ignore[arg-type]
