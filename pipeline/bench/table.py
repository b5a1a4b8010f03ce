"""A report as text, for people."""

from collections.abc import Iterator, Sequence

from penstock.bench.report import Report

__all__ = ["as_text"]


def as_text(report: Report) -> str:
    """The report, section by section; sections that were not measured are left out."""
    return "\n\n".join(_sections(report))


def _sections(report: Report) -> Iterator[str]:
    yield _throughput(report)
    yield _stages(report)
    if report.compared:
        yield _compared(report)
    if report.memory is not None:
        rows = [("idle", _kb(report.memory.idle)), ("speaking", _kb(report.memory.speaking))]
        yield _table("Memory a turn (KB)", ("turn", "KB"), rows)
    if report.live:
        yield _live(report)
    if report.growth:
        yield _growth(report)


def _throughput(report: Report) -> str:
    rows = [
        (
            one.workload,
            f"{one.chunks:,}",
            f"{one.us_per_chunk:.2f}",
            f"{one.chunks_per_s:,.0f}",
            f"{one.mb_per_s:.0f}",
            f"{one.us_per_chunk / one.by_hand_us_per_chunk:.2f}" if one.by_hand_us_per_chunk else "",
        )
        for one in report.throughput
    ]
    heads = ("workload", "chunks", "µs a chunk", "chunks/s", "MB/s", "× by hand")
    return _table("From raw bytes to a sink (CPU time)", heads, rows)


def _stages(report: Report) -> str:
    whole = sum(stage.us_per_chunk for stage in report.stages)
    rows = [
        (stage.label, f"{stage.us_per_chunk:.2f}", f"{stage.us_per_chunk / whole:.0%}") for stage in report.stages
    ]
    return _table("By stage, every read on its own (µs a chunk)", ("stage", "µs", "share"), rows)


def _compared(report: Report) -> str:
    ours = report.throughput[0].us_per_chunk
    rows = [(one.workload, f"{one.us_per_chunk:.1f}", f"{one.us_per_chunk / ours:.0f}") for one in report.compared]
    return _table("The same bytes elsewhere", ("", "µs a chunk", "× penstock"), rows)


def _live(report: Report) -> str:
    rows = [
        (
            f"{one.streams:,}",
            f"{one.updates:,}",
            f"{one.first_ms[0]:.2f}",
            f"{one.first_ms[1]:.2f}",
            f"{one.added_ms[0]:.1f}",
            f"{one.added_ms[1]:.1f}",
            f"{one.core_share:.1%}",
            f"{one.machine_ms:.1f}",
        )
        for one in report.live
    ]
    heads = ("streams", "updates", "first p50", "p99", "added p50", "p99", "of a core", "machine p99")
    pace = f"{report.live[0].chunks_per_s:g} chunks/s each"
    return _table(f"Live on an event loop, {pace} (ms from arrival to sink)", heads, rows)


def _growth(report: Report) -> str:
    sizes = sorted({one.chunks for one in report.growth})
    names = dict.fromkeys(one.workload for one in report.growth)
    cost = {(one.workload, one.chunks): one.us_per_chunk for one in report.growth}
    rows = [(name, *(f"{cost[name, size]:.2f}" for size in sizes)) for name in names]
    return _table("As the answer grows (µs a chunk)", ("chunks", *(f"{size:,}" for size in sizes)), rows)


def _kb(size: int) -> str:
    return f"{size / 1024:.1f}"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [_row(cells, widths) for cells in (heads, *rows)]
    return "\n".join([title, *(f"  {line}".rstrip() for line in lines)])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])
