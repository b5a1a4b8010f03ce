"""Ollama's own API: pieces of text and thinking, whole calls, an error as the last line."""

from pathlib import Path
from typing import Any

import pytest
from reading import calls, errors, finalized, one, only, read, read_bytes, said, thought, tokens

from penstock.events import (
    BlockStart,
    MessageStart,
    StreamError,
    ToolInvocation,
    TurnCompleted,
    Unknown,
    Usage,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "ollama"


def made(name: str) -> list[Any]:
    return read_bytes("ollama", [(OURS / name).read_bytes()])


def line(done: bool = False, **message: Any) -> dict[str, Any]:
    return {"model": "m", "created_at": "…", "message": {"role": "assistant", **message}, "done": done}


def test_thinking_text_and_whole_calls() -> None:
    events = made("parallel-tools.jsonl")
    assert thought(events) == "Erst denken 🤔"
    assert said(events) == "Ich rufe auf"
    assert tokens(events) == (9, 5, 0, 0, 0)
    assert one(MessageStart, events).model == "m:8b"
    assert one(TurnCompleted, events).stop_reason == "stop"


def test_every_call_is_its_own_whatever_its_index_says() -> None:
    # G3, G4
    events = made("parallel-tools.jsonl")
    assert [call[1:] for call in calls(events)] == [
        ("wetter", {"ort": "東京"}),
        ("wetter", {"ort": "Köln"}),
        ("jetzt", {}),
    ]
    ids = [call.call_id for call in only(ToolInvocation, events)]
    assert len(set(ids)) == 3
    assert ids[2] == "call_x"


def test_calls_of_several_messages_have_ids_of_their_own() -> None:
    call = {"function": {"name": "f", "arguments": {}}}
    events = read("ollama", line(tool_calls=[call]), line(True), line(tool_calls=[call]), line(True))
    first, second = only(ToolInvocation, events)
    assert first.call_id != second.call_id


def test_arguments_that_come_as_text_are_parsed() -> None:
    good = {"function": {"name": "f", "arguments": '{"a": 1}'}}
    bad = {"function": {"name": "f", "arguments": '{"a'}}
    first, second = only(ToolInvocation, read("ollama", line(tool_calls=[good, bad]), line(True)))
    assert (first.input, first.is_malformed) == ({"a": 1}, False)
    assert (second.input, second.is_malformed) == ('{"a', True)


def test_an_error_in_the_middle_keeps_what_came_before_it() -> None:
    # G6
    events = made("error-in-the-middle.jsonl")
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.is_fatal) == ("server_error", True, True)
    assert error.message.endswith("unexpected EOF")
    assert (thought(events), said(events)) == ("嗯", "Ein halber Satz 半")
    assert one(TurnCompleted, events).stop_reason == "error"


def test_an_error_before_anything_else_is_the_whole_answer() -> None:
    events = read("ollama", {"error": 'model "x" not found, try pulling it first'})
    assert errors(events) == ["not_found"]
    assert not one(StreamError, events).retryable


def test_generate_is_read_like_chat() -> None:
    events = made("generate-thinking.jsonl")
    assert (thought(events), said(events)) == ("考え", "はい。")
    assert one(TurnCompleted, events).stop_reason == "length"
    assert tokens(events) == (0, 3, 0, 0, 0)  # the prompt was cached, and is not counted


def test_a_model_that_is_only_loaded_says_nothing() -> None:
    assert made("load.jsonl") == [TurnCompleted("load")]


@pytest.mark.parametrize("lines", [[line(content="Hal")], []])
def test_a_dropped_connection_is_a_cut(lines: list[Any]) -> None:
    # G7
    assert errors(read("ollama", *lines)) == ["truncated"]


def test_the_last_line_may_still_say_something() -> None:
    call = {"function": {"name": "f", "arguments": {}}}
    events = finalized("ollama", line(content="a"), line(True, content="b", tool_calls=[call]))
    assert said(events) == "ab"
    assert len(only(ToolInvocation, events)) == 1


def test_empty_pieces_open_nothing_and_silence_counts_nothing() -> None:
    # G13
    events = read("ollama", line(content="", thinking=""), line(True, content=""))
    assert not only(BlockStart, events)
    assert not only(Usage, events)


def test_lines_nobody_knows_are_kept() -> None:
    assert one(Unknown, read("ollama", {"status": "pulling manifest"}, line(True))).payload["status"]
