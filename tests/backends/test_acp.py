"""The Agent Client Protocol, in every envelope it ever came in."""

from pathlib import Path
from typing import Any

import pytest
from laws import merged
from msgspec.structs import replace
from reading import calls, errors, finalized, one, only, read, read_bytes, said, thought

from penstock.events import (
    BlockStart,
    BlockStop,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    ToolCompletion,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
    Unknown,
    Usage,
)

OURS = Path(__file__).resolve().parents[1] / "recordings" / "acp"
END = {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}


def made(name: str) -> list[Any]:
    return merged(read_bytes("acp", [(OURS / name).read_bytes()]))


def update(kind: str, /, session: str = "s", **rest: Any) -> dict[str, Any]:
    params = {"sessionId": session, "update": {"sessionUpdate": kind, **rest}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def say(piece: str, **rest: Any) -> dict[str, Any]:
    return update("agent_message_chunk", content={"type": "text", "text": piece}, **rest)


def think(piece: str, **rest: Any) -> dict[str, Any]:
    return update("agent_thought_chunk", content={"type": "text", "text": piece}, **rest)


def call(call_id: str = "c", **rest: Any) -> dict[str, Any]:
    return update("tool_call", toolCallId=call_id, title="Read a", **rest)


def change(call_id: str = "c", **rest: Any) -> dict[str, Any]:
    return update("tool_call_update", toolCallId=call_id, **rest)


@pytest.mark.parametrize("name", ["specification.jsonl", "flat.jsonl", "notification.jsonl"])
def test_a_turn_is_the_same_in_every_envelope_of_version_1(name: str) -> None:
    # G10
    assert made(name) == made("version-1.jsonl")


def test_a_turn_of_the_draft_of_version_2_differs_in_its_message_ids_alone() -> None:
    ids = {"th1": "message-1", "m2": "message-2"}
    events = [
        replace(event, message_id=ids[event.message_id]) if getattr(event, "message_id", "") in ids else event
        for event in made("version-2.jsonl")
    ]
    assert only(Usage, events) == [Usage(cost_usd=0.045)]
    assert [event for event in events if not isinstance(event, Usage)] == made("version-1.jsonl")


def test_chunks_stream_and_a_tool_call_splits_messages() -> None:
    events = made("version-1.jsonl")
    assert thought(events) == "Let me 看看"
    assert [delta.text for delta in only(TextDelta, events)] == ["Ich lese die Datei 📄", "Sie ist 空的。"]
    assert len(only(MessageStart, events)) == 2
    assert one(TurnCompleted, events).stop_reason == "end_turn"
    assert [stop.stop_reason for stop in only(MessageStop, events)] == ["", "end_turn"]
    assert not only(Unknown, events)


def test_a_call_is_announced_then_called_then_run_then_completed() -> None:
    events = [event for event in made("version-1.jsonl") if getattr(event, "call_id", "") == "c1"]
    assert [type(event) for event in events] == [BlockStart, ToolInvocation, ToolProgress, ToolCompletion]
    assert one(ToolInvocation, events).input == {"path": "文件.txt"}
    assert one(ToolInvocation, events).is_server_side
    assert one(ToolCompletion, events).output == "(leer)"


def test_a_call_may_be_over_when_it_is_announced_and_its_name_may_be_in_the_notes() -> None:
    events = [event for event in made("version-1.jsonl") if getattr(event, "call_id", "") == "c2"]
    end = one(ToolCompletion, events)
    assert (end.tool_name, end.output, end.is_error) == ("Bash", {"exit": 2}, True)
    assert one(ToolInvocation, events).input == {"cmd": "make"}


def test_given_fields_replace_the_old_ones_and_missing_ones_stay() -> None:
    # G10
    events = finalized(
        "acp",
        call(rawInput={"a": 1}),
        change(rawInput={"a": 2}),
        change(status="in_progress", content=[{"type": "content", "content": {"type": "text", "text": "old"}}]),
        change(content=[{"type": "content", "content": {"type": "text", "text": "new"}}]),
        change(status="completed"),
        END,
    )
    assert [invocation.input for invocation in only(ToolInvocation, events)] == [{"a": 1}, {"a": 2}]
    assert [step.message for step in only(ToolProgress, events)] == ["old", "new"]
    assert one(ToolCompletion, events).output == "new"


def test_a_call_that_never_says_more_is_called_as_it_stands_and_never_completed() -> None:
    events = finalized("acp", call(), END)
    assert calls(events) == [("c", "Read a", {})]
    assert not only(ToolCompletion, events)
    assert errors(events) == []


def test_an_update_of_a_call_nobody_announced_announces_it() -> None:
    events = read("acp", change(status="completed", rawOutput="x"), END)
    assert one(ToolInvocation, events).call_id == one(ToolCompletion, events).call_id == "c"


def test_a_call_completes_once() -> None:
    events = read("acp", call(), change(status="completed"), change(status="completed"), change(title="x"), END)
    assert len(only(ToolCompletion, events)) == 1


def test_a_diff_is_the_output_where_there_is_no_text() -> None:
    diff = {"type": "diff", "path": "a", "oldText": "1", "newText": "2"}
    assert one(ToolCompletion, read("acp", call(status="completed", content=[diff]), END)).output == [diff]


def test_another_message_id_is_another_message() -> None:
    events = read("acp", say("a", messageId="1"), say("b", messageId="1"), say("c", messageId="2"), END)
    assert [(start.message_id) for start in only(MessageStart, events)] == ["1", "2"]
    assert said(events) == "abc"


def test_thoughts_have_ids_of_their_own_and_split_nothing() -> None:
    records = [say("a", messageId="1"), think("x", messageId="t1"), say("b", messageId="1"), END]
    assert len(only(MessageStart, read("acp", *records))) == 1


def test_a_whole_message_replaces_what_was_said_under_its_id() -> None:
    events = made("whole-messages.jsonl")
    assert [(delta.text, delta.replace) for delta in only(TextDelta, events)] == [
        ("Erste Fassung und mehr", False),
        ("Zweite Fassung", True),
    ]
    assert [final.text for final in only(Text, events)] == ["Dritte Fassung"]  # its block was over by then
    assert one(ToolCompletion, events).output == "行 1\n行 2\n"
    assert one(TurnCompleted, events).stop_reason == "end_turn"


def test_a_bridge_that_repeats_itself_is_taken_at_its_word() -> None:
    assert said(read("acp", say("Hello"), say("!"), say("Hello!"), END)) == "Hello!Hello!"


def test_the_users_own_words_are_no_output() -> None:
    user = update("user_message_chunk", content={"type": "text", "text": "go"})
    assert said(read("acp", user, say("Hi"), END)) == "Hi"


def test_history_that_is_loaded_ends_with_the_answer_that_says_nothing() -> None:
    user = update("user_message_chunk", content={"type": "text", "text": "go"})
    events = read("acp", user, say("old"), {"jsonrpc": "2.0", "id": 1, "result": None})
    assert errors(events) == []
    assert len(only(TurnCompleted, events)) == 1


def test_another_session_is_left_out_while_a_turn_is_under_way() -> None:
    events = read(
        "acp", say("mine"), say("theirs", session="other"), say("!"), END, say("then", session="other"), END
    )
    assert said(events) == "mine!then"
    assert len(only(TurnCompleted, events)) == 2


def test_a_refused_prompt_is_an_error_with_its_details_and_a_call_that_never_began() -> None:
    events = made("refused-prompt.jsonl")
    error = one(StreamError, events)
    assert (error.code, error.message) == ("server_error", "Internal error: 模型不可用")
    assert said(events) == "Ein Anf"
    assert not only(ToolInvocation, events)
    assert [stop.block_index for stop in only(BlockStop, events)] == [0, 1]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "cancelled"])
def test_the_stop_reason_is_the_agents_own_word(reason: str) -> None:
    events = read("acp", say("x"), {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": reason}})
    assert one(TurnCompleted, events).stop_reason == reason
    assert errors(events) == []


def test_usage_in_the_answer_is_told() -> None:
    usage = {"inputTokens": 9, "outputTokens": 5, "cachedReadTokens": 3, "thoughtTokens": 2}
    events = read(
        "acp", say("x"), {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn", "usage": usage}}
    )
    assert one(Usage, events) == Usage(9, 5, 3, 0, 2)


def test_updates_nobody_knows_are_kept() -> None:
    events = read("acp", update("hologram_update", shape="cube"), END)
    assert one(Unknown, events).payload["params"]["update"]["shape"] == "cube"
