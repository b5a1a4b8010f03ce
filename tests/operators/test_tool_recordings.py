"""Real recordings: every tool call lives an orderly life, and its raw pieces are the call the backend finalises."""

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from conftest import recordings
from laws import push

from penstock.events import ToolInvocation
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize
from penstock.operators.stage import Operator
from penstock.operators.streaming_tool_calls import streaming_tool_calls
from penstock.operators.track_tools import track_tools
from penstock.partial_json import PartialJson
from penstock.updates import AssistantStreamingToolCall, ToolBlockUpdate

BACKENDS = {
    "acp": "acp",
    "anthropic-messages": "anthropic",
    "claude-cli": "claude-cli",
    "codex-app-server": "codex-app-server",
    "codex-exec": "codex-exec",
    "cursor-cli": "cursor-cli",
    "gemini-api": "gemini-api",
    "gemini-cli": "gemini-cli",
    "ollama": "ollama",
    "openai-chat": "openai-chat",
    "openai-responses": "openai-responses",
}


def items_of(file: Path, backend: str, read_bytes: int) -> list[Any]:
    framing: Operator[Any, Any] = frame()
    telling: Operator[Any, Any] = streaming_tool_calls()
    operator = framing | normalize(backend) | finalize() | telling | track_tools()
    raw = file.read_bytes()
    return push(operator, [raw[at : at + read_bytes] for at in range(0, len(raw), read_bytes)])


def check_pieces(items: list[Any]) -> int:
    """Joined raw pieces parse to the call, and say once that it is complete."""
    joined: dict[tuple[str, str], str] = {}
    completed: Counter[tuple[str, str]] = Counter()
    for item in items:
        if type(item) is AssistantStreamingToolCall:
            key = (item.message_id, item.tool_call_id)
            joined[key] = joined.get(key, "") + item.arguments
            completed[key] += item.is_complete
    invocations = [item for item in items if type(item) is ToolInvocation]
    for call in invocations:
        text = joined[call.message_id, call.call_id]
        if isinstance(call.input, str):
            assert text == call.input
        else:
            assert orjson.loads(text or "{}") == call.input
            reader = PartialJson()
            reader.feed(text)
            assert reader.value() == (call.input if text.strip() else None)
    assert completed.keys() >= {(call.message_id, call.call_id) for call in invocations}
    assert max(completed.values(), default=0) <= 1
    return len(invocations)


def check_lives(items: list[Any]) -> None:
    lives: dict[tuple[str, str, str], list[ToolBlockUpdate]] = {}
    for item in items:
        if type(item) is ToolBlockUpdate:
            lives.setdefault((item.parent_call_id, item.message_id, item.id), []).append(item)
    for key, life in lives.items():
        order = ["start", "streaming", "running", "end"]
        ranks = [order.index(update.stage) for update in life]
        assert ranks == sorted(ranks), f"{key}: {[update.stage for update in life]}"
        assert (ranks.count(0), ranks.count(3)) == (1, 1), f"{key}: {[update.stage for update in life]}"
        assert all(len(update.compact_params) <= 80 for update in life)
    calls = {(item.parent_call_id, item.message_id, item.call_id) for item in items if type(item) is ToolInvocation}
    assert calls <= lives.keys()


@pytest.mark.parametrize("folder", BACKENDS)
@pytest.mark.parametrize("read_bytes", [1 << 30, 331])
def test_every_recorded_call_has_one_orderly_life_and_adds_up(folder: str, read_bytes: int) -> None:
    files = recordings(folder)
    if not files:
        pytest.skip(f"no recordings of {folder} beside the checkout")
    for file in files:
        items = items_of(file, BACKENDS[folder], read_bytes)
        try:
            check_pieces(items)
            check_lives(items)
        except (AssertionError, KeyError) as problem:
            raise AssertionError(f"{folder}/{file.name}: {problem}") from problem
