"""Live tool arguments: linear in their length, and what re-parsing at every delta costs beside it.

Ratios of CPU time within one run; no absolute time decides.
"""

import json
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jiter
import pytest
from laws import best_until, check_takes

from penstock.bench.measure import best_times
from penstock.compact import CompactLine, Parameters
from penstock.events import BlockStart, Event, MessageStart, TextDelta
from penstock.operators.coalesce import coalesce
from penstock.operators.finalize import finalize
from penstock.operators.stage import Operator
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.operators.track_tools import track_tools
from penstock.partial_json import Snapshot

LINE = 'def area(radius: float) -> float:\n    """Of a circle, in m²."""\n    return 3.14159 * radius ** 2\n\n'
SIZES_KB = (50, 100, 200, 400, 800)
DELTA_CHARS = 8


def arguments_of(size_kb: int) -> str:
    """A `write_file` call of about that size."""
    content = LINE * (size_kb * 1024 // len(json.dumps(LINE)))
    return json.dumps({"path": "src/geometry/circles.py", "content": content})


def deltas_of(text: str) -> list[str]:
    return [text[at : at + DELTA_CHARS] for at in range(0, len(text), DELTA_CHARS)]


def follow_live(deltas: list[str]) -> str:
    """Compact parameters and the new text of `content`, after every delta."""
    compact, parameters = CompactLine(), Parameters()
    preview: list[str] = []
    parameters.follow(("content",), on_text=preview.append)
    line = ""
    for delta in deltas:
        parameters.feed(delta)
        line = compact("write_file", parameters)
    assert parameters.is_complete
    return line


@pytest.mark.parametrize("size_kb", SIZES_KB)
@pytest.mark.benchmark(group="live tool arguments, 8 characters a delta")
def test_live_arguments(benchmark: Any, size_kb: int) -> None:
    deltas = deltas_of(arguments_of(size_kb))
    line = benchmark.pedantic(follow_live, (deltas,), rounds=1)
    assert line.startswith("src/geometry/circles.py (")
    benchmark.extra_info["µs per delta"] = round(benchmark.stats.stats.min / len(deltas) * 1e6, 2)


def test_time_doubles_when_the_size_doubles() -> None:
    runs = {f"{size_kb} KB": partial(follow_live, deltas_of(arguments_of(size_kb))) for size_kb in SIZES_KB}
    best = best_until(runs, doubles)
    assert doubles(best), best


def doubles(best: dict[str, float]) -> bool:
    ratios = [larger / smaller for smaller, larger in pairwise(best.values())]
    return all(1.4 <= ratio <= 2.6 for ratio in ratios) and best["800 KB"] <= 16 * 1.3 * best["50 KB"]


def test_following_is_at_least_50_times_faster_than_parsing_again_at_every_delta() -> None:
    text = arguments_of(800)
    deltas = deltas_of(text)
    raw = text.encode()
    # Parsing again at every one of the deltas takes a minute; evenly spread samples say the same.
    prefixes = [raw[: len(raw) * part // 40] for part in range(1, 40, 2)]

    def parse_again() -> None:
        for prefix in prefixes:
            jiter.from_json(prefix, partial_mode="trailing-strings")

    best = best_times({"again": parse_again, "following": lambda: follow_live(deltas)}, rounds=3)
    assert best["again"] / len(prefixes) * len(deltas) >= 50 * best["following"]


def test_snapshots_after_every_delta_stay_linear() -> None:
    def snapshots(size_kb: int) -> None:
        parameters = Parameters()
        taken: deque[Snapshot] = deque(maxlen=100)
        for delta in deltas_of(arguments_of(size_kb)):
            parameters.feed(delta)
            taken.append(parameters.snapshot())
        assert taken[-1].value == parameters.value()

    check_takes(lambda: snapshots(400), lambda: snapshots(40), at_most=14)


@pytest.mark.parametrize(
    "unit",
    ['"\\u00e9\\ud83d\\ude00",', "12345.678,", '{"k":[true]},', "1" * 999 + ",", '"' + "k" * 5000 + '",'],
    ids=["escapes", "numbers", "objects", "long numbers", "long strings"],
)
def test_token_by_token_documents_stay_linear(unit: str) -> None:
    def read(units: int) -> None:
        text = "[" + unit * units
        parameters = Parameters()
        for delta in deltas_of(text):
            parameters.feed(delta)
        assert parameters.error is None

    few = 20_000 // len(unit)
    check_takes(lambda: read(10 * few), lambda: read(few), at_most=14)


class SteadyClock:
    """A thousand deltas a second: the test ticks it once for each, and it rings when it is time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._due: tuple[float, Callable[[], object]] | None = None

    def now(self) -> float:
        return self._now

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        self._due = (self._now + delay_s, action)
        return lambda: None

    def tick(self) -> None:
        self._now += 0.001
        if self._due is not None and self._now >= self._due[0]:
            (_, action), self._due = self._due, None
            action()


def test_without_tool_calls_tracking_them_costs_next_to_nothing() -> None:
    events: list[Event] = [MessageStart("m"), BlockStart("text", 0, "m")]
    events += [TextDelta("word ", 0, "m")] * 50_000

    def run(operator: Operator[Any, Any]) -> None:
        clock = SteadyClock()
        heard: list[Any] = []
        chain = operator.chain().connect(heard.append, clock, lambda action: action())
        for event in events:
            chain.feed(event)
            clock.tick()
        chain.finish()
        assert len(heard) > 900

    telling: Operator[Any, Any] = streaming_tool_calls()
    without, tracked = finalize() | coalesce(), finalize() | coalesce() | telling | track_tools()
    check_takes(lambda: run(tracked), lambda: run(without), at_most=1.15)
