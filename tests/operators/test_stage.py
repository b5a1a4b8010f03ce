"""How stages fuse and how endings travel."""

import threading

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from laws import push, through_rx
from reactivex import operators as rx
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.operators.gate import Gate
from penstock.operators.stage import Operator, Stage


class Double(Stage[int, int]):
    def feed(self, item: int) -> None:
        self.emit(item * 2)


class Hold(Stage[int, int]):
    """Holds one item back, so that every ending has something to flush."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def feed(self, item: int) -> None:
        for held in self.held:
            self.emit(held)
        self.held = [item]

    def finish(self) -> None:
        for held in self.held:
            self.emit(held)


class Pairs(Stage[int, tuple[int, ...]]):
    """Merges what one chunk brought."""

    def __init__(self) -> None:
        self.merged: list[int] = []

    def feed(self, item: int) -> None:
        self.merged.append(item)

    def settle(self) -> None:
        if self.merged:
            self.emit(tuple(self.merged))
            self.merged = []

    def finish(self) -> None:
        self.settle()


class Twice(Stage[int, int]):
    def feed(self, item: int) -> None:
        self.emit(item)
        self.emit(item)


class Broken(Stage[int, int]):
    def feed(self, item: int) -> None:
        if item == 13:
            raise ValueError("thirteen")
        self.emit(item)


double: Operator[int, int] = Operator("double", Double)
hold: Operator[int, int] = Operator("hold", Hold)
twice: Operator[int, int] = Operator("twice", Twice)
pairs: Operator[int, tuple[int, ...]] = Operator("pairs", Pairs)
broken: Operator[int, int] = Operator("broken", Broken)


@given(st.lists(st.integers()))
def test_fused_by_pipe_fused_by_bar_and_unfused_give_the_same(items: list[int]) -> None:
    apart = rx.map(lambda x: x)  # a stock operator in between keeps neighbours from fusing
    by_bar = through_rx(double | hold | twice, items)
    out: list[int] = []
    reactivex.from_iterable(items).pipe(double, hold, twice).subscribe(out.append)
    unfused: list[int] = []
    reactivex.from_iterable(items).pipe(double, apart, hold, apart, twice).subscribe(unfused.append)
    assert by_bar == out == unfused == push(double | hold | twice, items)


def test_neighbours_become_one_observable_over_the_first_source() -> None:
    source = reactivex.from_iterable([1])
    fused = source.pipe(double, hold, twice)
    assert getattr(fused, "origin", None) is source


def test_settle_merges_what_one_chunk_brought_only_when_fused_behind_it() -> None:
    assert push(twice | pairs, [1, 2]) == [(1, 1), (2, 2)]


def test_completion_flushes_then_completes() -> None:
    seen: list[object] = []
    reactivex.from_iterable([1, 2]).pipe(hold).subscribe(seen.append, seen.append, lambda: seen.append("completed"))
    assert seen == [1, 2, "completed"]


def test_an_error_of_the_source_arrives_after_what_was_held() -> None:
    seen: list[object] = []
    source: Subject[int] = Subject()
    source.pipe(double, hold).subscribe(seen.append, lambda error: seen.append(str(error)))
    source.on_next(1)
    source.on_error(RuntimeError("torn"))
    assert seen == [2, "torn"]


def test_an_exception_in_a_stage_flushes_what_can_be_and_becomes_on_error_once() -> None:
    seen: list[object] = []
    source: Subject[int] = Subject()
    source.pipe(broken, hold).subscribe(seen.append, lambda error: seen.append(str(error)))
    for item in (1, 13, 2):
        source.on_next(item)
    assert seen == [1, "thirteen"]


def test_an_exception_in_the_subscriber_goes_back_to_the_pusher_and_ends_the_subscription() -> None:
    seen: list[int] = []

    def subscriber(item: int) -> None:
        seen.append(item)
        raise KeyError("mine")

    source: Subject[int] = Subject()
    source.pipe(double).subscribe(subscriber, lambda error: seen.append(-1))
    with pytest.raises(KeyError):
        source.on_next(1)
    source.on_next(2)
    assert seen == [2]


def test_nothing_is_emitted_after_disposal() -> None:
    seen: list[int] = []
    source: Subject[int] = Subject()
    subscription = source.pipe(hold).subscribe(seen.append)
    source.on_next(1)
    subscription.dispose()
    source.on_next(2)
    source.on_completed()
    assert seen == []


def test_state_belongs_to_the_subscription() -> None:
    source: Subject[int] = Subject()
    held = source.pipe(hold)
    first: list[int] = []
    second: list[int] = []
    held.subscribe(first.append)
    source.on_next(1)
    held.subscribe(second.append)
    source.on_next(2)
    source.on_completed()
    assert (first, second) == ([1, 2], [2])


def test_a_timed_stage_runs_on_the_subscribers_scheduler() -> None:
    class Later(Stage[int, int]):
        def feed(self, item: int) -> None:
            self.clock.call_later(5.0, lambda: self.emit(item))

    scheduler = TestScheduler()
    seen: list[tuple[float, int]] = []
    never: Subject[int] = Subject()
    later: Operator[int, int] = Operator("later", Later)
    never.pipe(later).subscribe(lambda item: seen.append((scheduler.clock, item)), scheduler=scheduler)
    never.on_next(7)
    scheduler.advance_to(10)
    assert seen == [(5.0, 7)]


class TestGate:
    def test_a_reentrant_push_waits_for_the_one_under_way(self) -> None:
        gate = Gate()
        order: list[str] = []

        def outer() -> None:
            order.append("outer begins")
            gate.run(order.append, "inner")
            order.append("outer ends")

        gate.run(outer)
        assert order == ["outer begins", "outer ends", "inner"]

    def test_pushes_from_many_threads_never_overlap_and_none_is_lost(self) -> None:
        gate = Gate()
        inside = 0
        seen: list[int] = []
        overlaps: list[int] = []

        def action(item: int) -> None:
            nonlocal inside
            inside += 1
            if inside > 1:
                overlaps.append(item)
            seen.append(item)
            inside -= 1

        def pusher(start: int) -> None:
            for item in range(start, start + 2000):
                gate.run(action, item)

        threads = [threading.Thread(target=pusher, args=(n * 2000,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not overlaps
        assert sorted(seen) == list(range(8000))

    def test_an_action_that_raises_does_not_lose_the_queue(self) -> None:
        gate = Gate()
        seen: list[str] = []

        def failing() -> None:
            gate.run(seen.append, "queued")
            raise ValueError("first")

        with pytest.raises(ValueError, match="first"):
            gate.run(failing)
        gate.run(seen.append, "next")
        assert seen == ["queued", "next"]
