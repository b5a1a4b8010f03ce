"""The Claude CLI: whole blocks, streamed blocks with their copies, subagents between the lines."""

from typing import Any

import orjson
import pytest
from laws import push
from reading import arguments, calls, errors, finalized, one, only, read, said, same_however_cut, thought, tokens

from penstock.events import (
    BlockStart,
    Event,
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
    Usage,
)
from penstock.operators.normalize import normalize

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": ["Bash"], "cwd": "."}


def wrapped(event: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": parent, "uuid": "u"}


def streamed(message_id: str, *blocks: dict[str, Any], parent: str | None = None) -> list[dict[str, Any]]:
    """A message in partial mode, as recorded: each block's deltas, then its whole copy, then its stop."""
    message = {"id": message_id, "model": "m", "usage": {"input_tokens": 1, "output_tokens": 1}}
    lines = [wrapped({"type": "message_start", "message": message}, parent)]
    for index, block in enumerate(blocks):
        lines.append(
            wrapped({"type": "content_block_start", "index": index, "content_block": _empty(block)}, parent)
        )
        deltas = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in _deltas(block)]
        lines += [wrapped(delta, parent) for delta in deltas]
        lines.append(whole(message_id, block, parent=parent))
        lines.append(wrapped({"type": "content_block_stop", "index": index}, parent))
    reason = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
    ending: dict[str, Any] = {
        "type": "message_delta",
        "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 9},
    }
    return [*lines, wrapped(ending, parent), wrapped({"type": "message_stop"}, parent)]


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    empties: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: empties.get(key, value) for key, value in block.items()}


def _deltas(block: dict[str, Any]) -> list[dict[str, Any]]:
    match block["type"]:
        case "text":
            return [{"type": "text_delta", "text": letter} for letter in block["text"]]
        case "thinking":
            pieces = [{"type": "thinking_delta", "thinking": letter} for letter in block["thinking"]]
            return [*pieces, {"type": "signature_delta", "signature": block["signature"]}]
        case _:
            arguments = orjson.dumps(block["input"]).decode()
            return [{"type": "input_json_delta", "partial_json": letter} for letter in ["", *arguments]]


def whole(message_id: str, *blocks: dict[str, Any], parent: str | None = None, **more: Any) -> dict[str, Any]:
    message = {"id": message_id, "role": "assistant", "model": "m", "content": list(blocks), "stop_reason": None}
    return {"type": "assistant", "message": message, "parent_tool_use_id": parent, "session_id": "s", **more}


def result_of(
    call_id: str, content: Any = "ok", parent: str | None = None, is_error: bool = False
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": parent}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(thought: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thought, "signature": "Eq=="}


def tool(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Done",
    "num_turns": 2,
    "total_cost_usd": 0.5,
    "usage": {
        "input_tokens": 3,
        "cache_read_input_tokens": 4,
        "cache_creation_input_tokens": 5,
        "output_tokens": 6,
    },
    "session_id": "s",
}


# ── without partial messages ─────────────────────────────────────────────────────────────────────────────


def test_without_partial_messages_every_block_is_a_final() -> None:
    events = read(
        "claude-cli",
        INIT,
        whole("msg_1", thinking("Hm")),
        whole("msg_1", text("Let me")),
        whole("msg_1", tool("t1", command="ls")),
        result_of("t1", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        whole("msg_2", text("Done")),
        RESULT,
    )
    assert events == [
        MessageStart("msg_1", "m"),
        Thinking("Hm", 0, "msg_1", signature="Eq=="),
        Text("Let me", 1, "msg_1"),
        ToolInvocation("t1", "Bash", {"command": "ls"}, 2, "msg_1", is_server_side=True),
        ToolCompletion("t1", "a\nb", False, "Bash", "msg_1"),
        MessageStop("msg_1", "tool_use"),
        MessageStart("msg_2", "m"),
        Text("Done", 0, "msg_2"),
        MessageStop("msg_2", "end_turn"),
        Usage(12, 6, 4, 5, cost_usd=0.5),
        TurnCompleted("success", "Done"),
    ]


def test_a_result_between_two_calls_of_one_message_does_not_split_it() -> None:
    # A tool may be run while the model still asks for the next one.
    lines = [whole("msg_1", tool("t1")), result_of("t1"), whole("msg_1", tool("t2")), result_of("t2")]
    events = read("claude-cli", *lines, RESULT)
    assert [(call.call_id, call.block_index) for call in only(ToolInvocation, events)] == [("t1", 0), ("t2", 1)]
    assert one(MessageStart, events).message_id == "msg_1"


def test_messages_without_an_id_end_at_a_tool_result() -> None:
    anonymous: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"content": [block]}, "parent_tool_use_id": None}
        for block in (text("a"), tool("t1"), text("b"))
    ]
    events = read("claude-cli", *anonymous[:2], result_of("t1"), anonymous[2], RESULT)
    assert [start.message_id for start in only(MessageStart, events)] == ["message-1", "message-2"]


