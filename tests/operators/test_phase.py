"""Replace, then append, then clear (seed 004)."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from laws import push

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolInvocation,
    TurnCompleted,
)
from penstock.operators.phase import phase
from penstock.updates import AssistantUpdate, Completed, FinalMessageStart, ThinkingUpdate

UPDATES = (ThinkingUpdate, FinalMessageStart, AssistantUpdate, Completed)
LETTERS: dict[type, str] = {ThinkingUpdate: "t", FinalMessageStart: "f", AssistantUpdate: "a", Completed: "c"}


def updates(events: list[Event]) -> list[Any]:
    return [item for item in push(phase(), events) if isinstance(item, UPDATES)]


def thinking(*pieces: str) -> list[Event]:
    return [ThinkingDelta(piece, 0, "m") for piece in pieces]


def text(*pieces: str, block: int = 1) -> list[Event]:
    return [TextDelta(piece, block, "m") for piece in pieces]


def fits(seen: list[Any]) -> bool:
    """G5: thinking* final_message_start? assistant* completed."""
    letters = "".join(LETTERS[type(update)] for update in seen)
    return re.fullmatch("t*(fa+)?c", letters) is not None


def test_sc1_each_thinking_update_is_the_latest_chunk_alone() -> None:
    seen = updates([MessageStart("m"), *thinking("Let me ", "see")])
    assert [u.content for u in seen if isinstance(u, ThinkingUpdate)] == ["Let me ", "see"]


def test_sc2_the_first_assistant_text_is_announced_once_and_thinking_is_not_shown_any_more() -> None:
    seen = updates([MessageStart("m"), *thinking("a"), *text("x"), *thinking("b"), *text("y")])
    kinds = [type(u) for u in seen]
    assert kinds == [ThinkingUpdate, FinalMessageStart, AssistantUpdate, AssistantUpdate, Completed]


def test_sc3_the_reply_types_out_with_no_repeated_segment() -> None:
    seen = updates([MessageStart("m"), *text("Hel", "lo", "!")])
    grown = [u.content for u in seen if isinstance(u, AssistantUpdate)]
    assert grown == ["Hel", "Hello", "Hello!"]
    assert "".join(u.chunk for u in seen if isinstance(u, AssistantUpdate)) == "Hello!"


def test_sc4_the_end_clears_and_only_the_final_message_remains() -> None:
    assert updates([MessageStart("m"), *text("Hi"), TurnCompleted("completed")])[-1] == Completed("Hi", "completed")


def test_sc5_a_backend_that_sends_whole_messages_alone_completes_the_same() -> None:
    seen = updates([MessageStart("m"), Text("Whole.", 0, "m"), MessageStop("m"), TurnCompleted("completed")])
    assert [type(u) for u in seen] == [FinalMessageStart, AssistantUpdate, Completed]
    assert seen[-1].message == "Whole."


def test_sc1_of_several_rounds_only_the_last_rounds_text_is_the_final_message() -> None:
    events: list[Event] = [
        MessageStart("1"),
        *text("Reading the files…"),
        BlockStop(1, "m"),
        ToolInvocation("c", "read", {}, 2, "m"),
        MessageStop("1", "tool_calls"),
        MessageStart("2"),
        *text("Here it is."),
        MessageStop("2"),
        TurnCompleted("completed"),
    ]
    seen = updates(events)
    assert seen[-1].message == "Here it is."
    assert [u.content for u in seen if isinstance(u, AssistantUpdate)] == ["Reading the files…", "Here it is."]
    assert [u.is_new for u in seen if isinstance(u, AssistantUpdate)] == [True, True]


def test_text_after_a_tool_inside_one_message_overwrites_the_text_before_it() -> None:
    tool = BlockStart("tool", 2, "m", "c", "search")
    seen = updates([MessageStart("m"), *text("Searching."), tool, *text("Found.", block=3), TurnCompleted()])
    assert seen[-1].message == "Found."


def test_a_round_of_tools_alone_leaves_the_text_before_it_standing() -> None:
    call = ToolInvocation("c", "ls", {}, 0, "m")
    seen = updates([MessageStart("1"), *text("Working."), MessageStart("2"), call, TurnCompleted()])
    assert seen[-1].message == "Working."


def test_an_explicit_final_message_wins_over_the_last_rounds_text() -> None:
    seen = updates([MessageStart("m"), *text("Hi"), TurnCompleted("completed", "The real one")])
    assert seen[-1].message == "The real one"


def test_g2_final_message_start_is_emitted_once_over_many_rounds() -> None:
    events: list[Event] = []
    for number in range(5):
        events += [MessageStart(str(number)), *thinking("t"), *text("x")]
    seen = updates(events)
    assert sum(isinstance(u, FinalMessageStart) for u in seen) == 1
    assert fits(seen)


def test_a_final_that_differs_from_its_deltas_replaces_them() -> None:
    seen = updates([MessageStart("m"), *text("Helo"), Text("Hello", 1, "m"), TurnCompleted()])
    assert seen[-1].message == "Hello"
    assert [u.content for u in seen if isinstance(u, AssistantUpdate)] == ["Helo", "Hello"]


def test_a_final_that_repeats_its_deltas_shows_nothing_new() -> None:
    seen = updates([MessageStart("m"), *text("He", "llo"), Text("Hello", 1, "m"), TurnCompleted()])
    assert [u.content for u in seen if isinstance(u, AssistantUpdate)] == ["He", "Hello"]


def test_what_a_subagent_says_is_not_shown() -> None:
    sub: list[Event] = [
        MessageStart("s", parent_call_id="c"),
        TextDelta("inner", 0, "s", "c"),
        Text("inner", 0, "s", "c"),
    ]
    assert updates([MessageStart("m"), *text("outer"), *sub, TurnCompleted()])[-1].message == "outer"


def test_a_turn_that_just_ends_is_completed_with_what_there_is() -> None:
    assert updates([MessageStart("m"), *text("par", "tial")])[-1] == Completed("partial")


event = st.one_of(
    st.builds(lambda n: MessageStart(f"m{n}"), st.integers(0, 3)),
    st.builds(lambda s, b: TextDelta(s, b, "m"), st.text(min_size=1, max_size=3), st.integers(0, 2)),
    st.builds(lambda s: ThinkingDelta(s, 9, "m"), st.text(min_size=1, max_size=3)),
    st.builds(lambda b: ToolInvocation("c", "t", {}, b, "m"), st.integers(0, 2)),
)


@given(st.lists(event, max_size=30))
def test_g5_every_order_of_events_gives_an_order_of_updates_that_fits(events: list[Event]) -> None:
    seen = updates([*events, TurnCompleted()])
    assert fits(seen)
    grown = [u for u in seen if isinstance(u, AssistantUpdate)]
    rebuilt = ""
    for update in grown:
        rebuilt = update.chunk if update.is_new else rebuilt + update.chunk
        assert update.content == rebuilt
    assert seen[-1].message == rebuilt
