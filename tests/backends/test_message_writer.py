"""The writer: balance, order and merging, whatever a backend says in whatever order."""

from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, merged
from reading import errors, only, said, thought

from penstock.backends.writer import MessageWriter, numbered_ids, parsed_arguments
from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    Text,
    TextDelta,
    Thinking,
    ToolInputDelta,
    ToolInvocation,
)


def writing() -> tuple[MessageWriter, list[Event]]:
    out: list[Event] = []
    return MessageWriter(out.append, numbered_ids()), out


def test_a_piece_of_text_opens_what_it_needs() -> None:
    writer, out = writing()
    writer.text("a")
    writer.stop("end")
    assert out == [
        MessageStart("message-1"),
        BlockStart("text", 0, "message-1"),
        TextDelta("a", 0, "message-1"),
        BlockStop(0, "message-1"),
        MessageStop("message-1", "end"),
    ]


def test_deltas_of_one_block_are_held_until_settled_and_leave_as_one() -> None:
    writer, out = writing()
    for piece in ("a", "", "b"):
        writer.text(piece)
    assert not only(TextDelta, out)
    writer.settle()
    assert only(TextDelta, out) == [TextDelta("ab", 0, "message-1")]
    writer.settle()
    assert len(only(TextDelta, out)) == 1


def test_interleaved_blocks_keep_their_order_of_writing() -> None:
    writer, out = writing()
    one, two = writer.open("a", "tool", "c1", "f"), writer.open("b", "tool", "c2", "g")
    for block, piece in ((one, "1"), (two, "2"), (one, "3"), (one, "4")):
        writer.write(block, piece)
    writer.stop()
    assert [(delta.call_id, delta.json) for delta in only(ToolInputDelta, out)] == [
        ("c1", "1"),
        ("c2", "2"),
        ("c1", "34"),
    ]
    assert [stop.block_index for stop in only(BlockStop, out)] == [0, 1]


def test_a_key_used_again_is_a_new_block() -> None:
    writer, out = writing()
    writer.open(0, "text")
    writer.open(0, "thinking")
    writer.stop()
    assert [start.block_index for start in only(BlockStart, out)] == [0, 1]
    check_balance(out)


def test_a_message_that_begins_ends_the_one_before_unless_it_is_the_same() -> None:
    writer, out = writing()
    writer.start("a")
    writer.start("a")
    writer.text("x")
    writer.start("b")
    writer.stop()
    assert [type(event).__name__ for event in out][-4:] == [
        "BlockStop",
        "MessageStop",
        "MessageStart",
        "MessageStop",
    ]
    assert len(only(MessageStart, out)) == 2


def test_a_final_of_the_writer_lies_inside_its_block() -> None:
    writer, out = writing()
    writer.refusal("no")
    writer.thinking("hm")
    assert writer.running is not None
    writer.sign(writer.running, "sig")
    server_side = writer.open("s", "tool", "c", "search")
    writer.run_by_backend(server_side)
    writer.write(server_side, '{"q":1}')
    writer.stop("end")
    finals = [event for event in out if isinstance(event, Text | Thinking | ToolInvocation)]
    assert finals == [
        Text("no", 0, "message-1", is_refusal=True),
        Thinking("hm", 1, "message-1", signature="sig"),
        ToolInvocation("c", "search", {"q": 1}, 2, "message-1", is_server_side=True),
    ]
    for final in finals:
        assert out.index(final) < out.index(BlockStop(final.block_index, "message-1"))


def test_the_backends_own_copy_takes_the_place_of_the_writers_final() -> None:
    writer, out = writing()
    block = writer.open(0, "thinking")
    writer.sign(block, "sig")
    writer.copy(block, Thinking("hm", 0, "message-1", signature="sig"))
    writer.stop()
    assert len(only(Thinking, out)) == 1


def test_a_call_that_the_backend_runs_is_none_if_it_was_cut_off() -> None:
    for cut, expected in ((True, 0), (False, 1)):
        writer, out = writing()
        block = writer.open(0, "tool", "c", "search")
        writer.run_by_backend(block)
        writer.write(block, '{"q":')
        if cut:
            writer.cut()
        else:
            writer.stop("end")
        assert len(only(ToolInvocation, out)) == expected


def test_whole_blocks_and_streamed_ones_share_one_count() -> None:
    writer, out = writing()
    writer.text("a")
    writer.whole_tool("c", "f", {})
    writer.text("b")
    writer.whole_thinking("")
    writer.whole_text("")
    writer.whole_text("c")
    writer.stop()
    check_balance(out)
    assert [start.block_index for start in only(BlockStart, out)] == [0, 2]
    assert only(Text, out) == [Text("c", 3, "message-1")]


def test_half_a_surrogate_pair_waits_for_the_other_half() -> None:
    whole = "a😀b😀"
    halves = whole.encode("utf-16-le")
    units = [halves[i : i + 2].decode("utf-16-le", "surrogatepass") for i in range(0, len(halves), 2)]
    writer, out = writing()
    writer.may_get_halves = True
    for unit in units:
        writer.text(unit)
        writer.settle()
    writer.thinking("\ud83d")
    writer.settle()
    writer.stop()
    assert said(out) == whole
    assert thought(out) == "\ufffd"


def test_arguments_parse_to_a_value_or_stay_what_they_are() -> None:
    assert parsed_arguments("") == ({}, False)
    assert parsed_arguments(" \n") == ({}, False)
    assert parsed_arguments('{"a": 1}') == ({"a": 1}, False)
    assert parsed_arguments('{"a": ') == ('{"a": ', True)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "text",
                "thinking",
                "refusal",
                "open",
                "write",
                "close",
                "end_run",
                "whole",
                "start",
                "stop",
                "cut",
                "settle",
            ]
        ),
        st.integers(0, 3),
        st.sampled_from(["", "a", "b", "\ud83d", "\ude00"]),
    ),
    max_size=30,
)


@given(STEPS, st.booleans())
def test_whatever_a_backend_says_the_events_balance_and_settling_changes_nothing(
    steps: list[tuple[str, int, str]], may_get_halves: bool
) -> None:
    runs = []
    for settles in (True, False):
        writer, out = writing()
        writer.may_get_halves = may_get_halves
        for step, key, piece in steps:
            match step:
                case "text" | "thinking" | "refusal":
                    getattr(writer, step)(piece)
                case "open":
                    writer.open(key, "tool", f"c{key}", "f")
                case "write":
                    block = writer.blocks.get(key)
                    if block is not None and block.is_open:
                        writer.write(block, piece)
                case "close":
                    writer.close(key)
                case "whole":
                    writer.whole_text(piece)
                case "start":
                    writer.start(f"m{key}")
                case _:
                    getattr(writer, step)()
            if settles:
                writer.settle()
        writer.stop()
        check_balance(out)
        assert not errors(out)
        runs.append(merged(out))
    assert runs[0] == runs[1]
