"""`codex exec --json`, which sends everything whole, and the older `codex proto`, which streams."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from laws import merged
from reading import calls, errors, one, only, read, read_bytes, said, thought, tokens

from penstock.events import (
    BlockStart,
    MessageStart,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "codex-exec"
STARTED = [{"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"}]
DONE = {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}


def made(name: str) -> list[Any]:
    return read_bytes("codex-exec", [(OURS / name).read_bytes()])


def item(kind: str, **rest: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_0", "type": kind, **rest}}


def test_everything_comes_whole_as_finals_alone() -> None:
    events = made("every-item.jsonl")
    assert not [event for event in events if isinstance(event, BlockStart | TextDelta | ThinkingDelta)]
    assert said(events) == "Fertig. 完成了。🙂"
    assert thought(events) == "**Überlegung** 考える"
    assert tokens(events) == (100, 20, 60, 4, 7)
    assert one(TurnCompleted, events).stop_reason == "completed"


def test_every_kind_of_item_that_is_a_tool_is_a_call_and_its_completion() -> None:
    events = made("every-item.jsonl")
    assert all(call.is_server_side for call in only(ToolInvocation, events))
    last = {call.call_id: (call.tool_name, call.input) for call in only(ToolInvocation, events)}
    assert last == {
        "item_2": (
            "todo_list",
            {"items": [{"text": "読む", "completed": True}, {"text": "write", "completed": True}]},
        ),
        "item_3": ("web_search", {"query": "한국어", "action": {"type": "search", "query": "한국어"}}),
        "item_4": ("command_execution", {"command": "cat 文件"}),
        "item_5": ("lookup", {"q": "α"}),
        "item_6": ("file_change", {"changes": [{"path": "a/ß.txt", "kind": "add"}]}),
        "item_7": ("command_execution", {"command": "rm -rf x"}),
        "item_8": ("spawn_agent", {"prompt": "look", "receiver_thread_ids": ["u"]}),
    }
    ends = {end.call_id: (end.output, end.is_error) for end in only(ToolCompletion, events)}
    assert ends == {
        "item_2": ("", False),
        "item_3": ("", False),
        "item_4": ("没有\u2028那个文件\n", True),
        "item_5": ("first\nsecond", False),
        "item_6": ("completed", False),
        "item_7": ("", True),
        "item_8": ({"u": {"status": "completed", "message": "ok"}}, False),
    }


def test_what_is_said_after_a_tools_result_is_a_new_message() -> None:
    command = {"command": "ls", "aggregated_output": "a", "exit_code": 0, "status": "completed"}
    events = read(
        "codex-exec",
        *STARTED,
        item("agent_message", text="I look."),
        item("command_execution", **command),
        item("agent_message", text="Done."),
        DONE,
    )
    first, second = only(Text, events)
    assert (first.text, second.text) == ("I look.", "Done.")
    assert first.message_id != second.message_id
    assert len(only(MessageStart, events)) == 2


def test_items_that_are_errors_and_errors_the_turn_survives_are_warnings() -> None:
    # G6
    events = made("every-item.jsonl")
    warnings = only(StreamError, events)
    assert [(warning.code, warning.is_fatal) for warning in warnings] == [
        ("warning", False),
        ("reconnecting", False),
        ("overloaded", False),
    ]


def test_a_failed_turn_reports_the_error_it_repeats_once() -> None:
    said_twice = {"message": "exceeded retry limit, last status: 429 Too Many Requests"}
    events = read(
        "codex-exec", *STARTED, {"type": "error", **said_twice}, {"type": "turn.failed", "error": said_twice}
    )
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.is_fatal) == ("rate_limited", True, True)
    assert one(TurnCompleted, events).stop_reason == "error"


def test_the_message_of_an_error_may_be_a_json_document() -> None:
    document = {
        "type": "error",
        "status": 400,
        "error": {"type": "invalid_request_error", "message": "no such model"},
    }
    failed = {"type": "turn.failed", "error": {"message": orjson.dumps(document).decode()}}
    error = one(StreamError, read("codex-exec", *STARTED, failed))
    assert (error.code, error.message) == ("invalid_request", "no such model")


def test_an_error_that_is_the_last_word_is_why_the_turn_failed() -> None:
    events = read("codex-exec", *STARTED, {"type": "error", "message": "unexpected status 500"})
    assert errors(events) == ["server_error"]
    assert one(StreamError, events).is_fatal


def test_an_interrupted_turn_has_no_end_and_is_closed() -> None:
    # G7
    events = made("interrupted.jsonl")
    assert errors(events) == ["truncated"]
    assert said(events) == "Ich führe es aus."
    assert calls(events) == [("item_1", "command_execution", {"command": "sleep 100"})]
    assert not only(ToolCompletion, events)


def test_a_resumed_process_may_take_a_second_turn() -> None:
    events = read("codex-exec", *STARTED, item("agent_message", text="a"), DONE, *STARTED[1:], DONE)
    assert len(only(TurnCompleted, events)) == 2


# ── codex proto ──────────────────────────────────────────────────────────────────────────────────────────


def test_proto_streams_and_its_copies_find_their_blocks() -> None:
    events = merged(made("proto-reasoning-and-tools.jsonl"))
    assert [(delta.block_index, delta.text) for delta in only(ThinkingDelta, events)] == [
        (0, "**First** 一"),
        (1, "**Second** 二"),
    ]
    assert [(final.block_index, final.text) for final in only(Thinking, events)] == [
        (0, "**First** 一"),
        (1, "**Second** 二"),
    ]
    assert one(TextDelta, events).text == one(Text, events).text == "Готово 🎉"
    assert one(TurnCompleted, events) == TurnCompleted("completed", "Готово 🎉")
    assert tokens(events) == (9, 5, 3, 0, 2)
    assert only(MessageStart, events)[0].model == "m-codex"


def test_proto_tools_are_calls_with_progress_and_completion() -> None:
    events = made("proto-reasoning-and-tools.jsonl")
    assert calls(events) == [
        ("c1", "command_execution", {"command": ["bash", "-lc", "echo ü"], "cwd": "/"}),
        ("c2", "find", {"x": 1}),
        ("c3", "file_change", {"changes": {"a.txt": {"add": {"content": "x"}}}}),
    ]
    assert [(end.output, end.is_error) for end in only(ToolCompletion, events)] == [
        ("ü\n", False),
        ("nothing there", True),
        ("Success", False),
    ]
    assert one(ToolProgress, events).message == "ü\n"


def test_proto_without_deltas_gives_finals_alone() -> None:
    events = read(
        "codex-exec",
        {"id": "1", "msg": {"type": "agent_reasoning", "text": "hm"}},
        {"id": "1", "msg": {"type": "agent_message", "message": "Hi"}},
        {"id": "1", "msg": {"type": "task_complete", "last_agent_message": "Hi"}},
    )
    assert (thought(events), said(events)) == ("hm", "Hi")
    assert not only(BlockStart, events)


@pytest.mark.parametrize(
    ("end", "codes", "reason"),
    [
        ([{"type": "error", "message": "no"}, {"type": "task_complete"}], ["backend_error"], "error"),
        ([{"type": "turn_aborted", "reason": "interrupted"}], [], "interrupted"),
        ([], ["truncated"], "error"),
    ],
)
def test_proto_ends_as_its_last_messages_say(end: list[Any], codes: list[str], reason: str) -> None:
    start = {"id": "1", "msg": {"type": "agent_message_delta", "delta": "Hal"}}
    events = read("codex-exec", start, *[{"id": "1", "msg": message} for message in end])
    assert errors(events) == codes
    assert one(TurnCompleted, events).stop_reason == reason
    assert said(events) == "Hal"
