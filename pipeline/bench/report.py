"""Everything `penstock bench` measures, in order, as one report."""

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.bench.by_hand import read_by_hand
from penstock.bench.live import Live, measure_live
from penstock.bench.measure import best_times, read_through, stage_times
from penstock.bench.memory import Memory, measure_memory
from penstock.bench.openai_client import openai_runs
from penstock.bench.workload import Kind, Workload, make_workload
from penstock.pipeline import Pipeline
from penstock.sinks.callbacks import CallbackSink

__all__ = ["Extent", "Growth", "Report", "StageShare", "Throughput", "make_report"]

KINDS: tuple[Kind, ...] = ("text", "thinking", "tools")


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured."""

    chunks: int = 20_000
    max_read_bytes: int = 1500
    rounds: int = 5
    streams: tuple[int, ...] = (1, 10, 100, 1000)
    live_chunks: int = 150
    growth: tuple[int, ...] = (10_000, 100_000, 300_000)


@dataclass(frozen=True, slots=True)
class Throughput:
    """One workload from raw bytes to a sink. CPU time, the best of several rounds."""

    workload: str
    chunks: int
    size_bytes: int
    us_per_chunk: float
    by_hand_us_per_chunk: float | None
    """What a hand-written loop needs that only parses and joins; None where no such loop fits."""

    @property
    def chunks_per_s(self) -> float:
        return 1e6 / self.us_per_chunk

    @property
    def mb_per_s(self) -> float:
        return self.size_bytes / self.chunks / self.us_per_chunk


@dataclass(frozen=True, slots=True)
class StageShare:
    """What one operator adds to a chunk."""

    label: str
    us_per_chunk: float


@dataclass(frozen=True, slots=True)
class Growth:
    """What a chunk costs in an answer of so many."""

    workload: str
    chunks: int
    us_per_chunk: float


@dataclass(slots=True)
class Report:
    """What was measured; what was left out is empty."""

    throughput: list[Throughput] = field(default_factory=list)
    stages: list[StageShare] = field(default_factory=list)
    compared: list[Throughput] = field(default_factory=list)
    memory: Memory | None = None
    live: list[Live] = field(default_factory=list)
    growth: list[Growth] = field(default_factory=list)


def make_report(
    pipeline: Pipeline,
    extent: Extent,
    recorded: Workload | None = None,
    *,
    compares_openai: bool = False,
    on_step: Callable[[str], object] = lambda what: None,
) -> Report:
    """Measure `recorded`, or made workloads where there is none. `on_step` is told what is measured next."""
    report = Report()
    workloads = [recorded] if recorded else [_made(kind, extent.chunks, extent) for kind in KINDS]
    for workload in workloads:
        on_step(f"throughput, {workload.name}")
        report.throughput.append(_throughput(pipeline, workload, extent.rounds))
    first = workloads[0]
    on_step("stages")
    operator = pipeline.operator(first.backend)
    for label, seconds in stage_times(operator, first, min(3, extent.rounds)):
        report.stages.append(StageShare(label, seconds / first.chunks * 1e6))
    if compares_openai:
        on_step("the openai client")
        report.compared = _compared(first)
    on_step("memory")
    report.memory = measure_memory(pipeline, first)
    for streams in extent.streams:
        on_step(f"{streams} streams")
        report.live.append(
            measure_live(pipeline, first.arrivals, first.backend, streams=streams, max_chunks=extent.live_chunks)
        )
    if recorded is None:
        for kind in KINDS:
            for chunks in extent.growth:
                on_step(f"growth, {kind}, {chunks} chunks")
                report.growth.append(_growth(pipeline, _made(kind, chunks, extent)))
    return report


def _made(kind: Kind, chunks: int, extent: Extent) -> Workload:
    return make_workload(kind, chunks, max_read_bytes=extent.max_read_bytes)


def _callback() -> CallbackSink:
    return CallbackSink(on_assistant_content_updated=lambda chunk, accumulated: None)


def _throughput(pipeline: Pipeline, workload: Workload, rounds: int) -> Throughput:
    runs: dict[str, Callable[[], object]] = {
        "penstock": lambda: read_through(pipeline, workload.reads, workload.backend, _callback())
    }
    if workload.name in KINDS:
        runs["by hand"] = lambda: read_by_hand(workload.reads)
    best = best_times(runs, rounds)
    us = {name: seconds / workload.chunks * 1e6 for name, seconds in best.items()}
    return Throughput(workload.name, workload.chunks, workload.size_bytes, us["penstock"], us.get("by hand"))


def _compared(workload: Workload) -> list[Throughput]:
    best = best_times(openai_runs(workload.reads), 1)
    return [
        Throughput(name, workload.chunks, workload.size_bytes, seconds / workload.chunks * 1e6, None)
        for name, seconds in best.items()
    ]


def _growth(pipeline: Pipeline, workload: Workload) -> Growth:
    best = best_times({"": lambda: read_through(pipeline, workload.reads, workload.backend, _callback())}, 3)
    return Growth(workload.name, workload.chunks, best[""] / workload.chunks * 1e6)
