"""The recordings of the Responses API, Gemini, Ollama and the agents, real and made, against a naive reading."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings
from laws import merged, push
from reading import errors, finalized, only, read_bytes, said, same_however_cut, thought, tokens

from penstock.events import StreamError, Text, TextDelta, Thinking, ThinkingDelta, TurnCompleted, Unknown, Usage
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize

BACKENDS = (
    "openai-responses",
    "codex-exec",
    "codex-app-server",
    "acp",
    "gemini-cli",
    "gemini-api",
    "ollama",
    "cursor-cli",
)
OURS = Path(__file__).resolve().parents[1] / "recordings"
MADE = [file for backend in BACKENDS for file in sorted((OURS / backend).glob("*.*"))]
REAL = recordings(*BACKENDS)

FATAL = {
    "acp/refused-prompt.jsonl": "server_error",
    "acp/spec-examples-v2.jsonl": "truncated",  # examples of a document, whose last one only begins
    "codex-app-server/failed-turn.jsonl": "quota_exceeded",
    "codex-app-server/text-deltas.jsonl": "truncated",
    "codex-exec/interrupted.jsonl": "truncated",
    "codex-exec/wisp-failed-turn.jsonl": "invalid_request",
    "cursor-cli/failed.jsonl": "backend_error",
    "cursor-cli/no-result.jsonl": "truncated",
    "gemini-api/blocked.sse.txt": "refused",
    "gemini-api/error-in-the-middle.sse.txt": "rate_limited",
    "gemini-cli/failed.jsonl": "invalid_stream",
    "ollama/error-in-the-middle.jsonl": "server_error",
    "openai-responses/rate-limit-in-the-middle.sse.txt": "rate_limited",
    "openai-responses/vercel-openai-error.1.jsonl": "quota_exceeded",
}
EXAMPLES = {"acp/spec-examples-v1-prompt-turn.jsonl", "acp/spec-examples-v2.jsonl"}
"""Examples of a document one after another, not a session: ids come again, and so do ends."""

REPLACED = {"acp/whole-messages.jsonl"}
"""Here the backend takes back what it streamed, so that the deltas are not the final."""


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


each_recording = pytest.mark.parametrize("file", [*REAL, *MADE], ids=name_of)
each_real_recording = pytest.mark.parametrize("file", REAL, ids=name_of)


def records(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a recording, found without any of penstock's code."""
    raw = file.read_bytes().decode()
    if file.suffix == ".json":
        whole = json.loads(raw)
        yield from whole if isinstance(whole, list) else [whole]
        return
    for line in raw.replace("\r\n", "\n").split("\n"):
        line = line.removeprefix("data:").strip()
        if line.startswith("{"):
            yield json.loads(line)


# ── a naive reading: only what each format's own full copies or pieces say, one way each ─────────────────


def naive(file: Path) -> tuple[str, str]:
    """The visible text and the thinking."""
    readers = {
        "openai-responses": _responses,
        "codex-exec": _codex_exec,
        "codex-app-server": _codex_app_server,
        "acp": _acp,
        "gemini-cli": _gemini_cli,
        "gemini-api": _gemini_api,
        "ollama": _ollama,
        "cursor-cli": _cursor_cli,
    }
    text: list[str] = []
    thinking: list[str] = []
    for record in records(file):
        for is_thinking, piece in readers[file.parent.name](record):
            (thinking if is_thinking else text).append(piece)
    return "".join(text), "".join(thinking)


