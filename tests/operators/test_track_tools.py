"""The life of a tool call: start, streaming, running, end; the end exactly once, whatever happens."""

import json
import re
from collections.abc import Iterable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_takes, cuts, push, through_rx
from reactivex.subject import Subject
from reactivex.testing import TestScheduler

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    TextDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
)
from penstock.operators.coalesce import coalesce
from penstock.operators.finalize import finalize
from penstock.operators.track_tools import track_tools
from penstock.updates import ToolBlockUpdate

LIFE = re.compile(r"start (streaming )*(running )*end ")


def updates(items: Iterable[Any]) -> list[ToolBlockUpdate]:
    return [item for item in items if type(item) is ToolBlockUpdate]


def check_lives(items: Iterable[Any]) -> dict[tuple[str, str, str], list[ToolBlockUpdate]]:
    """Every call lives one orderly life, or several one after another; none is left open."""
    lives: dict[tuple[str, str, str], list[ToolBlockUpdate]] = {}
    for update in updates(items):
        lives.setdefault((update.parent_call_id, update.message_id, update.id), []).append(update)
        assert update.id
        assert update.name
    for key, life in lives.items():
        stages = "".join(f"{update.stage} " for update in life)
        assert LIFE.fullmatch(stages), f"{key}: {stages}"
        assert all((update.success is None) == (update.stage != "end") for update in life)
        assert life[-1].success or life[-1].error
    return lives


def stages(items: Iterable[Any]) -> list[str]:
    return [update.stage for update in updates(items)]


def a_call(*deltas: str, call_id: str = "call-1", name: str = "write_file", index: int = 0) -> list[Event]:
    return [
        BlockStart("tool", index, "m1", call_id, name),
        *(ToolInputDelta(delta, index, call_id, "m1") for delta in deltas),
        BlockStop(index, "m1"),
    ]


def a_message(*blocks: list[Event], stop_reason: str = "tool_calls") -> list[Event]:
    return [MessageStart("m1"), *(event for block in blocks for event in block), MessageStop("m1", stop_reason)]


def tracked(*events: Event, **options: Any) -> list[Any]:
    return push(finalize() | track_tools(**options), events)


# ── the stages ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_call_goes_through_its_stages_fr_002() -> None:
    out = tracked(
        *a_message(a_call('{"path": "a.py", ', '"content": "x\\n', 'y"}')),
        ToolProgress("call-1", tool_name="write_file", message_id="m1"),
        ToolProgress("call-1", "half way", message_id="m1"),
        ToolCompletion("call-1", "2 lines written\nok", message_id="m1"),
        TurnCompleted("completed"),
    )
    life = check_lives(out)["", "m1", "call-1"]
    assert [update.stage for update in life] == ["start", *["streaming"] * 3, "running", "running", "end"]
    assert [update.parameters_chunk for update in life[1:4]] == ['{"path": "a.py", ', '"content": "x\\n', 'y"}']
    assert [update.parameters for update in life[:3]] == ["", life[1].parameters_chunk, life[2].parameters]
    assert [update.compact_params for update in life] == [
        "", "a.py", "a.py (1 line)", *["a.py (2 lines)"] * 4
    ]  # fmt: skip
    assert [update.short_result for update in life[4:]] == [None, "half way", "2 lines written (+1 lines)"]
    end = life[-1]
    assert (end.success, end.result, end.error) == (True, "2 lines written\nok", None)
    assert end.parameters == '{"path": "a.py", "content": "x\\ny"}'


def test_the_first_update_has_the_id_and_the_name_fr_002c() -> None:
    out = push(track_tools(), [MessageStart("m1"), BlockStart("tool", 0, "m1", "call-1", "Read")])
    first = updates(out)[0]
    assert (first.stage, first.id, first.name) == ("start", "call-1", "Read")


