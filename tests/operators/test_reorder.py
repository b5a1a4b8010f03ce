"""Numbered records back in order, gaps reported and never waited for for ever (formats 2, issue 3.4)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import push, through_rx
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.events import StreamError
from penstock.operators.reorder import Reorder, reorder, sequence_number
from penstock.operators.stage import Operator

Numbered = tuple[int | None, str]


def n(number: int | None, name: str = "") -> Numbered:
    return (number, name)


def in_order(window_items: int = 64, wait_s: float = 1.0) -> Operator[Numbered, Numbered | StreamError]:
    return reorder(lambda item: item[0], window_items, wait_s)


def brief(items: list[Any]) -> list[Any]:
    """Numbers (with names where there are any), and gaps as the text of what is missing."""
    return [
        f"gap {item.message.rpartition(': ')[2]}"
        if isinstance(item, StreamError)
        else (item[0] if not item[1] else item)
        for item in items
    ]


def pushed(*numbers: int | Numbered | None, window_items: int = 64) -> list[Any]:
    items = [item if isinstance(item, tuple) else n(item) for item in numbers]
    return brief(push(in_order(window_items), items))


def timeline(
    pushes: list[tuple[float, int | None]], end: str = "never", wait_s: float = 50.0
) -> list[tuple[float, Any]]:
    scheduler = TestScheduler()
    source: Subject[Numbered] = Subject()
    seen: list[tuple[float, Any]] = []
    subscription = source.pipe(in_order(wait_s=wait_s)).subscribe(
        lambda item: seen.append((scheduler.clock, brief([item])[0])),
        lambda error: seen.append((scheduler.clock, "error")),
        lambda: seen.append((scheduler.clock, "completed")),
        scheduler=scheduler,
    )
    for at, number in pushes:
        scheduler.advance_to(at)
        source.on_next(n(number))
    if end == "completed":
        source.on_completed()
    elif end == "error":
        source.on_error(RuntimeError("torn"))
    elif end == "dispose":
        subscription.dispose()
    scheduler.advance_to(1000)
    return seen


@pytest.mark.parametrize("first", [0, 1])
def test_items_in_order_pass_as_they_come(first: int) -> None:
    assert timeline([(10, first), (20, first + 1), (30, first + 2)]) == [
        (10, first),
        (20, first + 1),
        (30, first + 2),
    ]


def test_an_early_item_waits_for_those_before_it() -> None:
    assert timeline([(10, 0), (20, 2), (30, 3), (40, 1)]) == [(10, 0), (40, 1), (40, 2), (40, 3)]


def test_the_very_first_items_may_be_out_of_order_too() -> None:
    assert pushed(2, 0, 1) == [0, 1, 2]
    assert pushed(3, 2, 1) == [1, 2, 3]


def test_a_zero_that_comes_after_the_one_is_late_but_not_lost() -> None:
    assert pushed(1, 0, 0, 2, 3) == [1, 0, 2, 3]


def test_duplicates_are_dropped_whether_passed_or_held() -> None:
    assert pushed(0, 0, 1, 3, 3, 1, 2, 3, 4) == [0, 1, 2, 3, 4]


def test_a_gap_is_reported_after_the_wait_and_not_fatal() -> None:
    assert timeline([(10, 0), (20, 2), (30, 5), (35, 6)]) == [
        (10, 0),
        (70, "gap 1"),
        (70, 2),
        (80, "gap 3 to 4"),
        (80, 5),
        (80, 6),
    ]
    gap = next(item for item in push(in_order(), [n(0), n(2)]) if isinstance(item, StreamError))
    assert (gap.code, gap.is_fatal) == ("gap", False)


def test_nothing_is_held_longer_than_the_wait_whatever_stands_before_it() -> None:
    # 9 came first: at its time, all up to 9 leaves, also 5, which is younger.
    assert timeline([(10, 0), (20, 9), (60, 5), (65, 12)]) == [
        (10, 0),
        (70, "gap 1 to 4"),
        (70, 5),
        (70, "gap 6 to 8"),
        (70, 9),
        (115, "gap 10 to 11"),
        (115, 12),
    ]


def test_the_wait_counts_from_the_item_that_waits_now() -> None:
    assert timeline([(10, 0), (20, 2), (40, 4), (50, 1)]) == [(10, 0), (50, 1), (50, 2), (90, "gap 3"), (90, 4)]


def test_with_no_wait_only_the_window_limits() -> None:
    assert timeline([(10, 0), (20, 2)], wait_s=0) == [(10, 0)]


def test_a_full_window_gives_the_oldest_gap_up() -> None:
    assert pushed(0, 2, 3, 5, window_items=2) == [0, "gap 1", 2, 3, "gap 4", 5]
    chain = in_order(window_items=2).chain()
    seen: list[Any] = []
    chain.connect(seen.append, _StoppedClock(), lambda action: action())
    for number in (0, 2, 4, 6):
        chain.feed(n(number))
    assert brief(seen) == [0, "gap 1", 2]


def test_a_window_of_none_only_reports() -> None:
    assert pushed(0, 2, 3, 1, 4, window_items=0) == [0, "gap 1", 2, 3, 4]


def test_what_was_given_up_is_dropped_when_it_comes_after_all() -> None:
    assert timeline([(10, 0), (20, 2), (100, 1), (110, 3)]) == [(10, 0), (70, "gap 1"), (70, 2), (110, 3)]


def test_items_without_a_number_never_overtake_what_came_before_them() -> None:
    a, b = n(None, "a"), n(None, "b")
    assert pushed(a, 0, a, 2, a, 3, b, 1, b) == [a, 0, a, 1, 2, a, 3, b, b]


def test_items_without_a_number_count_in_the_window() -> None:
    ping = n(None, "ping")
    assert pushed(0, 2, ping, ping, 3, window_items=2) == [0, "gap 1", 2, ping, ping, 3]


@pytest.mark.parametrize("first", [0, 1])
def test_a_numbering_that_begins_again_is_another_response(first: int) -> None:
    second = n(first, "second")
    assert pushed(first, first + 1, first + 2, second, first + 1, first + 3, first + 2) == [
        first,
        first + 1,
        first + 2,
        second,
        first + 1,
        first + 2,
        first + 3,
    ]


def test_what_is_held_of_the_first_numbering_leaves_before_the_second_begins() -> None:
    second = n(0, "second")
    assert pushed(0, 1, 3, second, 1) == [0, 1, "gap 2", 3, second, 1]


def test_a_stream_that_was_joined_late_goes_on_and_may_begin_again() -> None:
    assert timeline([(10, 57), (20, 58), (100, 59), (110, 0), (120, 1)]) == [
        (60, "gap 0 to 56"),
        (60, 57),
        (60, 58),
        (100, 59),
        (110, 0),
        (120, 1),
    ]


@pytest.mark.parametrize("end", ["completed", "error"])
def test_the_end_lets_go_of_all_that_is_held_in_order(end: str) -> None:
    assert timeline([(10, 0), (20, 4), (25, 2), (30, 5)], end=end) == [
        (10, 0),
        (30, "gap 1"),
        (30, 2),
        (30, "gap 3"),
        (30, 4),
        (30, 5),
        (30, end),
    ]


def test_disposal_stops_the_wait() -> None:
    assert timeline([(10, 0), (20, 2)], end="dispose") == [(10, 0)]


def test_an_item_in_order_arms_no_timer() -> None:
    stage = Reorder(lambda item: item[0], 8, 1.0)
    stage.emit = lambda item: None
    for number in range(100):
        stage.feed(n(number))  # a stage without a clock would raise if it asked for one
    stage.finish()


@given(st.permutations(range(9)))
def test_any_order_within_the_window_is_put_right(order: list[int]) -> None:
    if order.index(0) > order.index(1):
        order[order.index(0)], order[order.index(1)] = 1, 0
    assert pushed(*order) == list(range(9))


@given(st.lists(st.integers(0, 12) | st.none(), max_size=30), st.integers(0, 5))
def test_numbers_come_out_rising_nothing_twice_and_nothing_without_a_number_lost(
    numbers: list[int | None], window_items: int
) -> None:
    out = push(in_order(window_items), [n(0), *(n(number) for number in numbers)])
    passed = [item[0] for item in out if not isinstance(item, StreamError) and item[0] is not None]
    assert passed == sorted(set(passed))
    assert sum(item == n(None) for item in out) == numbers.count(None)


def test_state_belongs_to_a_subscription() -> None:
    operator = in_order()
    assert brief(through_rx(operator, [n(0), n(2)])) == [0, "gap 1", 2]
    assert brief(through_rx(operator, [n(0), n(1)])) == [0, 1]


@pytest.mark.parametrize(
    ("record", "number"),
    [
        ({"sequence_number": 3}, 3),
        ({"sequence_number": "3"}, None),
        ({"sequence_number": True}, None),
        ({}, None),
        (b"{}", None),
    ],
)
def test_records_are_numbered_as_the_responses_api_does_it(record: Any, number: int | None) -> None:
    assert sequence_number(record) == number


class _StoppedClock:
    def now(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, action: Any) -> Any:
        return lambda: None