def test_a_result_that_is_no_text_is_kept_as_it_is() -> None:
    image = [{"type": "image", "source": {"type": "base64", "data": "aGk="}}]
    events = read("claude-cli", whole("msg_1", tool("t1")), result_of("t1", image, is_error=True), RESULT)
    assert one(ToolCompletion, events).output == image
    assert one(ToolCompletion, events).is_error


# ── with partial messages ────────────────────────────────────────────────────────────────────────────────

PARTIAL = [
    INIT,
    *streamed("msg_1", thinking("Hm"), text("Let me"), tool("t1", command="ls"), tool("t2", command="pwd")),
    result_of("t1"),
    result_of("t2"),
    *streamed("msg_2", text("Done")),
    RESULT,
]


def test_a_whole_copy_after_its_deltas_doubles_nothing() -> None:
    # G1, and G2: the copy comes before the block's stop
    events = finalized("claude-cli", *PARTIAL)
    assert said(events) == "Let meDone"
    assert [final.text for final in only(Text, events)] == ["Let me", "Done"]
    assert only(Thinking, events) == [Thinking("Hm", 0, "msg_1", signature="Eq==")]
    assert calls(events) == [("t1", "Bash", {"command": "ls"}), ("t2", "Bash", {"command": "pwd"})]
    assert arguments(events) == {"t1": '{"command":"ls"}', "t2": '{"command":"pwd"}'}


def test_a_copy_has_the_index_of_the_block_it_copies() -> None:
    events = read("claude-cli", *PARTIAL)
    finals = [
        (type(final).__name__, final.block_index) for final in only(Text, events) + only(ToolInvocation, events)
    ]
    assert finals == [("Text", 1), ("Text", 0), ("ToolInvocation", 2), ("ToolInvocation", 3)]
    assert len(only(Thinking, events)) == 1


def test_with_and_without_partial_messages_the_finals_are_the_same() -> None:
    whole_lines = [line for line in PARTIAL if line["type"] != "stream_event"]

    def finals(lines: list[Any]) -> list[Event]:
        kinds = Text | Thinking | ToolInvocation | ToolCompletion | Usage | TurnCompleted
        return [event for event in finalized("claude-cli", *lines) if isinstance(event, kinds)]

    assert finals(PARTIAL) == finals(whole_lines)


def test_one_copy_of_the_whole_message_after_its_end_doubles_nothing() -> None:
    # The order of the specification: message_stop, then the message with all its blocks.
    blocks = [text("Let me"), tool("t1", command="ls")]
    lines = [line for line in streamed("msg_1", *blocks) if line["type"] == "stream_event"]
    events = finalized("claude-cli", *lines, whole("msg_1", *blocks), RESULT)
    assert [final.text for final in only(Text, events)] == ["Let me"]
    assert calls(events) == [("t1", "Bash", {"command": "ls"})]
    assert len(only(MessageStart, events)) == 1


def test_a_copy_that_says_something_else_wins() -> None:
    lines = streamed("msg_1", text("Hallo"))
    (copy,) = [index for index, line in enumerate(lines) if line["type"] == "assistant"]
    lines[copy] = whole("msg_1", text("Hello"))
    assert one(Text, finalized("claude-cli", *lines, RESULT)).text == "Hello"


def test_a_tool_result_before_the_end_of_its_message_is_told_at_once() -> None:
    # G2
    lines = streamed("msg_1", tool("t1"))
    events = read("claude-cli", *lines[:-2], result_of("t1"), *lines[-2:], RESULT)
    kinds = [type(event) for event in events]
    assert kinds.index(ToolCompletion) < kinds.index(MessageStop)
    assert one(MessageStop, events).stop_reason == "tool_use"


def test_thinking_whose_deltas_are_all_empty_is_kept_by_its_signature() -> None:
    events = finalized("claude-cli", *streamed("msg_1", thinking(""), text("Hi")), RESULT)
    assert one(Thinking, events) == Thinking("", 0, "msg_1", signature="Eq==")