def test_a_call_whose_name_comes_late_starts_when_it_is_known_and_loses_nothing() -> None:
    events = a_message(a_call('{"a":', "1}", name=""))
    named = ToolInvocation("call-1", "adder", {"a": 1}, 0, "m1")
    out = push(track_tools(), [*events[:-1], named, events[-1], ToolCompletion("call-1", "2")])
    assert [(update.stage, update.name, update.parameters_chunk) for update in updates(out)] == [
        ("start", "adder", ""),
        ("streaming", "adder", '{"a":1}'),
        ("end", "adder", ""),
    ]


def test_a_call_that_never_gets_a_name_still_lives_orderly() -> None:
    lives = check_lives(tracked(*a_message(a_call("{}", name=""))))
    assert [update.name for update in lives["", "m1", "call-1"]] == ["tool"] * 3


def test_no_update_has_the_deprecated_is_running_field_fr_002b() -> None:
    assert "is_running" not in ToolBlockUpdate.__struct_fields__


def test_every_event_passes_and_its_updates_follow_it() -> None:
    events = [*a_message(a_call('{"a": 1}')), ToolCompletion("call-1", "done"), TurnCompleted()]
    out = push(track_tools(), events)
    assert [item for item in out if type(item) is not ToolBlockUpdate] == events
    place = out.index(ToolCompletion("call-1", "done"))
    assert out[place + 1].stage == "end"


def test_finals_alone_are_start_and_one_streaming() -> None:
    call = ToolInvocation("call-1", "Bash", {"command": "ls"}, 0, "m1")
    out = push(track_tools(), [MessageStart("m1"), call, MessageStop("m1"), ToolCompletion("call-1", "a.py")])
    life = check_lives(out)["", "m1", "call-1"]
    assert [update.stage for update in life] == ["start", "streaming", "end"]
    assert life[1].parameters == life[1].parameters_chunk == '{"command":"ls"}'
    assert life[1].compact_params == "ls"


def test_a_call_the_backend_runs_itself_is_running_from_its_invocation_on() -> None:
    call = ToolInvocation("srv-1", "web_search", {"query": "weather"}, 0, "m1", is_server_side=True)
    out = push(
        track_tools(), [MessageStart("m1"), call, ToolCompletion("srv-1", [{"type": "text", "text": "sun"}])]
    )
    life = check_lives(out)["", "m1", "srv-1"]
    assert [update.stage for update in life] == ["start", "streaming", "running", "end"]
    assert life[-1].result == "sun"


def test_a_final_that_differs_from_the_deltas_replaces_the_parameters() -> None:
    events = a_message(a_call('{"path": "a"}'))
    copy = ToolInvocation("call-1", "write_file", {"path": "b"}, 0, "m1")
    out = push(track_tools(), [*events[:-1], copy, events[-1]])
    life = check_lives(out)["", "m1", "call-1"]
    assert [(update.stage, update.parameters_chunk, update.parameters) for update in life] == [
        ("start", "", ""),
        ("streaming", '{"path": "a"}', '{"path": "a"}'),
        ("streaming", "", '{"path":"b"}'),
        ("end", "", '{"path":"b"}'),
    ]


def test_an_update_handed_out_never_changes() -> None:
    out = push(track_tools(), a_message(a_call('{"a"', ": ", '"b"}')))
    assert [update.parameters for update in reversed(updates(out))] == ['{"a": "b"}'] * 2 + ['{"a": ', '{"a"', ""]


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────


def test_an_error_ends_a_call_with_its_summary_fr_002d() -> None:
    out = tracked(*a_message(a_call("{}")), ToolCompletion("call-1", "no such file\ntrace", is_error=True))
    end = check_lives(out)["", "m1", "call-1"][-1]
    assert (end.success, end.error, end.result) == (False, "no such file (+1 lines)", "no such file\ntrace")


def test_images_of_a_result_are_in_its_end() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}
    end = updates(tracked(*a_message(a_call("{}")), ToolCompletion("call-1", [image])))[-1]
    assert end.images == ("data:image/png;base64,iVBO",)


def test_a_tool_nobody_finished_is_interrupted_before_the_turn_is_over() -> None:
    out = tracked(*a_message(a_call("{}")), ToolProgress("call-1"), TurnCompleted("aborted"))
    check_lives(out)
    assert (out[-2].stage, out[-2].success, out[-2].error) == ("end", False, "interrupted")
    assert out[-1] == TurnCompleted("aborted")


