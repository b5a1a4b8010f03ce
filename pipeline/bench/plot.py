"""A report as a picture: one SVG file, no library."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from penstock.bench.report import Report

__all__ = ["as_svg"]

_WIDTH = 720
_MARGIN = 24
_LABELS = 210
_ROW = 24
_BAR = 14
_COLOURS = {"penstock": "#1f6f8b", "other": "#b8c4c9"}
_STYLE = "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:14px}"

Bar = tuple[str, float, str, str]
"""A label, a value, what is written beside it, and whose it is."""


def as_svg(report: Report) -> str:
    """Bar charts: cost a chunk, cost by stage, added delay by streams, cost as the answer grows."""
    parts: list[str] = []
    y = _MARGIN
    for title, bars in _charts(report):
        parts.append(f'<text class="title" x="{_MARGIN}" y="{y + 12}">{escape(title)}</text>')
        y += _ROW
        parts += _bars(bars, y)
        y += len(bars) * _ROW + _MARGIN
    body = "\n".join(parts)
    size = f'width="{_WIDTH}" height="{y}" viewBox="0 0 {_WIDTH} {y}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _charts(report: Report) -> Iterator[tuple[str, list[Bar]]]:
    costs: list[Bar] = []
    for one in report.throughput:
        costs.append((one.workload, one.us_per_chunk, f"{one.us_per_chunk:.2f}", "penstock"))
        if one.by_hand_us_per_chunk:
            by_hand = one.by_hand_us_per_chunk
            costs.append((f"{one.workload}, by hand", by_hand, f"{by_hand:.2f}", "other"))
    costs += [(one.workload, one.us_per_chunk, f"{one.us_per_chunk:.1f}", "other") for one in report.compared]
    yield "µs a chunk, from raw bytes to a sink", costs
    stages = [(one.label, one.us_per_chunk, f"{one.us_per_chunk:.2f}", "penstock") for one in report.stages]
    yield "µs a chunk, by stage", stages
    if report.live:
        delays = [
            (f"{one.streams:,} streams", one.added_ms[1], f"{one.added_ms[1]:.1f}", "penstock")
            for one in report.live
        ]
        yield "ms from arrival to sink, 99th percentile (the window included)", delays
    if report.growth:
        growth = [
            (f"{one.workload}, {one.chunks:,} chunks", one.us_per_chunk, f"{one.us_per_chunk:.2f}", "penstock")
            for one in report.growth
        ]
        yield "µs a chunk, as the answer grows", growth


def _bars(bars: Sequence[Bar], top: int) -> Iterator[str]:
    longest = max((value for _, value, _, _ in bars), default=0.0) or 1.0
    space = _WIDTH - _LABELS - 2 * _MARGIN - 60
    for number, (label, value, shown, owner) in enumerate(bars):
        y = top + number * _ROW
        width = max(1.0, value / longest * space)
        yield f'<text x="{_LABELS}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
        yield f'<rect x="{_LABELS + 8}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{_COLOURS[owner]}"/>'
        yield f'<text x="{_LABELS + 14 + width:.1f}" y="{y + 12}">{escape(shown)}</text>'
