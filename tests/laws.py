"""The five laws every operator keeps (design, section 4), as pieces the tests of each operator are made from."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

import reactivex
from hypothesis import strategies as st
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.bench.measure import best_times
from penstock.events import Event, TextDelta, ThinkingDelta, ToolInputDelta
from penstock.operators.clock import SchedulerClock
from penstock.operators.stage import Chain, Operator
from penstock.testing import assert_balanced as check_balance

__all__ = [
    "best_until",
    "check_balance",
    "check_takes",
    "cuts",
    "every_cut",
    "feed_all",
    "merged",
    "peak_bytes",
    "push",
    "through_rx",
    "timeline",
]

Sliceable = TypeVar("Sliceable", bytes, str)


def feed_all(chain: Chain[Any, Any], items: Iterable[Any]) -> None:
    """Feed the items; the chain is not over with the last of them."""
    for item in items:
        chain.feed(item)
        chain.settle()


def push(operator: Operator[Any, Any], items: Iterable[Any]) -> list[Any]:
    """What the operator's stages emit for `items`, pushed by hand, without Rx."""
    out: list[Any] = []
    chain = operator.chain().connect(out.append, SchedulerClock(TestScheduler()), lambda action: action())
    feed_all(chain, items)
    chain.finish()
    chain.release()
    return out


def through_rx(operator: Callable[..., Any], items: Iterable[Any]) -> list[Any]:
    """What the operator emits for `items` as an ordinary Rx operator, on virtual time."""
    out: list[Any] = []
    scheduler = TestScheduler()
    reactivex.from_iterable(items).pipe(operator).subscribe(out.append, scheduler=scheduler)
    scheduler.start()
    return out


def best_until(
    runs: Mapping[str, Callable[[], object]], shows: Callable[[dict[str, float]], bool], rounds: int = 3
) -> dict[str, float]:
    """The best CPU time of each run, all by turns; `rounds`, and up to ten times as many until they show it.

    On a busy machine it only takes longer until each run has had its quiet moment, so noise alone fails no test. It
    may let one pass that misses its limit by as little as the noise is; what grows with the square misses by a
    multiple. Without the collector, as `timeit` does: what it takes depends on everything else that is in memory.
    """
    gc.disable()
    try:
        best = best_times(runs, rounds)
        for _ in range(9 * rounds):
            if shows(best):
                break
            again = best_times(runs, 1)
            best = {name: min(seconds, again[name]) for name, seconds in best.items()}
    finally:
        gc.enable()
    return best


def check_takes(large: Callable[[], object], small: Callable[[], object], at_most: float, rounds: int = 3) -> float:
    """Check that `large` takes at most so many times as long as `small`; how many it was."""
    best = best_until(
        {"small": small, "large": large}, lambda best: best["large"] <= at_most * best["small"], rounds
    )
    ratio = best["large"] / best["small"]
    assert ratio <= at_most, f"{ratio:.2f} times as long, and at most {at_most:g} is right: {best}"
    return ratio


def peak_bytes(run: Callable[[], object]) -> int:
    """The most memory that was allocated at once during `run`, what there was before not counted."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def timeline(
    operator: Operator[Event, Event],
    pushes: list[tuple[float, Event]],
    end: str = "completed",
    until: float = 10_000,
) -> list[tuple[float, Any]]:
    """What comes out when, for items pushed at the given times."""
    scheduler = TestScheduler()
    source: Subject[Event] = Subject()
    seen: list[tuple[float, Any]] = []
    subscription = source.pipe(operator).subscribe(
        lambda item: seen.append((scheduler.clock, item)),
        lambda error: seen.append((scheduler.clock, "error")),
        lambda: seen.append((scheduler.clock, "completed")),
        scheduler=scheduler,
    )
    for at, item in pushes:
        scheduler.advance_to(at)
        source.on_next(item)
    if end == "completed":
        source.on_completed()
    elif end == "error":
        source.on_error(RuntimeError("torn"))
    elif end == "dispose":
        subscription.dispose()
    scheduler.advance_to(until)
    return seen


def every_cut(whole: Sliceable) -> list[list[Sliceable]]:
    """Every way to cut `whole` in two, and the way that cuts it into single elements."""
    cut: list[list[Sliceable]] = [[whole[:i], whole[i:]] for i in range(len(whole) + 1)]
    cut.append([whole[i : i + 1] for i in range(len(whole))])
    return cut


@st.composite
def cuts(draw: st.DrawFn, whole: Sliceable) -> list[Sliceable]:
    """`whole`, cut at random places (empty pieces included)."""
    places: list[int] = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    edges = [0, *places, len(whole)]
    return [whole[a:b] for a, b in pairwise(edges)]


def merged(events: Sequence[Any]) -> list[Any]:
    """The events with neighbouring deltas of one block joined: what re-chunking may not change."""
    out: list[Any] = []
    for event in events:
        last: Any = out[-1] if out else None
        if (
            type(event) in (TextDelta, ThinkingDelta)
            and type(event) is type(last)
            and not event.replace
            and (event.block_index, event.message_id, event.parent_call_id)
            == (last.block_index, last.message_id, last.parent_call_id)
        ):
            out[-1] = type(event)(
                last.text + event.text, last.block_index, last.message_id, last.parent_call_id, last.replace
            )
        elif (
            type(event) is ToolInputDelta
            and type(last) is ToolInputDelta
            and (event.block_index, event.message_id, event.parent_call_id)
            == (last.block_index, last.message_id, last.parent_call_id)
        ):
            out[-1] = ToolInputDelta(
                last.json + event.json, last.block_index, last.call_id, last.message_id, last.parent_call_id
            )
        else:
            out.append(event)
    return out