@pytest.mark.parametrize("cut", range(8))
def test_a_stream_cut_anywhere_ends_every_call_it_started(cut: int) -> None:
    events = [
        *a_message(a_call('{"path":', ' "a"}'), a_call("{}", call_id="call-2", index=1)),
        ToolProgress("call-2"),
    ]
    lives = check_lives(push(track_tools(), events[:cut]))
    assert all(life[-1].success is False for life in lives.values())


def test_truncated_arguments_end_as_an_error_and_not_as_interrupted() -> None:
    out = tracked(*a_message(a_call('{"path": "a', name="Write"), stop_reason="length"), TurnCompleted())
    end = check_lives(out)["", "m1", "call-1"][-1]
    assert (end.success, end.error) == (False, "the call of Write was cut off after 11 characters")


def test_an_error_of_the_source_ends_the_calls_and_then_passes() -> None:
    out: list[Any] = []
    source: Subject[Event] = Subject()
    source.pipe(track_tools()).subscribe(out.append, out.append, scheduler=TestScheduler())
    source.on_next(BlockStart("tool", 0, "m1", "call-1", "Read"))
    source.on_error(OSError("gone"))
    assert stages(out) == ["start", "end"]
    assert isinstance(out[-1], OSError)


def test_what_arrives_for_a_call_that_has_ended_is_no_news() -> None:
    events = a_message(a_call('{"a": 1}'))
    done = ToolCompletion("call-1", "done", message_id="m1")
    late: list[Event] = [
        done,
        ToolProgress("call-1"),
        ToolInputDelta("x", 0, "call-1", "m1"),
        ToolInvocation("call-1", "write_file", {"b": 2}, 0, "m1"),
        BlockStart("tool", 0, "m1", "call-1", "write_file"),
        StreamError("oops", call_id="call-1"),
        TurnCompleted(),
    ]
    assert stages(push(track_tools(), [*events, done, *late])) == ["start", "streaming", "end"]


def test_an_id_used_again_in_a_later_message_is_another_call() -> None:
    first = [*a_message(a_call("{}")), ToolCompletion("call-1", "one")]
    again = [MessageStart("m2"), ToolInvocation("call-1", "Read", {}, 0, "m2"), ToolCompletion("call-1", "two")]
    lives = check_lives(push(track_tools(), [*first, *again]))
    assert [life[-1].result for life in lives.values()] == ["one", "two"]
    unfinished = check_lives(push(track_tools(), [*first[:-1], *again]))
    assert [life[-1].error for life in unfinished.values()] == ["interrupted", None]


def test_a_call_stays_open_across_rounds_until_its_result_comes() -> None:
    out = tracked(
        *a_message(a_call("{}")),
        MessageStart("m2"),
        TextDelta("meanwhile", 0, "m2"),
        ToolCompletion("call-1", "done", message_id="m1"),
    )
    assert check_lives(out)["", "m1", "call-1"][-1].success


def test_a_result_for_a_call_nobody_announced_is_a_whole_life() -> None:
    lives = check_lives(push(track_tools(), [ToolCompletion("call-9", "done", tool_name="Read")]))
    assert [(update.stage, update.name) for update in lives["", "", "call-9"]] == [
        ("start", "Read"),
        ("end", "Read"),
    ]


# ── several at once ──────────────────────────────────────────────────────────────────────────────────────


