"""`codex app-server`: many threads on one connection, one turn out of it."""

from pathlib import Path
from typing import Any

from laws import merged
from reading import errors, one, only, read, read_bytes, said, thought, tokens

from penstock.events import (
    BlockStart,
    MessageStop,
    StreamError,
    Text,
    Thinking,
    ToolCompletion,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
    Unknown,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "codex-app-server"


def made(name: str) -> list[Any]:
    return read_bytes("codex-app-server", [(OURS / name).read_bytes()])


def note(method: str, thread: str = "t", **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"threadId": thread, "turnId": "u", **params}}


def started(thread: str = "t") -> dict[str, Any]:
    return note("turn/started", thread, turn={"id": "u", "status": "inProgress"})


def completed(status: str = "completed", thread: str = "t", **turn: Any) -> dict[str, Any]:
    return note("turn/completed", thread, turn={"id": "u", "status": status, **turn})


def piece(text: str, item_id: str = "m", thread: str = "t") -> dict[str, Any]:
    return note("item/agentMessage/delta", thread, itemId=item_id, delta=text)


def test_text_and_thinking_stream_and_their_copies_add_nothing() -> None:
    events = merged(made("reasoning-and-output.jsonl"))
    assert said(events) == "Ich schaue nach… 👀Done. 完了"
    assert thought(events) == "**Plan** 考え**Next**raw 思考"
    assert [final.text for final in only(Thinking, events)] == ["**Plan** 考え", "**Next**", "raw 思考"]
    assert tokens(events) == (9, 5, 2, 0, 1)
    assert one(TurnCompleted, events).stop_reason == "completed"


def test_without_deltas_the_completed_items_are_the_only_source() -> None:
    events = made("without-deltas.jsonl")
    assert (thought(events), said(events)) == ("只有全文", "Nur das Ganze")
    assert not only(BlockStart, events)
    assert one(TurnCompleted, events).stop_reason == "interrupted"
    assert errors(events) == []


def test_tools_are_calls_their_output_progress_and_their_end_a_completion() -> None:
    events = made("reasoning-and-output.jsonl")
    last = {call.call_id: (call.tool_name, call.input) for call in only(ToolInvocation, events)}
    assert last == {
        "exec_1": ("command_execution", {"command": "ls 目录", "cwd": "/"}),
        "mcp_1": ("lookup", {"q": "β"}),
        "patch_1": (
            "file_change",
            {"changes": [{"path": "é.txt", "kind": {"type": "add"}, "diff": "+1\n+2"}]},
        ),
        "spawn_1": ("spawn_agent", {"prompt": "look", "receiver_thread_ids": ["sub"]}),
    }
    assert [(step.call_id, step.message) for step in only(ToolProgress, events)] == [
        ("exec_1", "a\n文"),
        ("exec_1", "件\n"),
        ("mcp_1", "50 %"),
    ]
    assert [(end.call_id, end.output, end.is_error) for end in only(ToolCompletion, events)] == [
        ("exec_1", "a\n文件\n", False),
        ("mcp_1", "пусто", True),
        ("patch_1", "completed", False),
        ("spawn_1", {"sub": {"status": "completed", "message": "done"}}, False),
    ]


def test_a_thread_that_a_call_started_is_a_subagent_and_any_other_is_left_out() -> None:
    events = made("reasoning-and-output.jsonl")
    assert said(events, "spawn_1") == "sub says 嗨"
    assert not [event for event in events if "somebody else" in str(event)]
    assert [stop.parent_call_id for stop in only(MessageStop, events)].count("spawn_1") == 1


def test_requests_answers_and_what_the_client_sent_are_no_output() -> None:
    events = made("reasoning-and-output.jsonl")
    assert [error.code for error in only(StreamError, events)] == ["response_stream_disconnected", "warning"]
    assert not any(error.is_fatal for error in only(StreamError, events))
    assert only(StreamError, events)[0].retryable
    assert one(Unknown, events).payload["method"] == "brandNew/thing"


def test_a_failed_turn_reports_its_error_once() -> None:
    events = made("failed-turn.jsonl")
    error = one(StreamError, events)
    assert (error.code, error.is_fatal, error.retry_after_s) == ("quota_exceeded", True, 330)
    assert said(events) == "Hal"


def test_an_error_the_turn_survives_is_a_warning() -> None:
    trouble = note("error", error={"message": "hm", "codexErrorInfo": "other"}, willRetry=False)
    events = read("codex-app-server", started(), trouble, piece("Hi"), completed())
    assert not one(StreamError, events).is_fatal
    assert one(TurnCompleted, events).stop_reason == "completed"


def test_a_request_that_is_refused_before_any_turn_is_a_failure() -> None:
    refusal = {"id": 3, "error": {"code": -32600, "message": "no such thread"}}
    error = one(StreamError, read("codex-app-server", refusal))
    assert (error.message, error.is_fatal) == ("no such thread", True)


def test_a_request_that_is_refused_during_a_turn_is_a_warning() -> None:
    refusal = {"id": 3, "error": {"code": -32600, "message": "busy"}}
    events = read("codex-app-server", started(), refusal, piece("Hi"), completed())
    assert not one(StreamError, events).is_fatal


def test_between_turns_any_thread_may_speak() -> None:
    events = read(
        "codex-app-server",
        started("a"),
        piece("one", thread="a"),
        piece("not yet", "x", thread="b"),
        completed(thread="a"),
        started("b"),
        piece("two", thread="b"),
        completed(thread="b"),
    )
    assert said(events) == "onetwo"
    assert len(only(TurnCompleted, events)) == 2


def test_a_command_that_ends_while_the_model_speaks_does_not_cut_it_off() -> None:
    command = {"type": "commandExecution", "id": "c", "command": "sleep 1", "status": "inProgress"}
    events = read(
        "codex-app-server",
        started(),
        note("item/started", item=command),
        piece("Mean"),
        note("item/completed", item={**command, "status": "completed", "exitCode": 0, "aggregatedOutput": ""}),
        piece("while"),
        note("item/completed", item={"type": "agentMessage", "id": "m", "text": "Meanwhile"}),
        completed(),
    )
    assert one(Text, events).text == said(events) == "Meanwhile"


def test_the_copy_of_a_plan_may_differ_from_its_deltas_and_wins() -> None:
    plan = note("item/plan/delta", itemId="p", delta="1. lo")
    whole = note("item/completed", item={"type": "plan", "id": "p", "text": "1. look"})
    assert one(Text, read("codex-app-server", started(), plan, whole, completed())).text == "1. look"
