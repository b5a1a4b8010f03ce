"""The conversation as immutable snapshots that share structure (seed 003, FR-003)."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from laws import check_takes

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
    Usage,
)
from penstock.growing import GrowingText, TextView
from penstock.messages import MessageState, TextEntry, ThinkingEntry, ToolEntry
from penstock.updates import ToolBlockUpdate
from penstock.vector import Vector


def applied(*events: Event) -> MessageState:
    state = MessageState()
    for event in events:
        state.apply(event)
    return state


def test_phase_one_deltas_grow_a_streaming_entry_and_the_stop_ends_it() -> None:
    state = applied(MessageStart("m", "gpt"), BlockStart("text", 0, "m"), TextDelta("He", 0, "m"))
    entry = state.messages[0].entries[0]
    assert isinstance(entry, TextEntry)
    assert (entry.text, entry.is_streaming) == ("He", True)
    state.apply(TextDelta("y", 0, "m"))
    state.apply(BlockStop(0, "m"))
    assert state.messages[0].text == "Hey"
    assert not state.messages[0].entries[0].is_streaming
    assert entry.text == "He", "a snapshot handed out never changes"


def test_phase_two_a_final_replaces_what_deltas_built() -> None:
    state = applied(
        MessageStart("m"),
        BlockStart("text", 0, "m"),
        TextDelta("Helo", 0, "m"),
        BlockStop(0, "m"),
        Text("Hello", 0, "m"),
    )
    assert [entry.text for entry in state.messages[0].entries] == ["Hello"]  # type: ignore[union-attr]


def test_finals_alone_make_the_same_entries() -> None:
    state = applied(
        MessageStart("m"), Thinking("hm", 0, "m"), Text("Hi", 1, "m"), ToolInvocation("c", "ls", {"a": 1}, 2, "m")
    )
    thinking, text, tool = state.messages[0].entries
    assert isinstance(thinking, ThinkingEntry)
    assert isinstance(text, TextEntry)
    assert isinstance(tool, ToolEntry)
    assert (thinking.text, text.text, tool.input) == ("hm", "Hi", {"a": 1})


def test_a_tools_arguments_grow_and_its_result_finds_it_after_later_messages() -> None:
    state = applied(
        MessageStart("1"),
        BlockStart("tool", 0, "1", "c", "ls"),
        ToolInputDelta('{"a', 0, "c", "1"),
        ToolInputDelta('":1}', 0, "c", "1"),
        BlockStop(0, "1"),
        ToolInvocation("c", "ls", {"a": 1}, 0, "1"),
        MessageStop("1"),
        MessageStart("2"),
        ToolCompletion("c", "files", is_error=False),
    )
    tool = state.messages[0].tools[0]
    assert (str(tool.arguments), tool.output, tool.is_done) == ('{"a":1}', "files", True)
    state.apply(ToolBlockUpdate("c", "ls", "end", TextView.of(""), compact_params="a=1"))
    assert (state.messages[0].tools[0].stage, state.messages[0].tools[0].compact_params) == ("end", "a=1")


def test_conversations_of_subagents_do_not_mix() -> None:
    state = applied(
        MessageStart("m"),
        BlockStart("text", 0, "m"),
        MessageStart("s", parent_call_id="c"),
        BlockStart("text", 0, "s", parent_call_id="c"),
        TextDelta("sub", 0, "s", "c"),
        TextDelta("main", 0, "m"),
    )
    assert [(m.parent_call_id, m.text) for m in state.messages] == [("", "main"), ("c", "sub")]


def test_usage_errors_and_stop_reasons_belong_to_their_message() -> None:
    usage = Usage(1, 2)
    state = applied(MessageStart("m"), usage, StreamError("truncated"), MessageStop("m", "length"))
    message = state.messages[0]
    assert (message.usage, message.error, message.stop_reason) == (usage, StreamError("truncated"), "length")


def test_the_end_of_the_turn_leaves_nothing_streaming() -> None:
    state = applied(MessageStart("m"), TurnCompleted())
    assert not state.messages[0].is_streaming


def test_events_for_blocks_nobody_opened_change_nothing() -> None:
    state = MessageState()
    assert not state.apply(TextDelta("x", 0, "m"))
    assert not state.apply(BlockStop(3, "m"))
    assert not state.apply(ToolCompletion("nobody"))
    assert len(state.messages) == 0


def updates_after(history: int) -> Callable[[], None]:
    state = MessageState()
    for number in range(history):
        state.apply(MessageStart(str(number)))
        state.apply(Text("x", 0, str(number)))
        state.apply(MessageStop(str(number)))
    state.apply(MessageStart("last"))
    state.apply(BlockStart("text", 0, "last"))

    def updates() -> None:
        for _ in range(2000):
            state.apply(TextDelta("word ", 0, "last"))

    return updates


def test_an_update_costs_the_same_with_10_000_messages_as_with_10() -> None:
    check_takes(updates_after(10_000), updates_after(10), at_most=2)


@given(st.lists(st.integers(), max_size=2100), st.data())
def test_a_vector_is_the_list_it_was_made_from(items: list[int], data: st.DataObject) -> None:
    vector: Vector[int] = Vector()
    for item in items:
        vector = vector.append(item)
    assert list(vector) == items
    if items:
        place = data.draw(st.integers(-len(items), len(items) - 1))
        changed = vector.set(place, 99)
        expected = list(items)
        expected[place] = 99
        assert list(changed) == expected
        assert list(vector) == items
        assert (vector[place], changed[place]) == (items[place], 99)


@given(st.lists(st.text(max_size=3), max_size=20), st.lists(st.integers(0, 20), max_size=10))
def test_a_view_is_the_text_at_its_moment_in_whatever_order_views_are_read(
    pieces: list[str], reads: list[int]
) -> None:
    growing = GrowingText()
    views = [growing.view()]
    for piece in pieces:
        growing.append(piece)
        views.append(growing.view())
    for read in reads:
        if read < len(views):
            assert str(views[read]) == "".join(pieces[:read])
            assert len(views[read]) == len("".join(pieces[:read]))
    assert str(growing) == "".join(pieces)
