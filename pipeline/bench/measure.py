"""Measuring side by side: CPU time, the best of several rounds, everything in turn within each round."""

import asyncio
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import reactivex
from reactivex import operators as rx

from penstock.bench.workload import Workload
from penstock.operators.clock import Clock, loop_clock
from penstock.operators.stage import Chain, Operator
from penstock.pipeline import Pipeline
from penstock.reply import Reply
from penstock.sinks.sink import Sink

__all__ = ["best_times", "read_through", "run_fused", "run_unfused", "stage_times"]


def best_times(runs: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """The best CPU time of each run in seconds. Within a round all run once, so that noise hits all alike."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            gc.collect()
            began = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - began)
    return best


def read_through(pipeline: Pipeline, reads: Sequence[bytes], backend: str | None = None, *sinks: Sink) -> Reply:
    """One turn of one round over `reads`, from raw bytes to the pipeline's sinks, and these."""

    replies: list[Reply] = []  # not returned by the coroutine: asyncio.run makes a repr of what is

    async def turn() -> None:
        async with pipeline.turn(*sinks) as turn:
            round_ = turn.open_round(backend)
            for read in reads:
                round_.feed(read)
            replies.append(round_.finish())

    asyncio.run(turn())
    return replies[0]


def run_fused(operator: Operator[Any, Any], items: Sequence[Any]) -> int:
    """Push `items` through the operator as one fused Rx operator; how many came out."""
    return asyncio.run(_count(reactivex.from_iterable(items).pipe(operator)))


def run_unfused(operator: Operator[Any, Any], items: Sequence[Any]) -> int:
    """The same, with every stage an Rx operator of its own."""
    source: reactivex.Observable[Any] = reactivex.from_iterable(items)
    for make in operator.make:
        # A stock operator in between keeps neighbours from fusing.
        source = source.pipe(Operator("", make), rx.map(lambda item: item))
    return asyncio.run(_count(source))


async def _count(source: "reactivex.Observable[Any]") -> int:
    seen = 0

    def count(_: object) -> None:
        nonlocal seen
        seen += 1

    source.subscribe(count)
    return seen


def stage_times(operator: Operator[Any, Any], workload: Workload, rounds: int = 3) -> list[tuple[str, float]]:
    """What each stage adds: the chain is run up to each one, and the time of the shorter chain subtracted."""
    runs: dict[str, Callable[[], object]] = {}
    for length in range(1, len(operator.make) + 1):
        part: Operator[Any, Any] = Operator("", *operator.make[:length])
        runs[str(length)] = lambda part=part: _push(part, workload.reads)  # type: ignore[misc]
    best = best_times(runs, rounds)
    shares: list[tuple[str, float]] = []
    before = 0.0
    for length, label in enumerate(operator.labels, 1):
        shares.append((label, max(0.0, best[str(length)] - before)))
        before = best[str(length)]
    return shares


def _push(operator: Operator[Any, Any], reads: Sequence[bytes]) -> None:
    async def run() -> None:
        clock: Clock = loop_clock()
        chain: Chain[Any, Any] = operator.chain().connect(lambda _: None, clock, lambda action: action())
        for read in reads:
            chain.feed(read)
            chain.settle()
        chain.finish()
        chain.release()

    asyncio.run(run())