# ── subagents ────────────────────────────────────────────────────────────────────────────────────────────


def interleaved(*streams: list[Any]) -> list[Any]:
    """One line of each in turn."""
    longest = max(map(len, streams))
    return [stream[index] for index in range(longest) for stream in streams if index < len(stream)]


@pytest.mark.parametrize("is_partial", [True, False])
def test_two_interleaved_subagents_come_out_as_two_conversations(is_partial: bool) -> None:
    # G9: block indexes restart in each message, and each line may be another's.
    def agent(name: str) -> list[dict[str, Any]]:
        call = f"{name}-bash"
        lines = [
            *streamed(f"{name}-1", thinking(f"{name} thinks"), tool(call, command=name), parent=name),
            result_of(call, f"{name} ran", parent=name),
            *streamed(f"{name}-2", text(f"{name} is done"), parent=name),
        ]
        return [line for line in lines if is_partial or line["type"] != "stream_event"]

    main = streamed("msg_1", text("Delegating"), tool("left", "Task"), tool("right", "Task"))
    lines = [
        *(line for line in main if is_partial or line["type"] != "stream_event"),
        *interleaved(agent("left"), agent("right")),
        result_of("left", "l"),
        result_of("right", "r"),
        RESULT,
    ]
    events = finalized("claude-cli", *lines)
    assert said(events) == "Delegating"
    for name in ("left", "right"):
        assert (thought(events, name), said(events, name)) == (f"{name} thinks", f"{name} is done")
        own = [event for event in events if getattr(event, "parent_call_id", "") == name]
        assert [start.message_id for start in only(MessageStart, own)] == [f"{name}-1", f"{name}-2"]
        assert calls(own) == [(f"{name}-bash", "Bash", {"command": name})]
        assert one(ToolCompletion, own).output == f"{name} ran"
        alone = finalized("claude-cli", *agent(name))
        spoken = [event for event in alone if getattr(event, "parent_call_id", "") == name]
        assert _content(own) == _content(spoken)


def _content(events: list[Event]) -> list[Event]:
    """All but the stops, which differ between a conversation that is cut off and one that ends."""
    kinds = Text | Thinking | ToolInvocation | ToolCompletion | BlockStart | TextDelta
    return [event for event in events if isinstance(event, kinds)]


def test_a_finished_subagent_is_closed_before_its_result_is_told() -> None:
    task = whole("msg_1", tool("task", "Task"))
    events = read("claude-cli", task, whole("sub_1", text("x"), parent="task"), result_of("task", "x"), RESULT)
    kinds = [(type(event), getattr(event, "parent_call_id", None)) for event in events]
    assert kinds.index((MessageStop, "task")) < kinds.index((ToolCompletion, ""))


def test_the_prompt_of_a_subagent_is_no_output() -> None:
    prompt = {
        "type": "user",
        "parent_tool_use_id": "task",
        "message": {"content": [{"type": "text", "text": "go"}]},
    }
    assert not said(read("claude-cli", prompt, {"type": "user", "message": {"content": "hi"}}, RESULT), "task")


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_result_names_the_final_message_and_counts_the_whole_run() -> None:
    events = read("claude-cli", *PARTIAL)
    assert one(TurnCompleted, events) == TurnCompleted("success", "Done")
    assert tokens(events) == (12, 6, 4, 5, 0)
    assert one(Usage, events).cost_usd == 0.5


@pytest.mark.parametrize(
    ("result", "code", "is_retryable"),
    [
        ({"subtype": "error_max_turns", "is_error": False}, "max_turns", False),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["boom"]}, "execution_failed", False),
        (
            {"subtype": "success", "is_error": True, "result": "There's an issue with the model"},
            "backend_error",
            False,
        ),
        ({"subtype": "success", "is_error": True, "result": 'API Error: 529 {"type":"error"}'}, "overloaded", True),
    ],
)
def test_a_failed_run_is_an_error_even_if_it_says_success(
    result: dict[str, Any], code: str, is_retryable: bool
) -> None:
    # G6: subtype "success" with is_error
    failed = {key: value for key, value in RESULT.items() if key != "result"} | result
    events = read("claude-cli", INIT, whole("msg_1", text("Half")), failed)
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.is_fatal) == (code, is_retryable, True)
    assert error.message
    assert said(events) == "Half"
    assert one(TurnCompleted, events) == TurnCompleted("error")
    assert tokens(events)[0] == 12


