"""The Gemini API and Vertex: whole responses with what is new in them."""

from pathlib import Path
from typing import Any

import pytest
from laws import merged
from reading import calls, errors, finalized, one, only, read, read_bytes, said, thought, tokens

from penstock.backends.gemini_arguments import PartialArguments
from penstock.events import (
    BlockStart,
    MessageStart,
    MessageStop,
    StreamError,
    Thinking,
    ToolCompletion,
    ToolInvocation,
    TurnCompleted,
    Unknown,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "gemini-api"


def made(name: str) -> list[Any]:
    return merged(read_bytes("gemini-api", [(OURS / name).read_bytes()]))


def chunk(*parts: Any, reason: str = "", index: int = 0, **rest: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts)}, "index": index}
    if reason:
        candidate["finishReason"] = reason
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r", **rest}


def test_thinking_text_calls_and_code_come_in_order() -> None:
    events = made("thinking-and-code.sse.txt")
    assert thought(events) == "**Denken** 想一想"
    assert said(events) == "Das Ergebnis ist π 🥧"
    assert [(call.tool_name, call.input, call.is_server_side) for call in only(ToolInvocation, events)] == [
        ("code_execution", {"language": "PYTHON", "code": "print('π')"}, True),
        ("write", {"path": "é.txt", "lines": [{"n": 1}, {"n": 2}], "force": True, "a b": None}, False),
        ("now", {}, False),
    ]
    completion = one(ToolCompletion, events)
    assert (completion.output, completion.is_error) == ("π\n", False)
    assert completion.call_id == only(ToolInvocation, events)[0].call_id
    assert only(ToolInvocation, events)[2].call_id == "given"
    assert one(Unknown, events).payload["inlineData"]["mimeType"] == "image/png"


def test_the_same_as_a_json_array_is_the_same() -> None:
    assert made("thinking-and-code-array.json") == made("thinking-and-code.sse.txt")


def test_usage_is_the_last_one_and_adds_up_to_the_total() -> None:
    events = made("thinking-and-code.sse.txt")
    assert tokens(events) == (13, 13, 2, 0, 4)
    assert sum(tokens(events)[:2]) == 26  # `totalTokenCount`


def test_a_signature_belongs_to_the_thoughts_before_it() -> None:
    events = made("thinking-and-code.sse.txt")
    assert one(Thinking, events) == Thinking("**Denken** 想一想", 0, "r1", signature="c2ln")


def test_a_signature_without_thoughts_is_kept() -> None:
    # G13
    events = read(
        "gemini-api", chunk({"text": "Hi"}), chunk({"text": "", "thoughtSignature": "c2ln"}, reason="STOP")
    )
    assert one(Thinking, events).signature == "c2ln"
    assert said(events) == "Hi"


def test_calls_without_an_id_get_one_each() -> None:
    add = {"functionCall": {"name": "add", "args": {"a": 1}}}
    events = read("gemini-api", chunk(add, add, reason="STOP"))
    first, second = (call.call_id for call in only(ToolInvocation, events))
    assert first != second


def test_stop_is_the_reason_even_for_calls() -> None:
    # G4
    events = read("gemini-api", chunk({"functionCall": {"name": "f"}}, reason="STOP"))
    assert calls(events)[0][1:] == ("f", {})
    assert one(TurnCompleted, events).stop_reason == one(MessageStop, events).stop_reason == "STOP"


def test_a_call_that_a_limit_cuts_off_is_no_call() -> None:
    growing = {"functionCall": {"name": "f", "willContinue": True}}
    events = finalized("gemini-api", chunk(growing), chunk(reason="MAX_TOKENS"))
    assert not only(ToolInvocation, events)
    assert errors(events) == ["incomplete_tool_call"]


def test_a_blocked_prompt_is_a_refusal() -> None:
    events = made("blocked.sse.txt")
    assert errors(events) == ["refused"]
    assert not only(MessageStart, events)
    assert tokens(events)[0] == 7


def test_an_error_in_the_middle_says_when_to_try_again() -> None:
    # G6
    events = made("error-in-the-middle.sse.txt")
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.retry_after_s) == ("rate_limited", True, 34.5)
    assert said(events) == "Bis hier"


def test_a_call_the_model_wrote_wrong_is_a_warning() -> None:
    events = made("malformed-call.sse.txt")
    error = one(StreamError, events)
    assert (error.code, error.is_fatal) == ("malformed_tool_call", False)
    assert one(TurnCompleted, events).stop_reason == "MALFORMED_FUNCTION_CALL"


def test_a_stream_without_a_finish_reason_is_cut() -> None:
    # G7
    assert errors(read("gemini-api", chunk({"text": "Hal"}))) == ["truncated"]


def test_candidates_are_conversations_of_their_own() -> None:
    events = read(
        "gemini-api",
        chunk({"text": "a"}),
        chunk({"text": "b"}, index=1),
        chunk({"text": "A"}, reason="STOP"),
        chunk({"text": "B"}, reason="STOP", index=1),
    )
    assert (said(events), said(events, "choice-1")) == ("aA", "bB")
    assert len(only(TurnCompleted, events)) == 1


def test_several_responses_in_a_row_are_several_turns() -> None:
    first = chunk({"text": "one"}, reason="STOP")
    second = {**chunk({"text": "two"}, reason="STOP"), "responseId": "s"}
    events = read("gemini-api", first, second)
    assert len(only(TurnCompleted, events)) == 2
    assert said(events) == "onetwo"


def test_a_response_wrapped_by_a_gateway_is_unwrapped() -> None:
    assert said(read("gemini-api", {"response": chunk({"text": "Hi"}, reason="STOP")})) == "Hi"


def test_empty_parts_open_nothing() -> None:
    # G13
    events = read("gemini-api", chunk({"text": ""}), chunk(reason="STOP"))
    assert not only(BlockStart, events)


@pytest.mark.parametrize(
    ("partials", "arguments"),
    [
        ([("$.a", "x"), ("$.a", "y")], {"a": "xy"}),
        ([("$.a", "x"), ("$.b", "1"), ("$.a", "y")], {"a": "xy", "b": "1"}),
        ([("$.a.b", 1), ("$.a.c", True)], {"a": {"b": 1, "c": True}}),
        ([("$.a[0]", "x"), ("$.a[2]", "z")], {"a": ["x", None, "z"]}),
        ([("$.a[0].b", "x"), ("$.a[0].b", "y"), ("$.a[1].b", "z")], {"a": [{"b": "xy"}, {"b": "z"}]}),
        ([("$['a.b']", 1), ('$["c d"]', 2)], {"a.b": 1, "c d": 2}),
        ([("$.a", "x"), ("$.a.b", 1)], {"a": {"b": 1}}),
        ([("", "lost"), ("$", "lost")], {}),
    ],
)
def test_partial_arguments_are_put_where_their_path_says(partials: list[Any], arguments: dict[str, Any]) -> None:
    built = PartialArguments({})
    for path, value in partials:
        kind = {str: "stringValue", bool: "boolValue"}.get(type(value), "numberValue")
        built.add({"jsonPath": path, kind: value})
    assert built.whole() == arguments
