"""The Responses API: four copies of everything, once each."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from reading import arguments, calls, errors, finalized, one, only, read, read_bytes, said, thought, tokens

from penstock.events import (
    BlockStart,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ToolCompletion,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
    Unknown,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "openai-responses"


def made(name: str) -> list[Any]:
    return read_bytes("openai-responses", [(OURS / name).read_bytes()])


def event(kind: str, **rest: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", **rest}


def created(response_id: str = "resp_1", **rest: Any) -> dict[str, Any]:
    return event("created", response={"id": response_id, "model": "m", "output": [], **rest})


def delta(piece: str, index: int = 0, part: int = 0) -> dict[str, Any]:
    return event("output_text.delta", output_index=index, content_index=part, item_id="msg_1", delta=piece)


def item(kind: str, **rest: Any) -> dict[str, Any]:
    return {"type": kind, "id": "item_1", **rest}


def done(value: dict[str, Any], index: int = 0) -> dict[str, Any]:
    return event("output_item.done", output_index=index, item=value)


def completed(*output: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return event("completed", response={"id": "resp_1", "status": "completed", "output": list(output), **rest})


def message(text: str) -> dict[str, Any]:
    return item("message", content=[{"type": "output_text", "text": text}])


def test_four_copies_of_a_text_are_one_block_and_one_final() -> None:
    # G1
    events = read(
        "openai-responses",
        created(),
        delta("Hel"),
        delta("lo"),
        event("output_text.done", output_index=0, content_index=0, text="Hello"),
        event("content_part.done", output_index=0, content_index=0, part={"type": "output_text", "text": "Hello"}),
        done(message("Hello")),
        completed(message("Hello")),
    )
    assert [type(event).__name__ for event in events] == [
        "MessageStart",
        "BlockStart",
        "TextDelta",
        "TextDelta",
        "Text",
        "BlockStop",
        "MessageStop",
        "TurnCompleted",
    ]
    assert one(Text, events) == Text("Hello", 0, "resp_1")
    assert one(MessageStart, events).model == "m"


def test_a_copy_that_differs_wins_over_what_was_streamed() -> None:
    events = finalized("openai-responses", created(), delta("Hel"), done(message("Hello")), completed())
    assert one(Text, events).text == "Hello"


@pytest.mark.parametrize(
    "records",
    [
        [done(message("Hello")), completed(message("Hello"))],
        [completed(message("Hello"))],
        [event("output_text.done", output_index=0, content_index=0, text="Hello"), completed(message("Hello"))],
    ],
    ids=["in the item", "in the response", "in the part"],
)
def test_what_was_never_streamed_is_a_final_alone(records: list[dict[str, Any]]) -> None:
    events = read("openai-responses", created(), *records)
    assert one(Text, events) == Text("Hello", 0, "resp_1")
    assert not only(BlockStart, events)


def test_a_reply_that_was_not_streamed_is_read_too() -> None:
    reply = completed(message("Hello"), usage={"input_tokens": 1, "output_tokens": 2})["response"]
    events = read("openai-responses", {"object": "response", "model": "m", **reply})
    assert (said(events), tokens(events)) == ("Hello", (1, 2, 0, 0, 0))


def test_items_are_known_by_their_index_because_ids_may_change() -> None:
    # G11
    events = read(
        "openai-responses",
        created("a"),
        event("in_progress", response={"id": "b", "model": "m"}),
        event("output_text.delta", output_index=0, content_index=0, item_id="c", delta="Hel"),
        event("output_text.delta", output_index=0, content_index=0, item_id="d", delta="lo"),
        done({**message("Hello"), "id": "e"}),
        completed({**message("Hello"), "id": "f"}),
    )
    assert said(events) == "Hello"
    assert len(only(BlockStart, events)) == len(only(Text, events)) == len(only(MessageStart, events)) == 1


def test_items_without_an_index_are_known_by_their_id() -> None:
    events = read(
        "openai-responses",
        created(),
        event("output_item.added", output_index=0, item={**message(""), "id": "msg_1"}),
        delta("Hello"),
        event("output_item.done", item={**message("Hello"), "id": "msg_1"}),
        completed({**message("Hello"), "id": "msg_1"}),
    )
    assert said(events) == "Hello"
    assert len(only(Text, events)) == 1


def test_a_limit_is_an_end_with_content_and_half_a_call_is_no_call() -> None:
    # G4 of the format: `response.incomplete` is no error
    events = made("incomplete.sse.txt")
    assert said(events) == "Grüße aus 東京 — 你好，世界 🙂👩‍👩‍👧 "
    assert not only(ToolInvocation, events)
    assert arguments(events) == {"call_1": '{"path":"笔记.md","con'}
    assert one(MessageStop, events).stop_reason == one(TurnCompleted, events).stop_reason == "max_output_tokens"
    assert tokens(events) == (40, 12, 8, 0, 5)
    assert errors(events) == []


def test_half_a_call_is_an_error_once_the_stream_is_finalised() -> None:
    records = [
        orjson.loads(line.removeprefix(b"data: "))
        for line in (OURS / "incomplete.sse.txt").read_bytes().split(b"\n")
        if line.startswith(b"data: ")
    ]
    events = finalized("openai-responses", *records)
    assert not only(ToolInvocation, events)
    assert one(StreamError, events).call_id == "call_1"
    assert not one(StreamError, events).is_fatal


def test_a_refusal_is_text_that_says_so() -> None:
    events = made("refusal.sse.txt")
    assert said(events) == "I can’t help with that. 很抱歉。"
    assert one(Text, events).is_refusal


def test_a_refusal_that_is_cut_off_still_says_so() -> None:
    piece = event("refusal.delta", output_index=0, content_index=0, delta="I can’t")
    final = one(Text, read("openai-responses", created(), piece))
    assert (final.text, final.is_refusal) == ("I can’t", True)


def test_each_part_of_a_summary_is_a_block_and_the_last_has_the_signature() -> None:
    events = made("thinking-and-tools.sse.txt")
    assert [(final.text, final.signature) for final in only(Thinking, events)] == [
        ("**Plan** 先查", ""),
        ("**Then** add", "c2lnbmVk"),
    ]
    assert thought(events) == "**Plan** 先查**Then** add"


def test_thinking_with_only_a_signature_is_kept_and_without_one_is_nothing() -> None:
    # G13
    signed = item("reasoning", summary=[], encrypted_content="c2ln")
    empty = item("reasoning", summary=[])
    events = read("openai-responses", created(), done(signed, 0), done(empty, 1), completed(signed, empty))
    assert only(Thinking, events) == [Thinking("", 0, "resp_1", signature="c2ln")]


def test_calls_for_the_client_and_calls_the_backend_runs_are_told_apart() -> None:
    events = made("thinking-and-tools.sse.txt")
    assert [(call.tool_name, call.input, call.is_server_side) for call in only(ToolInvocation, events)] == [
        ("add", {"a": 2, "b": "три"}, False),
        ("run_sql", "SELECT 'naïve'\nFROM t", False),
        ("code_interpreter", {"code": 'print("π")\n'}, True),
        ("web_search", {"type": "search", "query": "天気"}, True),
        ("ask", {"q": 1}, True),
    ]
    assert [(end.call_id, end.output, end.is_error) for end in only(ToolCompletion, events)] == [
        ("ci_1", [{"type": "logs", "logs": "π"}], False),
        ("ws_1", [{"type": "url", "url": "https://example.org"}], False),
        ("mcp_1", "no such page", True),
    ]
    assert one(ToolProgress, events).message == "interpreting"
    assert one(Unknown, events).payload["type"] == "something_new"


def test_interleaved_arguments_stay_apart_and_are_the_input() -> None:
    events = made("thinking-and-tools.sse.txt")
    streamed = arguments(events)
    assert streamed["call_1"] == '{"a":2,"b":"три"}'
    assert streamed["call_2"] == "SELECT 'naïve'\nFROM t"
    assert orjson.loads(streamed["ci_1"]) == {"code": 'print("π")\n'}
    assert said(events) == "Sent whole: 完了"
    assert tokens(events) == (40, 12, 8, 0, 5)


def test_a_custom_tool_nobody_declared_is_run_by_the_backend() -> None:
    call = item("custom_tool_call", call_id="xs_1", name="x_search", input="{}")
    tools = [{"type": "x_search"}]
    events = read("openai-responses", created(tools=tools), done(call), completed(call))
    assert one(ToolInvocation, events).is_server_side
    assert one(ToolCompletion, events).call_id == "xs_1"
    assert not one(ToolInvocation, read("openai-responses", created(), done(call), completed(call))).is_server_side


def test_the_result_of_a_tool_search_belongs_to_the_search() -> None:
    search = item("tool_search_call", call_id=None, execution="server", arguments={"goal": "x"})
    found = item("tool_search_output", call_id=None, execution="server", tools=[{"name": "add"}])
    events = read("openai-responses", created(), done(search, 0), done(found, 1), completed(search, found))
    assert calls(events) == [("item_1", "tool_search", {"goal": "x"})]
    assert one(ToolCompletion, events) == ToolCompletion("item_1", [{"name": "add"}], message_id="resp_1")


def test_arguments_that_are_no_json_are_kept_as_they_are() -> None:
    call = item("function_call", call_id="c", name="f", arguments='{"a": tru')
    invocation = one(ToolInvocation, read("openai-responses", created(), done(call), completed(call)))
    assert (invocation.input, invocation.is_malformed) == ('{"a": tru', True)


def test_an_error_is_reported_once_and_says_when_to_try_again() -> None:
    # G6
    events = made("rate-limit-in-the-middle.sse.txt")
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.retry_after_s) == ("rate_limited", True, 1.5)
    assert said(events) == "Half a sen"
    assert one(TurnCompleted, events).stop_reason == "error"


def test_a_failed_response_without_an_error_before_it_is_an_error() -> None:
    failed = event("failed", response={"status": "failed", "error": {"code": "server_error", "message": "oops"}})
    error = one(StreamError, read("openai-responses", created(), delta("x"), failed))
    assert (error.code, error.message, error.retryable) == ("server_error", "oops", True)


def test_several_responses_in_a_row_are_several_turns() -> None:
    first = [created("a"), delta("one"), completed()]
    second = [created("b"), delta("two"), completed()]
    events = read("openai-responses", *first, *second)
    assert [start.message_id for start in only(MessageStart, events)] == ["a", "b"]
    assert len(only(TurnCompleted, events)) == 2
    assert said(events) == "onetwo"


def test_empty_pieces_open_nothing() -> None:
    # G13
    events = read("openai-responses", created(), delta(""), completed())
    assert not only(TextDelta, events)
    assert not only(BlockStart, events)