def test_an_api_failure_told_in_an_assistant_line_gives_the_error_its_name() -> None:
    synthetic = whole("msg_1", text("API Error: slow down"), error="rate_limit")
    failed = {**RESULT, "is_error": True, "result": "API Error: slow down"}
    error = one(StreamError, read("claude-cli", synthetic, failed))
    assert (error.code, error.retryable) == ("rate_limited", True)


def test_a_retry_of_the_cli_is_a_notice_not_a_failure() -> None:
    retry = {
        "type": "system",
        "subtype": "api_retry",
        "attempt": 1,
        "max_retries": 10,
        "retry_delay_ms": 1500,
        "error_status": 529,
        "error": "overloaded",
    }
    events = read("claude-cli", INIT, retry, whole("msg_1", text("Hi")), RESULT)
    error = one(StreamError, events)
    assert (error.code, error.retryable, error.retry_after_s, error.is_fatal) == ("overloaded", True, 1.5, False)


def test_a_stream_without_a_result_is_truncated_wherever_it_is_cut() -> None:
    for length in range(len(PARTIAL)):
        events = finalized("claude-cli", *PARTIAL[:length])
        assert errors(events)[0] == "truncated", f"after {length} lines"
        assert one(TurnCompleted, events).stop_reason == "error"


def test_each_turn_of_a_long_session_is_completed() -> None:
    events = read(
        "claude-cli", INIT, whole("msg_1", text("One")), RESULT, INIT, whole("msg_2", text("Two")), RESULT
    )
    assert len(only(TurnCompleted, events)) == 2
    assert not errors(events)


def test_a_session_cut_in_its_second_turn_says_so() -> None:
    events = read("claude-cli", INIT, whole("msg_1", text("One")), RESULT, *streamed("msg_2", text("Two"))[:3])
    assert errors(events) == ["truncated"]
    assert len(only(TurnCompleted, events)) == 2


# ── lines of other kinds ─────────────────────────────────────────────────────────────────────────────────


def test_lines_about_the_process_are_ignored_and_unknown_ones_kept() -> None:
    noise = [
        {"type": "system", "subtype": "hook_started"},
        {"type": "system", "subtype": "thinking_tokens", "estimate": 3},
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
        {"type": "keep_alive"},
    ]
    events = read("claude-cli", *noise, INIT, {"type": "later_invention"}, whole("msg_1", text("Hi")), RESULT)
    assert one(Unknown, events).payload == {"type": "later_invention"}
    assert said(events) == "Hi"


def test_progress_of_a_running_tool_is_told() -> None:
    progress = {"type": "tool_progress", "tool_use_id": "t1", "tool_name": "Bash", "elapsed_time_seconds": 3}
    events = read("claude-cli", whole("msg_1", tool("t1")), progress, result_of("t1"), RESULT)
    assert one(ToolProgress, events) == ToolProgress("t1", tool_name="Bash", message_id="msg_1")


def test_the_order_of_keys_does_not_matter() -> None:
    def backwards(record: Any) -> Any:
        if isinstance(record, dict):
            return {key: backwards(record[key]) for key in reversed(record)}
        return [backwards(value) for value in record] if isinstance(record, list) else record

    assert read("claude-cli", *map(backwards, PARTIAL)) == read("claude-cli", *PARTIAL)


def test_records_that_are_parsed_already_read_the_same() -> None:
    assert push(normalize("claude-cli"), PARTIAL) == push(normalize("claude-cli"), map(orjson.dumps, PARTIAL))


def test_log_noise_between_the_lines_is_reported_and_skipped() -> None:
    # G12
    events = read("claude-cli", b"\x1b[2mstarting\x1b[0m", INIT, b"warn: x", whole("msg_1", text("Hi")), RESULT)
    assert errors(events) == ["bad_json", "bad_json"]
    assert said(events) == "Hi"


def test_characters_of_many_scripts_survive_any_cut() -> None:
    # G12
    words = "漢字 \u2028 \u0085 العربية 👩‍👩‍👧 🇨🇭"
    lines = [INIT, *streamed("msg_1", thinking(words), text(words), tool("t1", command=words)), RESULT]
    stream = b"\n".join(map(orjson.dumps, lines))
    events = same_however_cut("claude-cli", stream)
    assert (thought(events), said(events)) == (words, words)
    assert calls(events)[0][2] == {"command": words}