@given(st.data())
def test_parallel_and_interleaved_calls_stay_apart(data: st.DataObject) -> None:
    inputs = {f"call-{n}": {"n": n, "text": "xyz\n" * n} for n in range(data.draw(st.integers(1, 4)))}
    pending = {
        call_id: [ToolInputDelta(piece, n, call_id, "m1") for piece in data.draw(cuts(json.dumps(inputs[call_id])))]
        for n, call_id in enumerate(inputs)
    }
    events: list[Event] = [MessageStart("m1")]
    events += [BlockStart("tool", n, "m1", call_id, f"tool_{n}") for n, call_id in enumerate(inputs)]
    while any(pending.values()):
        call_id = data.draw(st.sampled_from([call_id for call_id, rest in pending.items() if rest]))
        events.append(pending[call_id].pop(0))
    events += [BlockStop(n, "m1") for n in range(len(inputs))] + [MessageStop("m1", "tool_calls")]
    done: list[Event] = [ToolCompletion(call_id, call_id) for call_id in data.draw(st.permutations(sorted(inputs)))]
    lives = check_lives(tracked(*events, *done))
    for call_id, arguments in inputs.items():
        life = lives["", "m1", call_id]
        assert "".join(update.parameters_chunk for update in life) == life[-1].parameters
        assert orjson.loads(life[-1].parameters) == arguments
        assert life[-1].result == call_id


IDS = st.sampled_from(["", "a", "b"])
MESSAGES = st.sampled_from(["", "m1", "m2"])
PARENTS = st.sampled_from(["", "p"])
SOUP = st.lists(
    st.one_of(
        st.builds(MessageStart, MESSAGES, parent_call_id=PARENTS),
        st.builds(BlockStart, st.sampled_from(["text", "tool"]), st.integers(0, 1), MESSAGES, IDS, IDS, PARENTS),
        st.builds(ToolInputDelta, st.sampled_from(['{"a', '":1}', "x"]), st.integers(0, 1), IDS, MESSAGES, PARENTS),
        st.builds(BlockStop, st.integers(0, 1), MESSAGES, PARENTS),
        st.builds(
            ToolInvocation,
            IDS,
            IDS,
            st.sampled_from([{}, {"a": 1}, "x"]),
            st.integers(0, 1),
            MESSAGES,
            PARENTS,
            is_server_side=st.booleans(),
        ),
        st.builds(ToolProgress, IDS, IDS, IDS, MESSAGES, PARENTS),
        st.builds(ToolCompletion, IDS, IDS, st.booleans(), IDS, MESSAGES, PARENTS),
        st.builds(StreamError, st.just("e"), call_id=IDS, parent_call_id=PARENTS),
        st.just(TurnCompleted()),
    ),
    max_size=12,
)


@given(SOUP)
def test_whatever_comes_every_start_has_exactly_one_end_and_the_order_holds(events: list[Event]) -> None:
    out = push(track_tools(), events)
    assert [item for item in out if type(item) is not ToolBlockUpdate] == events
    is_open: dict[tuple[str, str], str] = {}
    for update in updates(out):
        key = (update.parent_call_id, update.id)
        before = is_open.get(key, "end")
        assert update.id
        allowed = {"end": "start", "start": "streaming running end", "streaming": "streaming running end"}
        assert update.stage in allowed.get(before, "running end").split(), f"{before} → {update}"
        is_open[key] = update.stage
    assert set(is_open.values()) <= {"end"}


def test_it_behaves_the_same_as_an_rx_operator_and_is_new_for_every_subscription() -> None:
    events = [*a_message(a_call('{"a": 1}')), ToolCompletion("call-1", "done"), TurnCompleted()]
    operator = track_tools()
    assert through_rx(operator, events) == through_rx(operator, events) == push(operator, events)


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_streaming_updates_are_as_few_as_the_window_lets_through() -> None:
    content = json.dumps({"path": "a.py", "content": "x\n" * 5000})
    deltas = [content[i : i + 8] for i in range(0, len(content), 8)]
    out = push(coalesce(0.05) | finalize() | track_tools(), a_message(a_call(*deltas)))
    assert stages(out) == ["start", "streaming", "streaming", "end"]
    assert updates(out)[2].compact_params == "a.py (5000 lines)"


def test_the_cost_of_a_chunk_does_not_grow_with_the_arguments_law_4() -> None:
    def call_of(chunks: int) -> list[Event]:
        return a_message(a_call('{"path": "a.py", "content": "', *["word \\n wo"] * chunks, '"}'))

    operator, small, large = finalize() | track_tools(), call_of(2_000), call_of(20_000)
    check_takes(lambda: push(operator, large), lambda: push(operator, small), at_most=14)
