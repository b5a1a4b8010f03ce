"""Anthropic's Messages API: events one to one, whatever kind of block they are of."""

from typing import Any

import orjson
from laws import merged, push
from reading import arguments, calls, errors, finalized, one, only, read, said, same_however_cut, thought, tokens

from penstock.events import (
    BlockStart,
    BlockStop,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInvocation,
    TurnCompleted,
    Unknown,
    Usage,
)
from penstock.operators.normalize import normalize

PING = {"type": "ping"}
STOP = {"type": "message_stop"}


def start(message_id: str = "msg_1", **usage: int) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 1, **usage}
    return {"type": "message_start", "message": {"id": message_id, "model": "m", "content": [], "usage": usage}}


def block(index: int, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **content}}


def delta(index: int, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def text(index: int, piece: str) -> dict[str, Any]:
    return delta(index, "text_delta", text=piece)


def json(index: int, piece: str) -> dict[str, Any]:
    return delta(index, "input_json_delta", partial_json=piece)


def end(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def reason(stop_reason: str = "end_turn", **usage: int | None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}


HELLO = [
    start(),
    block(0, "text", text=""),
    text(0, "Hel"),
    PING,
    text(0, "lo"),
    end(0),
    reason(output_tokens=5),
    STOP,
]


def test_a_message_maps_one_to_one() -> None:
    events = merged(read("anthropic", *HELLO))
    assert [type(event).__name__ for event in events] == [
        "MessageStart",
        "BlockStart",
        "TextDelta",
        "BlockStop",
        "MessageStop",
        "Usage",
        "TurnCompleted",
    ]
    assert events[0] == MessageStart("msg_1", "m")
    assert said(events) == "Hello"
    assert one(TurnCompleted, events).stop_reason == "end_turn"


def test_thinking_keeps_its_signature_in_its_final() -> None:
    events = read(
        "anthropic",
        start(),
        block(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="Let "),
        delta(0, "thinking_delta", thinking="me"),
        delta(0, "signature_delta", signature="Eq=="),
        end(0),
        STOP,
    )
    assert one(Thinking, events) == Thinking("Let me", 0, "msg_1", signature="Eq==")
    kinds = [type(event) for event in events]
    assert kinds.index(Thinking) < kinds.index(BlockStop)


def test_thinking_without_text_but_with_a_signature_is_kept() -> None:
    # G13: summaries withheld, and redacted thinking
    events = finalized(
        "anthropic",
        start(),
        block(0, "thinking", thinking="", signature=""),
        delta(0, "signature_delta", signature="Eq=="),
        end(0),
        block(1, "redacted_thinking", data="cmVk"),
        end(1),
        STOP,
    )
    assert not only(ThinkingDelta, events)
    assert [(final.text, final.signature) for final in only(Thinking, events)] == [("", "Eq=="), ("", "cmVk")]


def test_tool_input_is_the_joined_json_and_empty_means_no_arguments() -> None:
    events = finalized(
        "anthropic",
        start(),
        block(0, "tool_use", id="toolu_1", name="add", input={}),
        json(0, ""),
        json(0, '{"a"'),
        json(0, ": 1}"),
        end(0),
        block(1, "tool_use", id="toolu_2", name="now", input={}),
        json(1, ""),
        end(1),
        reason("tool_use"),
        STOP,
    )
    assert arguments(events) == {"toolu_1": '{"a": 1}'}
    assert calls(events) == [("toolu_1", "add", {"a": 1}), ("toolu_2", "now", {})]


def test_input_given_at_the_start_of_a_block_counts_if_none_is_streamed() -> None:
    events = finalized("anthropic", start(), block(0, "tool_use", id="t", name="f", input={"a": 1}), end(0), STOP)
    assert calls(events) == [("t", "f", {"a": 1})]


def test_text_given_at_the_start_of_a_block_counts() -> None:
    assert said(read("anthropic", start(), block(0, "text", text="Hel"), text(0, "lo"), end(0), STOP)) == "Hello"


def test_a_tool_that_the_backend_runs_comes_with_its_result() -> None:
    events = read(
        "anthropic",
        start(),
        block(0, "server_tool_use", id="srv_1", name="web_search", input={}),
        json(0, '{"query": "w"}'),
        end(0),
        block(
            1, "web_search_tool_result", tool_use_id="srv_1", content=[{"type": "web_search_result", "url": "u"}]
        ),
        end(1),
        block(2, "mcp_tool_use", id="mcp_1", name="echo", server_name="s", input={}),
        end(2),
        block(3, "mcp_tool_result", tool_use_id="mcp_1", is_error=True, content=[{"type": "text", "text": "no"}]),
        end(3),
        block(4, "text", text=""),
        text(4, "Sunny"),
        end(4),
        STOP,
    )
    assert [(call.call_id, call.input, call.is_server_side) for call in only(ToolInvocation, events)] == [
        ("srv_1", {"query": "w"}, True),
        ("mcp_1", {}, True),
    ]
    assert only(ToolCompletion, events) == [
        ToolCompletion("srv_1", [{"type": "web_search_result", "url": "u"}], False, "web_search", "msg_1"),
        ToolCompletion("mcp_1", "no", True, "echo", "msg_1"),
    ]
    assert [start.block_index for start in only(BlockStart, events)] == [0, 1, 2]


def test_a_result_that_is_an_error_object_is_an_error() -> None:
    content = {"type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}
    events = read(
        "anthropic", start(), block(0, "web_fetch_tool_result", tool_use_id="s", content=content), end(0), STOP
    )
    assert one(ToolCompletion, events).is_error


def test_usage_overwrites_and_counts_cached_input_as_input() -> None:
    events = read(
        "anthropic",
        start(input_tokens=10, cache_read_input_tokens=100, cache_creation_input_tokens=7),
        reason(output_tokens=20, cache_read_input_tokens=None),
        reason(output_tokens=42, input_tokens=12),
        STOP,
    )
    assert tokens(events) == (119, 42, 100, 7, 0)
    assert one(Usage, events).message_id == "msg_1"


def test_a_repeated_message_start_is_nothing() -> None:
    events = read("anthropic", start(), *HELLO)
    assert len(only(MessageStart, events)) == 1


def test_a_second_message_while_one_is_open_abandons_the_first() -> None:
    # G9
    retried = [start("msg_2"), block(0, "text", text=""), text(0, "again"), end(0), reason(), STOP]
    events = finalized(
        "anthropic", start(), block(0, "tool_use", id="t", name="f", input={}), json(0, '{"a'), *retried
    )
    assert [stop.stop_reason for stop in only(MessageStop, events)] == ["", "end_turn"]
    assert errors(events) == ["restarted", "incomplete_tool_call"]
    assert not any(error.is_fatal for error in only(StreamError, events))
    assert said(events) == "again"
    assert not only(ToolInvocation, events)


def test_several_messages_in_a_row_are_one_turn() -> None:
    second = [start("msg_2"), block(0, "text", text=""), text(0, "Bye"), end(0), reason("stop_sequence"), STOP]
    events = read("anthropic", *HELLO, *second)
    assert [message.message_id for message in only(MessageStart, events)] == ["msg_1", "msg_2"]
    assert one(TurnCompleted, events).stop_reason == "stop_sequence"


def test_an_error_in_the_middle_keeps_what_came_and_ends_the_turn() -> None:
    # G6: no `message_stop` follows
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    events = read("anthropic", *HELLO[:3], overloaded)
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.is_fatal, error.message_id) == ("overloaded", True, True, "msg_1")
    assert said(events) == "Hel"
    assert one(TurnCompleted, events).stop_reason == "error"


def test_a_stream_that_is_cut_is_truncated_once() -> None:
    for length in range(1, len(HELLO)):
        assert errors(read("anthropic", *HELLO[:length])) == ["truncated"], f"after {length} events"


def test_kinds_nobody_knows_pass_as_they_are() -> None:
    strange = [
        block(0, "compaction", content=None),
        delta(0, "compaction_delta", content="so far"),
        delta(0, "text_delta", text="not an answer"),
        {"type": "later_invention"},
    ]
    events = read("anthropic", start(), *strange, end(0), block(1, "text", text=""), text(1, "Hi"), end(1), STOP)
    assert [unknown.payload for unknown in only(Unknown, events)] == strange
    assert said(events) == "Hi"


def test_a_delta_without_its_start_opens_its_block() -> None:
    assert said(read("anthropic", start(), text(0, "Hi"), STOP)) == "Hi"


def test_a_whole_reply_gives_finals_alone() -> None:
    reply = {
        "type": "message",
        "id": "msg_1",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Hm", "signature": "Eq=="},
            {"type": "text", "text": "Yes"},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    assert read("anthropic", reply) == [
        MessageStart("msg_1", "m"),
        Thinking("Hm", 0, "msg_1", signature="Eq=="),
        Text("Yes", 1, "msg_1"),
        ToolInvocation("t", "f", {"a": 1}, 2, "msg_1"),
        MessageStop("msg_1", "tool_use"),
        Usage(3, 2, message_id="msg_1"),
        TurnCompleted("tool_use"),
    ]


def test_records_that_are_parsed_already_read_the_same() -> None:
    assert push(normalize("anthropic"), HELLO) == push(normalize("anthropic"), map(orjson.dumps, HELLO))


def test_characters_of_many_scripts_survive_any_cut() -> None:
    # G12
    words = "漢字 \u2028 \u0085 العربية 👩‍👩‍👧 🇨🇭"
    thoughts = [block(0, "thinking"), *[delta(0, "thinking_delta", thinking=letter) for letter in words], end(0)]
    answer = [block(1, "text"), *[text(1, letter) for letter in words], end(1)]
    stream = b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + orjson.dumps(event) + b"\n\n"
        for event in [start(), *thoughts, *answer, reason(), STOP]
    )
    events = same_however_cut("anthropic", stream)
    assert (thought(events), said(events)) == (words, words)
