"""The Gemini CLI: pieces of text, whole tools, and errors that are not what they seem."""

from pathlib import Path
from typing import Any

from reading import calls, errors, finalized, one, only, read, read_bytes, said, tokens

from penstock.events import (
    BlockStart,
    MessageStart,
    StreamError,
    Text,
    TextDelta,
    ToolCompletion,
    TurnCompleted,
    Unknown,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "gemini-cli"


def made(name: str) -> list[Any]:
    return read_bytes("gemini-cli", [(OURS / name).read_bytes()])


def line(kind: str, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": "…", **rest}


def say(content: str, delta: bool | None = True) -> dict[str, Any]:
    return line("message", role="assistant", content=content, **({} if delta is None else {"delta": delta}))


RESULT = line("result", status="success", stats={})


def test_text_streams_and_calls_of_one_message_come_before_their_results() -> None:
    events = made("parallel-tools.jsonl")
    assert said(events) == "Ich lese zwei Dateien 📄📄Nur eine gefunden."
    assert calls(events) == [
        ("r1", "read_file", {"file_path": "一.txt"}),
        ("r2", "read_file", {"file_path": "二.txt"}),
    ]
    assert [(end.call_id, end.output, end.is_error) for end in only(ToolCompletion, events)] == [
        ("r2", "", False),
        ("r1", "没有这个文件", True),
    ]
    assert [start.model for start in only(MessageStart, events)] == ["m-pro", "m-pro"]
    assert tokens(events) == (21, 9, 16, 0, 0)


def test_an_error_that_the_run_survives_is_a_warning() -> None:
    # G6: severity `error`, and yet `success`
    events = made("parallel-tools.jsonl")
    assert errors(events) == ["bad_json", "backend_error"]
    assert not any(error.is_fatal for error in only(StreamError, events))
    assert one(TurnCompleted, events).stop_reason == "success"


def test_the_specifications_example_is_one_text() -> None:
    events = finalized("gemini-cli", say("Let me "), say("fix that "), say("bug.", delta=False), RESULT)
    assert one(Text, events).text == "Let me fix that bug."
    assert said(made("specification.jsonl")) == "Let me fix that bug."


def test_a_full_copy_after_pieces_adds_nothing() -> None:
    # G1
    events = finalized("gemini-cli", say("Let me "), say("fix it."), say("Let me fix it.", delta=None), RESULT)
    assert one(Text, events).text == said(events) == "Let me fix it."


def test_a_message_without_pieces_is_a_final_alone() -> None:
    events = read("gemini-cli", say("Hi", delta=None), RESULT)
    assert one(Text, events).text == "Hi"
    assert not only(BlockStart, events)


def test_a_failed_run_reports_its_error_once() -> None:
    events = made("failed.jsonl")
    error = one(StreamError, events)
    assert (error.code, error.message, error.is_fatal) == ("invalid_stream", "Invalid stream", True)
    assert said(events) == "一半"
    assert tokens(events) == (2, 1, 0, 0, 0)


def test_a_run_without_a_result_fails_with_the_last_error_it_gave() -> None:
    # G7
    events = read("gemini-cli", say("x"), line("error", severity="error", message="quota"))
    assert one(StreamError, events).message == "quota"
    assert one(StreamError, events).is_fatal
    assert errors(read("gemini-cli", say("x"))) == ["truncated"]


def test_the_prompt_is_no_output_and_empty_pieces_open_nothing() -> None:
    events = read("gemini-cli", line("message", role="user", content="go"), say(""), RESULT)
    assert [type(event) for event in events] == [TurnCompleted]


def test_lines_of_a_type_nobody_knows_are_kept() -> None:
    assert one(Unknown, read("gemini-cli", line("telemetry", x=1), RESULT)).payload["x"] == 1


def test_a_result_stops_the_message_so_that_late_text_is_a_new_one() -> None:
    use = line("tool_use", tool_name="f", tool_id="1", parameters={})
    events = read("gemini-cli", say("a"), use, line("tool_result", tool_id="1", status="success"), say("b"), RESULT)
    first, second = only(TextDelta, events)
    assert first.message_id != second.message_id
    assert one(ToolCompletion, events).tool_name == "f"
