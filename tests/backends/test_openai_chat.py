"""Chat Completions: every vendor's variant of formats.md section 1 gives the same events."""

from typing import Any

import orjson
import pytest
from laws import merged, push
from reading import arguments, calls, errors, finalized, one, only, read, said, same_however_cut, thought, tokens

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
    TurnCompleted,
    Unknown,
    Usage,
)
from penstock.operators.normalize import normalize

DONE = b"[DONE]"


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of the first choice."""
    choice = {"index": more.pop("index", 0), "delta": delta or {}, "finish_reason": finish}
    return {"id": "chat-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def tool(arguments: Any = None, name: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk with one fragment of a tool call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return chunk({"tool_calls": [{"function": function, **more}]})


def test_text_is_one_block_of_one_message_that_ends_with_the_finish_reason() -> None:
    events = read(
        "openai-chat",
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk(finish="stop"),
        DONE,
    )
    assert [type(event).__name__ for event in merged(events)] == [
        "MessageStart",
        "BlockStart",
        "TextDelta",
        "BlockStop",
        "MessageStop",
        "TurnCompleted",
    ]
    assert events[0] == MessageStart("chat-1", "m")
    assert said(events) == "Hello"
    assert one(MessageStop, events).stop_reason == "stop"
    assert one(TurnCompleted, events).stop_reason == "stop"


@pytest.mark.parametrize(
    "thinking",
    [
        {"reasoning_content": "Hm", "content": None},
        {"reasoning": "Hm", "content": ""},
        {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]},
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "Hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}]},
        {"content": [{"type": "thinking", "thinking": "Hm"}]},
    ],
)
def test_reasoning_is_read_once_from_whichever_field_has_it(thinking: dict[str, Any]) -> None:
    # G8: the same text in two fields; content as a list.
    events = read("openai-chat", chunk(thinking), chunk({"content": "Yes"}), chunk(finish="stop"), DONE)
    assert (thought(events), said(events)) == ("Hm", "Yes")
    assert [start.kind for start in only(BlockStart, events)] == ["thinking", "text"]


def test_content_parts_of_text_are_text() -> None:
    events = read(
        "openai-chat", chunk({"content": [{"type": "text", "text": "a"}, "b", {"type": "reference"}, 3]}), DONE
    )
    assert said(events) == "ab"


def test_a_signature_belongs_to_the_thinking_before_it_even_if_text_came_between() -> None:
    signed = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}]}
    for late in ([], [chunk({"content": "Yes"})]):
        events = read("openai-chat", chunk({"reasoning": "Hm"}), *late, chunk(signed), chunk(finish="stop"), DONE)
        assert one(Thinking, events) == Thinking("Hm", 0, "chat-1", signature="c2ln")


def test_thinking_that_is_only_a_signature_is_kept_as_a_block() -> None:
    # G13
    signed = {
        "content": "",
        "reasoning": None,
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2ln"}],
    }
    events = read("openai-chat", chunk(signed), chunk({"content": "Yes"}), chunk(finish="stop"), DONE)
    assert one(Thinking, events) == Thinking("", 0, "chat-1", signature="c2ln")
    assert one(BlockStart, events).block_index == 1


def test_empty_and_null_pieces_open_nothing() -> None:
    # G13
    nothing: dict[str, Any] = {
        "content": "",
        "reasoning_content": "",
        "reasoning": None,
        "refusal": "",
        "tool_calls": [],
    }
    events = read("openai-chat", chunk(nothing), chunk({"content": None}), chunk(finish="stop"), DONE)
    assert not only(BlockStart, events)


def test_parallel_tool_calls_interleaved_by_index_keep_apart() -> None:
    events = read(
        "openai-chat",
        tool("", "add", index=0, id="call_1", type="function"),
        tool("", "mul", index=1, id="call_2", type="function"),
        tool('{"a"', index=0),
        tool('{"b"', index=1),
        tool(":1}", index=0),
        tool(":2}", index=1),
        chunk(finish="tool_calls"),
        DONE,
    )
    assert arguments(events) == {"call_1": '{"a":1}', "call_2": '{"b":2}'}
    assert [(start.call_id, start.tool_name) for start in only(BlockStart, events)] == [
        ("call_1", "add"),
        ("call_2", "mul"),
    ]


def test_an_empty_id_after_the_first_fragment_means_the_call_of_its_index() -> None:
    # G3: rec openai-chat/vercel-alibaba-tool-call
    events = read("openai-chat", tool("{", "add", index=0, id="call_1"), tool("}", index=0, id=""), DONE)
    assert arguments(events) == {"call_1": "{}"}


def test_a_new_id_on_a_used_index_is_a_new_call() -> None:
    events = read(
        "openai-chat",
        tool('{"a":1}', "add", index=0, id="call_1"),
        tool('{"a":', "add", index=0, id="call_2"),
        tool("2}", index=0),
        DONE,
    )
    assert arguments(events) == {"call_1": '{"a":1}', "call_2": '{"a":2}'}


def test_a_known_id_wins_over_its_index() -> None:
    events = read(
        "openai-chat",
        tool("{", "add", index=0, id="call_1"),
        tool("{", "mul", index=1, id="call_2"),
        tool("}", index=0, id="call_2"),
        tool("}", index=5, id="call_1"),
        DONE,
    )
    assert arguments(events) == {"call_1": "{}", "call_2": "{}"}


def test_fragments_with_neither_id_nor_index_belong_to_the_current_call() -> None:
    # G3: no index at all
    events = read("openai-chat", tool("{", "add", id="call_1"), tool('"a":1'), tool("}"), DONE)
    assert arguments(events) == {"call_1": '{"a":1}'}


def test_whole_calls_with_neither_id_nor_index_are_told_apart_by_their_names() -> None:
    events = finalized("openai-chat", tool("{}", "add"), tool("{}", "mul"), chunk(finish="tool_calls"), DONE)
    assert calls(events) == [("chat-1-call-0", "add", {}), ("chat-1-call-1", "mul", {})]


def test_arguments_that_come_as_an_object_become_their_text() -> None:
    events = finalized("openai-chat", tool({"a": [1]}, "add", id="call_1"), chunk(finish="stop"), DONE)
    assert calls(events) == [("call_1", "add", {"a": [1]})]


def test_a_call_whose_name_follows_its_id_waits_for_the_name() -> None:
    events = read("openai-chat", tool('{"a"', index=0, id="call_1"), tool(":1}", "add", index=0), DONE)
    assert one(BlockStart, events).tool_name == "add"
    assert arguments(events) == {"call_1": '{"a":1}'}


def test_an_id_that_follows_the_name_without_an_id_is_still_that_call() -> None:
    events = read("openai-chat", tool(index=0, id=""), tool("{}", "add", index=0, id="call_1"), DONE)
    assert arguments(events) == {"call_1": "{}"}


def test_a_call_whose_name_never_comes_is_written_without_one() -> None:
    events = finalized("openai-chat", tool("{}", index=0, id="call_1"), chunk(finish="tool_calls"), DONE)
    assert calls(events) == [("call_1", "", {})]


def test_a_call_whose_name_had_not_come_when_the_stream_was_cut_is_not_lost() -> None:
    events = read("openai-chat", tool('{"a"', index=0, id="call_1"))
    assert arguments(events) == {"call_1": '{"a"'}
    assert errors(events) == ["truncated"]


def test_a_call_without_arguments_has_empty_input_though_the_reason_is_stop() -> None:
    # G4: a forced tool choice finishes with "stop"
    events = finalized("openai-chat", tool("", "now", index=0, id="call_1"), chunk(finish="stop"), DONE)
    assert calls(events) == [("call_1", "now", {})]


def test_the_old_function_call_is_a_tool_call() -> None:
    events = finalized(
        "openai-chat",
        chunk({"function_call": {"name": "add", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a":1}'}}),
        chunk(finish="function_call"),
        DONE,
    )
    assert calls(events) == [("chat-1-call-0", "add", {"a": 1})]


def test_text_thinking_and_tools_of_one_chunk_all_arrive_in_order() -> None:
    everything = {
        "reasoning": "Hm",
        "content": "Yes",
        "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}],
    }
    events = read("openai-chat", chunk(everything, finish="tool_calls"), DONE)
    assert [start.kind for start in only(BlockStart, events)] == ["thinking", "text", "tool"]
    assert one(MessageStop, events).stop_reason == "tool_calls"


def test_a_refusal_is_text_that_says_so() -> None:
    events = finalized(
        "openai-chat", chunk({"refusal": "I can"}), chunk({"refusal": "not"}), chunk(finish="stop"), DONE
    )
    assert said(events) == "I cannot"
    assert one(Text, events) == Text("I cannot", 0, "chat-1", is_refusal=True)


def test_usage_is_the_most_of_each_field_whatever_comes_after() -> None:
    # G5: running, repeated, and zeroed at the end
    events = read(
        "openai-chat",
        chunk({"content": "a"}, usage={"prompt_tokens": 11, "completion_tokens": 1}),
        chunk({"content": "b"}, usage={"prompt_tokens": 11, "completion_tokens": 4}),
        chunk(finish="stop", x_groq={"usage": {"prompt_tokens": 11, "completion_tokens": 4}}),
        chunk(usage={"prompt_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}),
        DONE,
    )
    assert tokens(events) == (11, 4, 0, 0, 0)


def test_usage_after_the_finish_and_before_any_content_both_have_no_choices() -> None:
    # G5: Azure's first chunk has no choices either, and no id worth keeping
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 3},
        "cost": 0.25,
    }
    events = read(
        "openai-chat",
        {"id": "", "model": "", "choices": [], "prompt_filter_results": []},
        chunk({"content": "a"}),
        chunk(finish="stop"),
        {"id": "chat-1", "choices": [], "usage": usage},
        DONE,
    )
    assert events[0] == MessageStart("chat-1", "m")
    assert one(Usage, events) == Usage(9, 5, 4, 2, 3, 0.25, "chat-1")
    assert [type(event) for event in events[-2:]] == [Usage, TurnCompleted]


def test_an_id_that_changes_with_every_chunk_makes_no_new_message() -> None:
    events = read(
        "openai-chat", {**chunk({"content": "a"}), "id": "x"}, {**chunk({"content": "b"}), "id": "y"}, DONE
    )
    assert one(MessageStart, events).message_id == "x"
    assert said(events) == "ab"


def test_further_choices_are_conversations_of_their_own() -> None:
    events = read(
        "openai-chat",
        chunk({"content": "a"}),
        chunk({"content": "x"}, index=1),
        chunk({"content": "b"}),
        chunk({"content": "y"}, index=1),
        chunk(finish="stop"),
        chunk(finish="length", index=1),
        DONE,
    )
    assert (said(events), said(events, "choice-1")) == ("ab", "xy")
    assert [(stop.message_id, stop.stop_reason) for stop in only(MessageStop, events)] == [
        ("chat-1", "stop"),
        ("chat-1-choice-1", "length"),
    ]


def test_choices_that_share_a_chunk_keep_apart() -> None:
    both = chunk({"content": "a"})
    both["choices"].append({"index": 1, "delta": {"content": "x"}})
    events = read("openai-chat", both, both, DONE)
    assert (said(events), said(events, "choice-1")) == ("aa", "xx")


def test_a_missing_done_after_the_finish_is_no_error() -> None:
    # G7
    events = read(
        "openai-chat", chunk({"content": "a"}), chunk(finish="stop"), {"choices": [], "usage": {"prompt_tokens": 1}}
    )
    assert not errors(events)
    assert tokens(events)[0] == 1


def test_done_without_a_finish_reason_is_no_error_either() -> None:
    events = finalized("openai-chat", chunk({"content": "a"}), tool("", "f", index=0, id="c"), DONE)
    assert not errors(events)
    assert calls(events) == [("c", "f", {})]


def test_what_follows_done_is_ignored() -> None:
    events = read(
        "openai-chat", chunk({"content": "a"}), DONE, chunk({"content": "b"}), {"error": "x"}, b"garbage", DONE
    )
    assert said(events) == "a"
    assert not errors(events)


def test_a_second_finish_reason_changes_nothing() -> None:
    events = read("openai-chat", chunk({"content": "a"}, "stop"), chunk({"content": ""}, "stop"), DONE)
    assert len(only(MessageStop, events)) == 1


def test_text_after_the_finish_is_not_lost() -> None:
    events = read("openai-chat", chunk({"content": "a"}, "stop"), chunk({"content": "b"}), DONE)
    assert said(events) == "ab"


@pytest.mark.parametrize(
    ("record", "code", "is_retryable"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, "rate_limited", True),
        ({**chunk(), "error": {"code": 502, "message": "provider"}}, "server_error", True),
        (
            {"error": {"message": "no", "type": "invalid_request_error", "code": "tool_use_failed"}},
            "tool_use_failed",
            False,
        ),
        ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, "bad_request_error", False),
        (chunk(finish="error"), "backend_error", False),
    ],
)
def test_an_error_after_status_200_ends_the_turn_and_keeps_what_came(
    record: dict[str, Any], code: str, is_retryable: bool
) -> None:
    # G6
    usage = chunk(usage={"prompt_tokens": 3})
    events = read("openai-chat", chunk({"content": "a"}), usage, record, DONE)
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.is_fatal) == (code, is_retryable, True)
    assert error.message_id == "chat-1"
    assert said(events) == "a"
    assert one(MessageStop, events).stop_reason == ""
    assert tokens(events)[0] == 3
    assert one(TurnCompleted, events).stop_reason == "error"


def test_an_error_comes_before_the_stops_of_what_it_cuts_off() -> None:
    events = read("openai-chat", tool('{"a"', "add", index=0, id="c"))
    kinds = [type(event).__name__ for event in events]
    assert kinds[-4:] == ["StreamError", "BlockStop", "MessageStop", "TurnCompleted"]
    assert errors(events) == ["truncated"]
    assert one(StreamError, events).retryable


def test_a_tool_call_cut_off_before_its_end_is_no_invocation() -> None:
    events = finalized("openai-chat", tool('{"a"', "add", index=0, id="c"))
    assert not only(ToolInvocation, events)
    assert "incomplete_tool_call" in errors(events)


def test_a_stream_with_nothing_in_it_is_truncated() -> None:
    assert errors(read("openai-chat")) == ["truncated"]


def test_a_whole_reply_gives_finals_alone() -> None:
    message = {
        "role": "assistant",
        "content": "Yes",
        "reasoning_content": "Hm",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
    }
    reply = {
        "id": "chat-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    events = read("openai-chat", reply)
    assert events == [
        MessageStart("chat-1", "m"),
        Thinking("Hm", 0, "chat-1"),
        Text("Yes", 1, "chat-1"),
        ToolInvocation("c", "f", {"a": 1}, 2, "chat-1"),
        MessageStop("chat-1", "tool_calls"),
        Usage(3, 2, message_id="chat-1"),
        TurnCompleted("tool_calls"),
    ]


def test_a_tool_that_the_server_runs_is_a_call_and_its_result() -> None:
    ran = {"index": 0, "type": "search", "arguments": '{"query": "w"}'}
    events = read(
        "openai-chat",
        chunk({"executed_tools": [{**ran, "search_results": {"results": []}}]}),
        chunk({"executed_tools": [{**ran, "output": "sunny"}]}),
        chunk({"content": "Sunny"}, "stop"),
        DONE,
    )
    call = one(ToolInvocation, events)
    assert (call.tool_name, call.input, call.is_server_side) == ("search", {"query": "w"}, True)
    assert one(ToolCompletion, events) == ToolCompletion(call.call_id, "sunny", False, "search", "chat-1")


def test_records_that_are_parsed_already_read_the_same() -> None:
    payloads = [
        chunk({"content": "a"}),
        tool("{}", "f", index=0, id="c"),
        chunk(finish="stop", usage={"prompt_tokens": 1}),
    ]
    assert push(normalize("openai-chat"), payloads) == push(normalize("openai-chat"), map(orjson.dumps, payloads))


def test_a_payload_that_is_not_json_is_reported_in_its_place_and_skipped() -> None:
    events = read(
        "openai-chat", chunk({"content": "a"}), b'{"choices":[{"del', chunk({"content": "b"}, "stop"), DONE
    )
    error = one(StreamError, events)
    assert (error.code, error.is_fatal) == ("bad_json", False)
    assert said(events) == "ab"


def test_a_record_of_the_wrong_shape_is_kept_as_unknown() -> None:
    odd = {"choices": [{"delta": {"content": {"a": 1}}}]}
    events = read("openai-chat", odd, {"type": "ping"}, [1], b"3", chunk({"content": "b"}, "stop"))
    assert [unknown.payload for unknown in only(Unknown, events)] == [odd, {"type": "ping"}, 1, 3]
    assert said(events) == "b"


def test_an_emoji_cut_into_surrogates_by_a_utf16_server_is_whole_again() -> None:
    payloads = [
        b'{"choices":[{"index":0,"delta":{"content":"' + piece + b'"}}]}'
        for piece in (rb"a\ud83d", rb"\ude00b", rb"\ude00", rb"\ud83d")
    ]
    events = read("openai-chat", *payloads, DONE)
    assert said(events) == "a😀b\ufffd\ufffd"


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    events = read("openai-chat", b'{"choices":[{"index":0,"delta":{"content":"a\xffb"}}]}', DONE)
    assert said(events) == "a\ufffdb"


def test_characters_of_many_scripts_survive_any_cut() -> None:
    # G12: code points split over reads; U+2028 and U+0085 inside a JSON string are no line ends
    text = "漢字 \u2028 \u0085 العربية 👩‍👩‍👧 🇨🇭"
    stream = (
        b"".join(b"data: " + orjson.dumps(chunk({"content": character})) + b"\r\n\r\n" for character in text)
        + b"data: [DONE]\n\n"
    )
    assert said(same_however_cut("openai-chat", stream)) == text


def test_deltas_of_one_read_leave_as_one() -> None:
    out: list[object] = []
    chain = normalize("openai-chat").chain()
    chain.stages[-1].emit = out.append
    for piece in ("a", "b", "c"):
        chain.feed(orjson.dumps(chunk({"content": piece})))
    assert not only(TextDelta, out)
    chain.settle()
    assert only(TextDelta, out) == [TextDelta("abc", 0, "chat-1")]
