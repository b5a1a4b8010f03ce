"""The Cursor CLI: three forms of one line, which only what came before tells apart."""

from pathlib import Path
from typing import Any

from laws import merged
from reading import calls, errors, finalized, one, only, read, read_bytes, said, thought, tokens

from penstock.events import (
    BlockStart,
    MessageStart,
    StreamError,
    Text,
    TextDelta,
    ToolCompletion,
    ToolInvocation,
    TurnCompleted,
    Unknown,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "cursor-cli"
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "", "request_id": "r"}


def made(name: str) -> list[Any]:
    return merged(read_bytes("cursor-cli", [(OURS / name).read_bytes()]))


def assistant(text: str, **keys: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, "session_id": "s", **keys}


def piece(text: str) -> dict[str, Any]:
    return assistant(text, timestamp_ms=1)


def flush(text: str) -> dict[str, Any]:
    return assistant(text, timestamp_ms=1, model_call_id="x")


def test_partial_output_is_read_once() -> None:
    # G1
    events = made("partial-output.jsonl")
    assert said(events) == "Ich führe ls aus 🖥️Noch etwas. 完成了"
    assert thought(events) == "Erst 想mehr"
    assert tokens(events) == (10, 4, 3, 1, 0)
    assert one(TurnCompleted, events) == TurnCompleted("success")
    assert [start.model for start in only(MessageStart, events)] == ["Auto"] * 3


def test_a_repetition_is_the_final_of_the_block_it_repeats() -> None:
    events = made("partial-output.jsonl")
    assert [final.text for final in only(Text, events)] == ["Ich führe ls aus 🖥️", "完成了"]


def test_a_repetition_of_what_thinking_split_says_nothing_new() -> None:
    think = {"type": "thinking", "subtype": "delta", "text": "hm", "timestamp_ms": 1}
    events = finalized("cursor-cli", piece("a"), think, piece("b"), flush("ab"), RESULT)
    assert [final.text for final in only(Text, events)] == ["a", "b"]


def test_without_partial_output_every_line_is_a_whole_segment() -> None:
    events = made("whole-segments.jsonl")
    assert [final.text for final in only(Text, events)] == ["Ich führe ls aus 🖥️", "完成了"]
    assert not only(TextDelta, events)
    assert thought(events) == "Erst 想"


def test_partial_output_and_whole_segments_come_to_the_same_finals() -> None:
    partial = finalized("cursor-cli", piece("Ich führe "), piece("aus"), flush("Ich führe aus"), RESULT)
    whole = finalized("cursor-cli", flush("Ich führe aus"), RESULT)
    assert only(Text, partial) == only(Text, whole)


def test_two_segments_that_are_equal_are_both_said() -> None:
    assert said(read("cursor-cli", flush("ja"), assistant("ja"), RESULT)) == "jaja"
    assert said(read("cursor-cli", piece("ja"), flush("ja"), piece("ja"), assistant("ja"), RESULT)) == "jaja"


def test_tools_are_matched_by_ids_with_line_breaks_in_them() -> None:
    # G12
    events = made("partial-output.jsonl")
    assert calls(events) == [
        ("call_1\nfc_1", "shell", {"command": "ls 目录"}),
        ("call_2\nfc_2", "read", {"path": "a"}),
        ("call_3", "lookup", {"q": "ß"}),
    ]
    assert all(call.is_server_side for call in only(ToolInvocation, events))
    assert [(end.call_id, end.output, end.is_error) for end in only(ToolCompletion, events)] == [
        ("call_2\nfc_2", "no such file", True),
        ("call_1\nfc_1", "文件\n", False),
        ("call_3", {"found": 2}, False),
    ]


def test_a_command_that_fails_is_an_error() -> None:
    result = {"success": {"exitCode": 2, "stdout": "", "stderr": "no", "interleavedOutput": "no"}}
    call = {"shellToolCall": {"args": {"command": "x"}, "result": result}}
    events = read(
        "cursor-cli", {"type": "tool_call", "subtype": "completed", "call_id": "c", "tool_call": call}, RESULT
    )
    end = one(ToolCompletion, events)
    assert (end.output, end.is_error) == ("no", True)
    assert one(ToolInvocation, events).call_id == "c"


def test_a_run_without_a_result_is_cut() -> None:
    # G7
    events = made("no-result.jsonl")
    assert errors(events) == ["truncated"]
    assert said(events) == "Ich fang"


def test_a_failed_run_is_an_error() -> None:
    error = one(StreamError, made("failed.jsonl"))
    assert (error.message, error.is_fatal) == ("模型不可用", True)


def test_thinking_with_nothing_in_it_opens_nothing() -> None:
    # G13
    empty = {"type": "thinking", "subtype": "delta", "text": "", "timestamp_ms": 1}
    done = {"type": "thinking", "subtype": "completed", "timestamp_ms": 1}
    events = read("cursor-cli", empty, done, assistant("Hi"), RESULT)
    assert not only(BlockStart, events)


def test_lines_of_a_type_nobody_knows_are_kept() -> None:
    assert one(Unknown, read("cursor-cli", {"type": "retry", "x": 1}, RESULT)).payload["x"] == 1
