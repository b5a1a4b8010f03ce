"""A slow reader gets merged updates from a bounded box, and every final (USERS 23)."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from laws import check_takes

from penstock.events import BlockStop, StreamError, Text, TextDelta, ThinkingDelta, ToolInputDelta
from penstock.growing import GrowingText, TextView
from penstock.messages import MessageState
from penstock.sinks.mailbox import Mailbox
from penstock.updates import AssistantUpdate, Completed, MessagesChanged, ThinkingUpdate, ToolBlockUpdate


def drained(mailbox: Mailbox) -> list[Any]:
    return [mailbox.take() for _ in range(len(mailbox))]


def box(*items: Any, **bounds: int) -> Mailbox:
    mailbox = Mailbox(**bounds)
    for item in items:
        mailbox.put(item)
    return mailbox


def test_waiting_deltas_of_one_block_become_one() -> None:
    assert drained(box(*(TextDelta(c, 0) for c in "hello"))) == [TextDelta("hello", 0)]


def test_deltas_do_not_merge_past_what_is_not_a_delta() -> None:
    items = [TextDelta("a", 0), BlockStop(0), TextDelta("b", 0)]
    assert drained(box(*items)) == items


def test_of_updates_that_say_the_same_anew_the_newest_stands_for_all() -> None:
    state = MessageState()
    items = [
        ThinkingUpdate("a"),
        MessagesChanged(state.messages),
        ThinkingUpdate("b"),
        MessagesChanged(state.messages),
    ]
    assert drained(box(*items)) == [ThinkingUpdate("b"), MessagesChanged(state.messages)]


def test_merged_assistant_updates_carry_all_their_chunks_and_the_newest_text() -> None:
    growing = GrowingText()
    items = []
    for word in ("a", "b", "c"):
        growing.append(word)
        items.append(AssistantUpdate(growing.view(), word))
    (update,) = drained(box(*items))
    assert (update.chunk, update.content) == ("abc", "abc")


def test_a_round_that_overwrites_another_is_not_merged_into_it() -> None:
    old, new = AssistantUpdate(TextView.of("a"), "a"), AssistantUpdate(TextView.of("b"), "b", is_new=True)
    assert drained(box(old, new)) == [old, new]


def test_a_tools_start_and_end_are_kept_and_its_streaming_merges() -> None:
    def update(stage: Any, chunk: str = "") -> ToolBlockUpdate:
        return ToolBlockUpdate("c", "ls", stage, TextView.of(""), parameters_chunk=chunk)

    items = [update("start"), update("streaming", "{"), update("streaming", "}"), update("end")]
    assert [(u.stage, u.parameters_chunk) for u in drained(box(*items))] == [
        ("start", ""),
        ("streaming", "{}"),
        ("end", ""),
    ]


def test_past_its_bound_deltas_give_way_to_the_finals_that_carry_them_and_are_counted() -> None:
    items: list[Any] = []
    for block in range(50):
        items += [TextDelta("x" * 100, block), BlockStop(block), Text("x" * 100, block)]
    mailbox = box(*items, max_items=1000, max_chars=1000)
    out = drained(mailbox)
    assert [i for i in out if isinstance(i, Text)] == [i for i in items if isinstance(i, Text)]
    assert [i for i in out if isinstance(i, BlockStop)] == [i for i in items if isinstance(i, BlockStop)]
    assert mailbox.statistics.dropped > 0
    assert sum(len(i.text) for i in out if isinstance(i, TextDelta)) <= 1000


item = st.one_of(
    st.builds(TextDelta, st.text(max_size=3), st.integers(0, 2)),
    st.builds(ThinkingDelta, st.text(max_size=3), st.integers(3, 4)),
    st.builds(ToolInputDelta, st.text(max_size=3), st.integers(5, 6)),
    st.builds(BlockStop, st.integers(0, 6)),
    st.builds(Text, st.text(max_size=3), st.integers(0, 2)),
    st.builds(StreamError, st.just("x")),
    st.builds(Completed, st.text(max_size=3)),
)


@given(st.lists(item, max_size=40), st.sets(st.integers(0, 39)))
def test_within_its_bound_nothing_is_lost_and_no_final_moves(items: list[Any], reads: set[int]) -> None:
    mailbox = Mailbox()
    out: list[Any] = []
    for number, one in enumerate(items):
        mailbox.put(one)
        if number in reads:
            out += drained(mailbox)
    out += drained(mailbox)
    deltas = (TextDelta, ThinkingDelta, ToolInputDelta)
    assert [i for i in out if not isinstance(i, deltas)] == [i for i in items if not isinstance(i, deltas)]

    def joined(sequence: list[Any]) -> dict[Any, str]:
        texts: dict[Any, str] = {}
        for one in sequence:
            if isinstance(one, deltas):
                piece = one.json if isinstance(one, ToolInputDelta) else one.text
                texts[one.block_index] = texts.get(one.block_index, "") + piece
        return texts

    assert joined(out) == joined(items)
    assert mailbox.statistics.delivered == len(out)
    assert mailbox.statistics.dropped == 0


def test_finals_that_pile_up_cost_the_same_each_however_many_wait() -> None:
    def pile(count: int) -> None:
        mailbox = Mailbox(max_items=10)
        for number in range(count):
            mailbox.put(TextDelta("x", number, "m"))
            mailbox.put(Text("x", number, "m"))

    check_takes(lambda: pile(10_000), lambda: pile(1_000), at_most=20)