def _responses(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record["type"] == "response.output_item.done":
        item = record["item"]
        if item["type"] == "message":
            yield from ((False, part["text"]) for part in item["content"])
        if item["type"] == "reasoning":
            yield from ((True, part["text"]) for part in [*item["summary"], *item.get("content", [])])


def _codex_exec(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record.get("type") == "item.completed" and record["item"]["type"] in ("agent_message", "reasoning"):
        yield record["item"]["type"] == "reasoning", record["item"]["text"]
    if record.get("msg", {}).get("type") == "agent_message":
        yield False, record["msg"]["message"]


def _codex_app_server(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record.get("method") == "item/completed" and record["params"]["item"]["type"] == "agentMessage":
        yield False, record["params"]["item"]["text"]


def _acp(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    update = record.get("params", {}).get("update", {})
    kind = update.get("sessionUpdate", "")
    if kind.startswith("agent_") and "content" in update:
        content = update["content"]
        for part in content if isinstance(content, list) else [content]:
            yield "thought" in kind, part["text"]


def _gemini_cli(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record["type"] == "message" and record["role"] == "assistant":
        yield False, record["content"]


def _gemini_api(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for candidate in record.get("candidates", ()):
        for part in candidate.get("content", {}).get("parts", ()):
            yield part.get("thought", False), part.get("text", "")


def _ollama(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    message = record.get("message", {})
    yield True, message.get("thinking", "")
    yield False, message.get("content", record.get("response", ""))


def _cursor_cli(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record["type"] == "thinking":
        yield True, record.get("text", "")
    if record["type"] == "result":
        yield False, record["result"]


# ── tests ────────────────────────────────────────────────────────────────────────────────────────────────


@each_real_recording
def test_a_recording_gives_the_text_and_thinking_that_a_naive_reading_finds(file: Path) -> None:
    events = read_bytes(file.parent.name, [file.read_bytes()])
    assert (said(events), thought(events)) == naive(file)


@each_recording
def test_a_recording_reads_the_same_however_it_is_cut(file: Path) -> None:
    same_however_cut(file.parent.name, file.read_bytes())


@pytest.mark.parametrize("file", MADE, ids=name_of)
def test_a_recording_of_ours_reads_the_same_byte_by_byte(file: Path) -> None:
    # every code point of several bytes is split at every place
    whole = file.read_bytes()
    expected = merged(read_bytes(file.parent.name, [whole]))
    assert merged(read_bytes(file.parent.name, [whole[at : at + 1] for at in range(len(whole))])) == expected


@each_recording
def test_each_block_has_one_final_and_it_is_what_was_streamed(file: Path) -> None:
    # G1: deltas, then up to three full copies
    if name_of(file) in EXAMPLES | REPLACED:
        return
    events = finalized(file.parent.name, *records(file))
    for delta_type, final_type in ((TextDelta, Text), (ThinkingDelta, Thinking)):
        streamed: dict[tuple[str, str, int], str] = {}
        told: dict[tuple[str, str, int], str] = {}
        for event in events:
            if isinstance(event, delta_type):
                block = (event.parent_call_id, event.message_id, event.block_index)
                streamed[block] = streamed.get(block, "") + event.text
            elif isinstance(event, final_type):
                block = (event.parent_call_id, event.message_id, event.block_index)
                assert block not in told, f"{event} is the second final of its block"
                told[block] = event.text
        assert streamed.items() <= told.items()


@each_recording
def test_a_recording_fails_if_and_only_if_its_stream_did(file: Path) -> None:
    events = read_bytes(file.parent.name, [file.read_bytes()])
    fatal = [error.code for error in only(StreamError, events) if error.is_fatal]
    expected = FATAL.get(name_of(file))
    assert fatal == ([expected] if expected else [])
    if name_of(file) not in EXAMPLES:
        assert len(only(TurnCompleted, events)) == 1


@each_real_recording
def test_nothing_in_a_real_recording_is_unknown(file: Path) -> None:
    assert not only(Unknown, read_bytes(file.parent.name, [file.read_bytes()]))


@each_real_recording
def test_a_recording_counts_its_tokens_once_and_as_the_backend_does(file: Path) -> None:
    events = read_bytes(file.parent.name, [file.read_bytes()])
    counted = [counts for record in records(file) for counts in _counts(record) if any(counts)]
    if counted:
        assert tokens(events)[:2] == counted[-1]
    else:
        assert not any(usage.input_tokens or usage.output_tokens for usage in only(Usage, events))


def _counts(record: dict[str, Any]) -> Iterator[tuple[int, int]]:
    """Input and output as each format gives them."""
    if record.get("type") == "response.completed":
        usage = record["response"]["usage"]
        yield usage["input_tokens"], usage["output_tokens"]
    if record.get("type") == "turn.completed":
        yield record["usage"]["input_tokens"], record["usage"]["output_tokens"]
    if record.get("msg", {}).get("type") == "token_count":
        usage = record["msg"]["info"]["total_token_usage"]
        yield usage["input_tokens"], usage["output_tokens"]
    if record.get("method") == "thread/tokenUsage/updated":
        usage = record["params"]["tokenUsage"]["total"]
        yield usage["inputTokens"], usage["outputTokens"]
    if record.get("type") == "result":
        usage = record.get("usage", {})
        stats = record.get("stats", {})
        yield (
            usage.get("inputTokens", stats.get("input_tokens", 0)),
            usage.get("outputTokens", stats.get("output_tokens", 0)),
        )
    if "totalTokenCount" in record.get("usageMetadata", {}):
        usage = record["usageMetadata"]
        given = usage["promptTokenCount"] + usage.get("toolUsePromptTokenCount", 0)
        yield given, usage["totalTokenCount"] - given
    if "eval_count" in record:
        yield record.get("prompt_eval_count", 0), record["eval_count"]


def test_log_lines_amid_the_records_are_warnings() -> None:
    # G12
    file = OURS / "codex-exec" / "proto-reasoning-and-tools.jsonl"
    events = read_bytes("codex-exec", [file.read_bytes()])
    assert errors(events) == ["bad_json", "warning"]
    assert not any(error.is_fatal for error in only(StreamError, events))


@pytest.mark.parametrize("file", MADE, ids=name_of)
def test_a_recording_of_ours_is_recognised_and_read_as_if_it_had_been_named(file: Path) -> None:
    chosen: list[str] = []
    events = push(frame() | normalize("auto", on_chosen=chosen.append), [file.read_bytes()])
    assert chosen == [file.parent.name]
    assert merged(events) == merged(read_bytes(file.parent.name, [file.read_bytes()]))
