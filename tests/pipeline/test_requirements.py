"""Requirements of the specifications that only a whole turn can show; `docs/specification.md` lists them all."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import reactivex
from chat_stream import answer, event
from reactivex.subject import Subject

from penstock import (
    AssistantStreamingToolCall,
    AssistantUpdate,
    Completed,
    Pipeline,
    Settings,
    StreamError,
    ThinkingUpdate,
    ToolBlockUpdate,
)
from penstock.operators.view_gate import View, view_gate
from penstock.sinks import CallbackSink, JsonlStore
from penstock.testing import RecordingSink, VirtualClock, assert_order, assert_tool_stages, scripted

DONE = b"data: [DONE]\n\n"


def call_chunks(call_id: str, name: str, arguments: str, size: int = 3, index: int = 0) -> list[bytes]:
    """A tool call whose argument text comes in pieces."""
    head = {"index": index, "id": call_id, "function": {"name": name, "arguments": ""}}
    pieces = [arguments[at : at + size] for at in range(0, len(arguments), size)]
    deltas = [{"index": index, "function": {"arguments": piece}} for piece in pieces]
    return [event({"tool_calls": [delta]}) for delta in (head, *deltas)]


def pipeline(*sinks: Any, **settings: Any) -> Pipeline:
    return Pipeline(Settings(backend="openai-chat", **{"window_s": 0, **settings}), sinks=sinks)


async def run_turn(one: Pipeline, *rounds: list[bytes]) -> Any:
    async with one.turn() as turn:
        for chunks in rounds:
            reply = await turn.round(chunks)
            for call in reply.tool_calls:
                with turn.tool(call) as block:
                    block.result("ok")
    return turn


# ── seed 000 ─────────────────────────────────────────────────────────────────────────────────────────────


def test_us1_1_text_appears_piece_by_piece_as_it_is_generated(run_async: asyncio.Runner) -> None:
    shown: list[str] = []
    sink = CallbackSink(on_assistant_content_updated=lambda chunk, accumulated: shown.append(accumulated))
    run_async.run(run_turn(pipeline(sink), [*(event({"content": letter}) for letter in "Hello"), answer()]))
    assert shown == ["H", "He", "Hel", "Hell", "Hello"]


def test_fr_005_parameters_stream_through_the_tool_callback_and_into_the_state(run_async: asyncio.Runner) -> None:
    arguments = '{"path": "a.py", "text": "x = 1"}'
    updates: list[ToolBlockUpdate] = []
    states: list[tuple[str, bool]] = []

    def on_messages(messages: Any) -> None:
        states.extend((str(tool.arguments), tool.is_streaming) for tool in messages[-1].tools)

    sink = CallbackSink(on_tool_block_updated=updates.append, on_messages_change=on_messages)
    run_async.run(run_turn(pipeline(sink), [*call_chunks("c", "write", arguments), event({}, "tool_calls"), DONE]))
    streaming = [update for update in updates if update.stage == "streaming"]
    assert "".join(update.parameters_chunk for update in streaming) == arguments
    assert [update.parameters for update in streaming] == [
        arguments[: min(at, len(arguments))] for at in range(3, len(arguments) + 3, 3)
    ]
    assert {text for text, _ in states} == {"", *(update.parameters for update in streaming)}
    assert states[0] == ("", True)
    assert states[-1] == (arguments, False)


def test_us2_3_fr_009_the_lines_of_parallel_calls_follow_their_own_parameters(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()
    left = call_chunks("l", "Read", '{"file_path": "left.py"}', size=8)
    right = call_chunks("r", "Read", '{"file_path": "right.py"}', size=8, index=1)
    mixed = [left[0], right[0], *(piece for pair in zip(left[1:], right[1:], strict=False) for piece in pair)]
    rest = [*left[len(right) :], *right[len(left) :], event({}, "tool_calls"), DONE]
    run_async.run(run_turn(pipeline(seen), [*mixed, *rest]))
    assert_tool_stages(seen.items)
    lines: dict[str, list[str]] = {"l": [], "r": []}
    for update in seen.of(ToolBlockUpdate):
        if update.compact_params and update.compact_params not in lines[update.id]:
            lines[update.id].append(update.compact_params)
    assert lines["l"][-1] == "left.py"
    assert lines["r"][-1] == "right.py"
    assert not any("right" in line for line in lines["l"])


def test_us3_fr_007_fr_008_fr_009_expanded_is_a_frozen_snapshot_and_everything_goes_on_behind_it() -> None:
    source: Subject[Any] = Subject()
    view, live, gated = View(), [], []  # type: ignore[var-annotated]
    source.subscribe(live.append)
    source.pipe(view_gate(view)).subscribe(gated.append)

    def push(*chunks: bytes) -> None:
        reactivex.from_iterable(chunks).pipe(pipeline().operator()).subscribe(source.on_next)

    push(*call_chunks("a", "Read", '{"file_path": "a.py"}'), event({}, "tool_calls"), DONE)
    before = list(gated)
    view.expand()
    push(*call_chunks("b", "Read", '{"file_path": "b.py"}'), event({}, "tool_calls"), DONE)
    assert gated == before, "FR-007: a static snapshot, also of the compact lines (FR-009), also at completion"
    assert len(live) > len(before), "FR-008: the stream itself goes on"
    view.collapse()
    ends = [update for update in gated if isinstance(update, ToolBlockUpdate) and update.stage == "end"]
    assert [(end.id, end.compact_params) for end in ends] == [("a", "a.py"), ("b", "b.py")], "US3.3: it resumes"


def test_us4_a_tools_life_is_start_streaming_running_end(run_async: asyncio.Runner) -> None:
    clock = VirtualClock()
    seen = RecordingSink(clock)

    async def run() -> None:
        one = Pipeline(Settings(backend="openai-chat", tool_heartbeat_s=10), sinks=[seen], clock=clock)
        async with one.turn() as turn:
            chunks = [*call_chunks("c", "Bash", '{"command": "make"}'), event({}, "tool_calls"), DONE]
            reply = await turn.round(scripted(clock, *((0.1, chunk) for chunk in chunks)))
            with turn.tool(reply.tool_calls[0]) as block:
                clock.advance(25)
                block.result("built")

    run_async.run(run())
    assert_tool_stages(seen.items)
    updates = seen.of(ToolBlockUpdate)
    assert (updates[0].stage, updates[0].id, updates[0].name) == ("start", "c", "Bash"), "US4.1, FR-002c"
    assert all(update.parameters_chunk for update in updates if update.stage == "streaming"), "US4.2"
    assert [update.stage for update in updates].count("running") == 3, "US4.3: at its beginning, then every 10 s"
    assert (updates[-1].stage, updates[-1].result, updates[-1].success) == ("end", "built", True), "US4.4, FR-002d"
    assert not any(hasattr(update, name) for update in updates for name in ("is_running", "isRunning")), "US4.5"


def test_edge_a_rate_limit_in_the_middle_keeps_the_partial_content(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()
    told = {"error": {"code": "rate_limit_exceeded", "message": "slow down"}}
    limit = b"data: " + json.dumps(told).encode() + b"\n\n"
    turn = run_async.run(run_turn(pipeline(seen), [event({"content": "So far"}), limit]))
    assert turn.final_message == "So far"
    (error,) = seen.of(StreamError)
    assert (error.code, error.retryable) == ("rate_limited", True)
    assert_order(seen.items)


# ── seed 001, the contract of the callbacks ──────────────────────────────────────────────────────────────


def test_contract_content_is_told_while_it_streams_and_not_again_for_its_copy(run_async: asyncio.Runner) -> None:
    chunks: list[str] = []
    sink = CallbackSink(on_assistant_content_updated=lambda chunk, accumulated: chunks.append(chunk))

    def record(kind: str, **fields: Any) -> bytes:
        return json.dumps({"type": kind, "session_id": "s", "parent_tool_use_id": None, **fields}).encode() + b"\n"

    head = {"id": "m", "type": "message", "role": "assistant", "model": "m"}
    events: list[Any] = [
        {"type": "message_start", "message": {**head, "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "one "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "two"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_stop"},
    ]
    copy = record("assistant", message={**head, "content": [{"type": "text", "text": "one two"}]})
    result = record("result", subtype="success", is_error=False, result="one two")

    async def run() -> None:
        async with pipeline(sink).turn() as turn:
            streamed = [record("stream_event", event=event_) for event_ in events]
            await turn.round([*streamed, copy, result], backend="claude-cli")

    run_async.run(run())
    assert chunks == ["one ", "two"]


def test_contract_malformed_content_is_sanitised_before_any_callback(run_async: asyncio.Runner) -> None:
    texts: list[str] = []
    sink = CallbackSink(on_content_update=texts.append, on_messages_change=lambda m: texts.append(m[-1].text))
    torn = event({"content": "caf@"}).replace(b"@", b"\xc3")
    halves = event({"content": "@"}).replace(b"@", b"\\ud83d half")
    run_async.run(run_turn(pipeline(sink), [torn, halves, answer()]))
    assert texts[-1].startswith("caf\ufffd")
    for text in texts:
        text.encode()  # no half surrogate pair reaches a callback


def test_contract_the_direct_tool_callback_gets_id_name_and_parameters(run_async: asyncio.Runner) -> None:
    calls: list[tuple[str, str, str]] = []
    sink = CallbackSink(on_tool_update=lambda call: calls.append((call.id, call.name, call.parameters)))
    run_async.run(run_turn(pipeline(sink), [*call_chunks("c", "f", "{}", size=1), event({}, "tool_calls"), DONE]))
    assert calls == [("c", "f", ""), ("c", "f", "{"), ("c", "f", "{}")]


# ── seed 002, streaming tool calls ───────────────────────────────────────────────────────────────────────


def test_5_2_streaming_tool_events_are_off_unless_asked_for(run_async: asyncio.Runner) -> None:
    assert Settings().streaming_tool_events is False
    assert "streaming_tool_calls" not in pipeline().describe()
    seen = RecordingSink()
    run_async.run(run_turn(pipeline(seen), [*call_chunks("c", "f", "{}"), event({}, "tool_calls"), DONE]))
    assert not seen.of(AssistantStreamingToolCall)


def test_6_1_the_deltas_of_a_call_are_raw_and_add_up_to_its_arguments(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()
    arguments = '{"location":"Boston"}'
    chunks = [*call_chunks("c", "weather", arguments, size=2), event({}, "tool_calls"), DONE]
    run_async.run(run_turn(pipeline(seen, streaming_tool_events=True), chunks))
    told = seen.of(AssistantStreamingToolCall)
    assert "".join(call.arguments for call in told) == arguments
    assert [call.is_complete for call in told] == [False] * (len(told) - 1) + [True]
    assert {(call.tool_call_id, call.tool_name) for call in told} == {("c", "weather")}
    assert len({call.message_id for call in told}) == 1


def test_10_1_streaming_tool_events_are_not_persisted(run_async: asyncio.Runner, tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "store.jsonl")
    chunks = [*call_chunks("c", "f", '{"a": 1}'), event({}, "tool_calls"), DONE]
    run_async.run(run_turn(pipeline(store, streaming_tool_events=True), chunks))
    stored = (tmp_path / "store.jsonl").read_text()
    assert "assistant_streaming_tool_call" not in stored
    assert "tool_input" not in stored
    assert json.loads(stored.splitlines()[1])["item"]["input"] == {"a": 1}


# ── seed 004, what the person watching sees ──────────────────────────────────────────────────────────────

HIDDEN = ("<think", "secret thought", "<tool_call", "hidden_call", "<|", "</")


@pytest.mark.parametrize("engine", ["native", "tags"])
def test_visibility_thinking_tools_and_their_tags_never_show_in_stream_or_final_message(
    engine: str, run_async: asyncio.Runner
) -> None:
    seen = RecordingSink()
    first = '<think>secret thought</think>Reading.<tool_call>{"name": "hidden_call", "arguments": {}}</tool_call>'
    last = "<thinking>secret thought</thinking>Here is the answer."
    rounds = [[*(event({"content": letter}) for letter in text), answer()] for text in (first, last)]
    run_async.run(run_turn(pipeline(seen, tool_engine=engine), *rounds))
    shown = [update.content for update in seen.of(AssistantUpdate)] + [seen.of(Completed)[0].message]
    assert not [text for text in shown if any(mark in text for mark in HIDDEN)]
    assert shown[-1] == "Here is the answer."
    assert_order(seen.items)


def test_visibility_a_later_action_overwrites_the_text_of_the_one_before(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()
    rounds = [[answer("Reading…")], [answer("Checking…")], [answer("The ", "answer.")]]
    run_async.run(run_turn(pipeline(seen), *rounds))
    shown = [(update.content, update.is_new) for update in seen.of(AssistantUpdate)]
    assert shown == [("Reading…", True), ("Checking…", True), ("The answer.", True)]
    assert seen.of(Completed)[0].message == "The answer."


def test_semantics_thinking_is_delta_only_for_accumulating_and_incremental_adapters(
    run_async: asyncio.Runner,
) -> None:
    for mode, thoughts in (("accumulated", ["A", "AB", "ABC"]), ("delta", ["A", "B", "C"])):
        seen = RecordingSink()
        chunks = [*(event({"reasoning_content": thought}) for thought in thoughts), answer("x")]
        run_async.run(run_turn(pipeline(seen, deltas=mode), chunks))
        assert [update.content for update in seen.of(ThinkingUpdate)] == ["A", "B", "C"], mode


def test_sc2_single_round_the_whole_reply_is_the_final_message(run_async: asyncio.Runner) -> None:
    turn = run_async.run(run_turn(pipeline(), [answer("The ", "whole ", "reply.")]))
    assert turn.final_message == "The whole reply."


def test_g2_within_a_round_the_text_around_a_tool_call_reaches_the_next_request(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with pipeline().turn() as turn:
            chunks = [event({"content": "I look. "}), *call_chunks("c", "f", "{}"), event({}, "tool_calls"), DONE]
            reply = await turn.round(chunks)
            assert reply.as_message()["content"] == "I look. "
            assert reply.as_message()["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}

    run_async.run(run())
