"""Law 4 for readers: a record costs the same, however many came before it."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from laws import check_takes, push

from penstock.operators.normalize import normalize

SAID = {"type": "text", "text": "word "}


def _acp(**update: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


def _gemini(part: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [part]}, "index": 0}], "responseId": "r"}


STREAMS: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "text of responses": (
        "openai-responses",
        lambda n: {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "word "},
    ),
    "items of responses": (
        "openai-responses",
        lambda n: {
            "type": "response.output_item.done",
            "output_index": n,
            "item": {"type": "function_call", "call_id": str(n), "name": "f", "arguments": "{}"},
        },
    ),
    "commands of codex": (
        "codex-exec",
        lambda n: {"type": "item.completed", "item": {"id": str(n), "type": "command_execution", "command": "ls"}},
    ),
    "text of the app-server": (
        "codex-app-server",
        lambda n: {
            "method": "item/agentMessage/delta",
            "params": {"threadId": "t", "itemId": "m", "delta": "word "},
        },
    ),
    "chunks of acp": ("acp", lambda n: _acp(sessionUpdate="agent_message_chunk", content=SAID)),
    "calls of acp": (
        "acp",
        lambda n: _acp(sessionUpdate="tool_call", toolCallId=str(n), title="x", status="completed"),
    ),
    "content of one call of acp": (
        "acp",
        lambda n: _acp(sessionUpdate="tool_call_content_chunk", toolCallId="c", content=SAID),
    ),
    "messages and calls of acp by turns": (
        "acp",
        lambda n: (
            _acp(sessionUpdate="agent_message_chunk", content=SAID)
            if n % 2
            else _acp(sessionUpdate="tool_call", toolCallId=str(n), title="x")
        ),
    ),
    "text of the gemini cli": (
        "gemini-cli",
        lambda n: {"type": "message", "timestamp": "…", "role": "assistant", "content": "word ", "delta": True},
    ),
    "text of gemini": ("gemini-api", lambda n: _gemini({"text": "word "})),
    "arguments of vertex": (
        "gemini-api",
        lambda n: _gemini(
            {
                "functionCall": {
                    **({} if n else {"name": "write"}),
                    "partialArgs": [{"jsonPath": "$.content", "stringValue": "word " * 20}],
                    "willContinue": True,
                }
            }
        ),
    ),
    "text of ollama": ("ollama", lambda n: {"model": "m", "message": {"content": "word "}, "done": False}),
    "pieces of cursor": (
        "cursor-cli",
        lambda n: {"type": "assistant", "message": {"content": [SAID]}, "timestamp_ms": n},
    ),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_ten_times_the_records_take_about_ten_times_as_long(stream: str) -> None:
    backend, make = STREAMS[stream]
    many = [orjson.dumps(make(number)) for number in range(5_000)]
    few = many[:500]
    check_takes(lambda: push(normalize(backend), many), lambda: push(normalize(backend), few), at_most=14)
