"""A thousand streams on one event loop, in real time: slow, and only meaningful on a machine that is not busy."""

import asyncio
import time
from contextlib import AsyncExitStack

import pytest
from laws import check_takes
from virtual_loop import LoopInVirtualTime, clock_in

from penstock import Pipeline, Settings
from penstock.bench.by_hand import read_by_hand
from penstock.bench.live import Live, measure_live
from penstock.bench.measure import best_times
from penstock.bench.workload import Workload, make_workload
from penstock.sinks import CallbackSink

STREAMS = 1000
CHUNKS_PER_S = 50
WINDOW_MS = 50
BUSY_MS = 5


def pipeline() -> Pipeline:
    return Pipeline(Settings(backend="openai-chat"))


def test_every_chunk_of_a_few_streams_reaches_its_sink() -> None:
    arrivals = make_workload("text", 100).arrivals
    live = measure_live(pipeline(), arrivals, streams=5, chunks_per_s=1000.0, max_chunks=60)
    assert live.streams == 5
    assert live.updates >= 5
    assert live.core_share >= 0


def live_in_virtual_time(workload: Workload, streams: int) -> int:
    """The chunks as they come to `streams` turns, side by side, and their windows; how many updates that made."""
    loop = LoopInVirtualTime()
    updates = 0

    def count(chunk: str, accumulated: str) -> None:
        nonlocal updates
        updates += 1

    async def run() -> None:
        counted = CallbackSink(on_assistant_content_updated=count)
        several = Pipeline(Settings(backend="openai-chat"), sinks=[counted], clock=clock_in(loop))
        async with AsyncExitStack() as stack:
            turns = [await stack.enter_async_context(several.turn()) for _ in range(streams)]
            feeds = [turn.open_round().feed for turn in turns]
            for chunk in workload.arrivals:
                for feed in feeds:
                    feed(chunk)
                loop.run_until(loop.now + 1 / CHUNKS_PER_S)

    asyncio.run(run())
    return updates


def test_the_chunk_of_a_live_stream_costs_at_most_four_times_the_hand_written_loop() -> None:
    """With a window's update for every two or three chunks; the hand-written loop shows nothing.

    The part of issue 7's thousand streams that does not depend on how busy the machine is.
    """
    workload = make_workload("text", 200)
    assert live_in_virtual_time(workload, streams=2) in range(130, 210)
    reads = workload.reads * 50
    takes = check_takes(lambda: live_in_virtual_time(workload, streams=50), lambda: read_by_hand(reads), at_most=4)
    print(f"\na chunk of a live stream: {takes:.1f} × by hand")


@pytest.mark.slow
def test_a_thousand_streams_leave_in_their_window_and_take_less_than_40_percent_of_a_core() -> None:
    """Issue 7: window plus 20 ms at the 99th percentile, below 40 % of a core. The best of up to ten runs."""
    workload = make_workload("text", 20_000)
    by_hand = best_times({"": lambda: read_by_hand(workload.reads)})[""] / workload.chunks * STREAMS * CHUNKS_PER_S
    runs: list[Live] = []
    while len(runs) < 10 and not any(map(is_as_wanted, runs)):
        run = measure_live(pipeline(), workload.arrivals, streams=STREAMS, max_chunks=150)
        runs.append(run)
        print(f"\n{run.added_ms[1]:.1f} ms at the 99th percentile, {run.core_share:.0%} of a core, ", end="")
        print(
            f"{run.core_share / by_hand:.1f} × by hand (the machine itself: {run.machine_ms:.1f} ms late)", end=""
        )
    if min(run.machine_ms for run in runs) > BUSY_MS:
        pytest.skip("the machine is busy: it is late by itself")
    assert any(map(is_as_wanted, runs)), runs


def is_as_wanted(run: Live) -> bool:
    return run.added_ms[1] <= WINDOW_MS + 20 and run.core_share < 0.40


@pytest.mark.slow
def test_the_first_update_leaves_within_a_millisecond_of_its_chunk() -> None:
    arrivals = make_workload("text", 100).arrivals
    live = measure_live(pipeline(), arrivals, streams=100, max_chunks=20)
    print(f"\nfirst update after {live.first_ms[0]:.2f} ms")
    assert live.first_ms[0] <= 1.0


@pytest.mark.slow
def test_a_thousand_idle_turns_cost_nothing() -> None:
    """Issue 7: less than 2 % of a core, while each is in the middle of an answer and nothing comes."""
    first = b"".join(make_workload("text", 20).arrivals)

    async def idle() -> float:
        async with AsyncExitStack() as stack:
            for _ in range(1000):
                turn = await stack.enter_async_context(pipeline().turn())
                turn.open_round().feed(first)
            await asyncio.sleep(0.5)
            began = time.process_time()
            await asyncio.sleep(2)
            return (time.process_time() - began) / 2

    share = asyncio.run(idle())
    print(f"\n{share:.2%} of a core")
    assert share < 0.02
