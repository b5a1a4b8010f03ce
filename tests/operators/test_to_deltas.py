"""Pieces, snapshots or both become pieces, each said once (seed 004: G3, SC3; USERS 15)."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import push, through_rx

from penstock.errors import UsageError
from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStop,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from penstock.operators.to_deltas import DeltaMode, ToDeltas, to_deltas


def texts(mode: DeltaMode, *pieces: str) -> list[str]:
    return [event.text for event in push(to_deltas(mode), [ThinkingDelta(piece, 0, "m") for piece in pieces])]


def shown(events: list[Event]) -> str:
    """What a screen shows that obeys `replace`."""
    text = ""
    for event in events:
        assert isinstance(event, TextDelta | ThinkingDelta)
        text = event.text if event.replace else text + event.text
    return text


@pytest.mark.parametrize("pieces", [("A", "AB", "ABC"), ("A", "B", "C"), ("A", "AB", "C"), ("A", "B", "ABC")])
def test_g3_snapshots_and_pieces_alike_give_pieces(pieces: tuple[str, ...]) -> None:
    assert texts("mixed", *pieces) == ["A", "B", "C"]


def test_a_final_snapshot_equal_to_what_was_streamed_gives_nothing() -> None:
    assert texts("mixed", "Let ", "me ", "see", "Let me see") == ["Let ", "me ", "see"]
    assert texts("accumulated", "Let", "Let me", "Let me") == ["Let", " me"]


def test_a_snapshot_that_goes_on_gives_what_is_new() -> None:
    assert texts("mixed", "Let ", "me ", "Let me see") == ["Let ", "me ", "see"]
    assert texts("accumulated", "漢", "漢字", "漢字👩‍👩‍👧") == ["漢", "字", "👩‍👩‍👧"]


def test_a_snapshot_that_diverges_replaces_once() -> None:
    pieces = ["The cat", "The dog", "The dog barks", "The", "The"]
    out = push(to_deltas("accumulated"), [TextDelta(piece, 0) for piece in pieces])
    assert out == [
        TextDelta("The cat", 0),
        TextDelta("The dog", 0, replace=True),
        TextDelta(" barks", 0),
        TextDelta("The", 0, replace=True),
    ]


def test_an_empty_snapshot_says_nothing() -> None:
    assert texts("accumulated", "A", "", "AB") == ["A", "B"]


def test_mixed_cannot_tell_a_repeated_piece_from_a_repeated_snapshot() -> None:
    """The one ambiguity, and it is documented: where pieces are known to come, `delta` is the mode."""
    assert texts("mixed", "ha", "ha") == ["ha"]
    assert texts("mixed", "1", "10") == ["1", "0"]
    assert texts("mixed", "ha", " ", "ha", "ha") == ["ha", " ", "ha", "ha"]
    assert texts("delta", "ha", "ha") == ["ha", "ha"]


def test_delta_mode_touches_nothing() -> None:
    events: list[Event] = [TextDelta("A", 0), TextDelta("AB", 0), TextDelta("", 0), BlockStop(0), Text("AB", 0)]
    out = push(to_deltas("delta"), events)
    assert all(before is after for before, after in zip(events, out, strict=True))


def test_every_block_of_every_message_and_subagent_has_its_own_text() -> None:
    places = [(0, "m", ""), (1, "m", ""), (0, "n", ""), (0, "m", "call-1")]
    events: list[Event] = [TextDelta(text, *place) for text in ("A", "AB") for place in places]
    assert push(to_deltas("accumulated"), events) == [TextDelta(text, *place) for text in "AB" for place in places]


@pytest.mark.parametrize("end", [BlockStop(0, "m"), MessageStop("m")])
def test_a_block_starts_over_after_its_end_and_nothing_of_it_is_kept(end: Event) -> None:
    stage = ToDeltas(is_mixed=True)
    seen: list[Event] = []
    stage.emit = seen.append
    kept = TextDelta("other", 0, "n")
    for event in (kept, TextDelta("A", 0, "m"), end, TextDelta("AB", 0, "m"), end):
        stage.feed(event)
    assert seen == [kept, TextDelta("A", 0, "m"), end, TextDelta("AB", 0, "m"), end]
    assert list(stage._blocks) == [(0, "n", "")]


def test_a_delta_that_replaces_starts_over() -> None:
    events: list[Event] = [TextDelta("A", 0), TextDelta("X", 0, replace=True), TextDelta("XY", 0)]
    assert push(to_deltas("mixed"), events) == [*events[:2], TextDelta("Y", 0)]


def test_all_other_events_pass_in_their_place() -> None:
    events: list[Event] = [BlockStart("tool", 0), ToolInputDelta("{", 0), ToolInputDelta("{", 0), Text("A", 1)]
    assert push(to_deltas("mixed"), events) == events


def test_the_kind_of_delta_and_its_place_stay() -> None:
    events: list[Event] = [ThinkingDelta("A", 3, "m", "c"), ThinkingDelta("AB", 3, "m", "c")]
    assert push(to_deltas("accumulated"), events) == [events[0], ThinkingDelta("B", 3, "m", "c")]


@given(st.lists(st.text(alphabet="ab", max_size=4), max_size=8))
def test_any_snapshots_end_in_the_last_one_that_said_something(snapshots: list[str]) -> None:
    said = [snapshot for snapshot in snapshots if snapshot]
    out = push(to_deltas("accumulated"), [TextDelta(snapshot, 0) for snapshot in snapshots])
    assert shown(out) == (said[-1] if said else "")


@given(st.lists(st.tuples(st.text(alphabet="abc漢", min_size=1, max_size=3), st.booleans()), max_size=10))
def test_pieces_and_snapshots_in_any_mixture_give_the_text_once(steps: list[tuple[str, bool]]) -> None:
    so_far = "^"
    events: list[Event] = [TextDelta(so_far, 0)]
    for piece, is_snapshot in steps:
        so_far += piece
        # No piece can be taken for a snapshot: only snapshots begin as the text does.
        events.append(TextDelta(so_far if is_snapshot else piece, 0))
    assert shown(push(to_deltas("mixed"), events)) == so_far


def test_state_belongs_to_a_subscription() -> None:
    operator = to_deltas("accumulated")
    events = [TextDelta("A", 0), TextDelta("AB", 0)]
    assert through_rx(operator, events) == through_rx(operator, events) == [TextDelta("A", 0), TextDelta("B", 0)]


def test_a_wrong_mode_is_refused_at_once() -> None:
    assert set(get_args(DeltaMode)) == {"delta", "accumulated", "mixed"}
    with pytest.raises(UsageError, match="'snapshots'"):
        to_deltas("snapshots")  # type: ignore[arg-type]
