"""Collapsed is live, expanded is frozen, and nothing is lost between the two (seed 000, story 3)."""

from typing import Any

import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex.subject import Subject

from penstock.events import BlockStop, Text, TextDelta
from penstock.growing import TextView
from penstock.messages import MessageState
from penstock.operators.view_gate import View, view_gate
from penstock.updates import Completed, MessagesChanged, ToolBlockUpdate


class Seen:
    """One consumer behind a gate."""

    def __init__(self, view: View) -> None:
        self.source: Subject[Any] = Subject()
        self.items: list[Any] = []
        self.ends: list[Any] = []
        self.subscription = self.source.pipe(view_gate(view)).subscribe(
            self.items.append, self.ends.append, lambda: self.ends.append("completed")
        )


def states(count: int) -> list[MessagesChanged]:
    state = MessageState()
    made = []
    for n in range(count):
        state.apply(Text(f"text {n}", n, "m"))
        made.append(MessagesChanged(state.messages))
    return made


def test_collapsed_everything_passes_at_once() -> None:
    seen = Seen(View())
    for item in (a := states(3)):
        seen.source.on_next(item)
    assert seen.items == a


def test_expanded_nothing_arrives_and_back_in_collapsed_the_current_state_does_at_once() -> None:
    view = View()
    seen = Seen(view)
    first, second, third = states(3)
    seen.source.on_next(first)
    view.expand()
    seen.source.on_next(second)
    seen.source.on_next(third)
    assert seen.items == [first]
    view.collapse()
    assert seen.items == [first, third]
    assert seen.items[-1] is third


def test_expanded_stays_frozen_at_completion_and_the_end_arrives_with_the_rest() -> None:
    for error in (None, ValueError("broken")):
        view = View()
        seen = Seen(view)
        view.expand()
        seen.source.on_next(Completed("done"))
        if error is None:
            seen.source.on_completed()
        else:
            seen.source.on_error(error)
        assert (seen.items, seen.ends) == ([], [])
        view.toggle()
        assert (seen.items, seen.ends) == ([Completed("done")], [error or "completed"])


def test_deltas_are_joined_and_finals_and_lifecycle_items_kept_each() -> None:
    view = View()
    seen = Seen(view)
    view.expand()
    running = ToolBlockUpdate("c", "bash", "running", TextView.of(""))
    end = ToolBlockUpdate("c", "bash", "end", TextView.of(""))
    for item in (TextDelta("a", 0), TextDelta("b", 0), BlockStop(0), Text("ab", 0), running, running, end):
        seen.source.on_next(item)
    view.collapse()
    assert seen.items == [TextDelta("ab", 0), BlockStop(0), Text("ab", 0), running, end]


def test_every_consumer_has_its_own_view_and_every_subscription_its_own_state() -> None:
    left, right = View(), View()
    source: Subject[Any] = Subject()
    seen: dict[str, list[Any]] = {"left": [], "right": [], "again": []}
    gated = source.pipe(view_gate(left))
    gated.subscribe(seen["left"].append)
    source.pipe(view_gate(right)).subscribe(seen["right"].append)
    left.expand()
    gated.subscribe(seen["again"].append)
    source.on_next(BlockStop(0))
    assert seen == {"left": [], "right": [BlockStop(0)], "again": []}
    left.collapse()
    assert seen["left"] == seen["again"] == [BlockStop(0)]


def test_a_disposed_subscription_hears_nothing_more() -> None:
    view = View()
    seen = Seen(view)
    view.expand()
    seen.source.on_next(BlockStop(0))
    seen.subscription.dispose()
    view.collapse()
    seen.source.on_next(BlockStop(1))
    assert (seen.items, seen.ends) == ([], [])
    assert view._listeners == []


def test_a_consumer_that_switches_while_it_is_served_gets_the_rest_later_and_in_order() -> None:
    view = View()
    out: list[Any] = []

    def take(item: Any) -> None:
        out.append(item)
        if item == BlockStop(1):
            view.expand()

    source: Subject[Any] = Subject()
    source.pipe(view_gate(view)).subscribe(take)
    view.expand()
    for n in range(4):
        source.on_next(BlockStop(n))
    view.collapse()
    assert out == [BlockStop(0), BlockStop(1)]
    source.on_next(BlockStop(4))
    view.collapse()
    assert out == [BlockStop(n) for n in range(5)]


def test_an_empty_and_a_failed_source_end_at_once_while_collapsed() -> None:
    ends: list[Any] = []
    reactivex.empty().pipe(view_gate(View())).subscribe(ends.append, ends.append, lambda: ends.append("completed"))
    failed = ValueError()
    reactivex.throw(failed).pipe(view_gate(View())).subscribe(ends.append, ends.append)
    assert ends == ["completed", failed]


@given(st.lists(st.one_of(st.sampled_from(["toggle"]), st.integers(0, 9)), max_size=40))
def test_however_it_is_switched_no_final_is_lost_doubled_or_reordered(steps: list[Any]) -> None:
    view = View()
    seen = Seen(view)
    finals = []
    for step in steps:
        if step == "toggle":
            view.toggle()
        else:
            finals.append(Text(str(step), step))
            seen.source.on_next(TextDelta("x", 0))
            seen.source.on_next(finals[-1])
    view.collapse()
    seen.source.on_completed()
    assert [item for item in seen.items if isinstance(item, Text)] == finals
    assert "".join(item.text for item in seen.items if isinstance(item, TextDelta)) == "x" * len(finals)
    assert seen.ends == ["completed"]
