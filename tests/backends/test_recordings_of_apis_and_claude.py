"""The real recordings of Chat Completions, Anthropic Messages and the Claude CLI, against a naive reading."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings
from reading import errors, finalized, only, read_bytes, said, same_however_cut, thought, tokens

from penstock.events import StreamError, Text, TextDelta, TurnCompleted, Usage

FOLDERS = {"openai-chat": "openai-chat", "anthropic-messages": "anthropic", "claude-cli": "claude-cli"}
FILES = recordings(*FOLDERS)
WITHOUT_RESULT = {"vercel-subagent-step-stream.json", "wisp-subagent-parent-tool-use-id.jsonl"}
"""Fragments of Claude CLI sessions, cut before their end by who published them."""

FAILED = {
    "pydantic-openrouter-stream-error.1.sse.txt": "invalid_request",
    "pydantic-tool-use-failed-error-streaming-with-text.1.sse.txt": "tool_use_failed",
    **dict.fromkeys(WITHOUT_RESULT, "truncated"),
}

each_recording = pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")


def records(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a recording, found without any of penstock's code."""
    raw = file.read_bytes().decode()
    if file.suffix == ".json":
        yield from json.loads(raw)
        return
    for line in raw.replace("\r\n", "\n").split("\n"):
        line = line.removeprefix("data:").strip()
        if line.startswith("{"):
            yield json.loads(line)


def naive(file: Path) -> tuple[str, str]:
    """The visible text and the thinking of the main conversation."""
    text: list[str] = []
    thinking: list[str] = []
    for record in records(file):
        match FOLDERS[file.parent.name]:
            case "openai-chat":
                pieces = _chat(record)
            case "anthropic":
                pieces = _anthropic(record)
            case _:
                pieces = _claude(record)
        for is_thinking, piece in pieces:
            (thinking if is_thinking else text).append(piece)
    return "".join(text), "".join(thinking)


def _chat(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    for choice in record.get("choices", ()):
        delta = choice["delta"]
        details = "".join(detail.get("text", "") for detail in delta.get("reasoning_details") or ())
        yield True, delta.get("reasoning_content") or delta.get("reasoning") or details
        content = delta.get("content") or ""
        parts: list[dict[str, Any]] = [{"text": content}] if isinstance(content, str) else content
        for part in parts:
            yield True, "".join(inner["text"] for inner in part.get("thinking", ()))
            yield False, part.get("text", "")


def _anthropic(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    delta = record.get("delta", {})
    yield False, delta.get("text", "")
    yield True, delta.get("thinking", "")


def _claude(record: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    if record["type"] == "assistant" and not record.get("parent_tool_use_id"):
        for block in record["message"]["content"]:
            yield False, block.get("text", "")
            yield True, block.get("thinking", "")


@each_recording
def test_a_recording_gives_the_text_and_thinking_that_a_naive_reading_finds(file: Path) -> None:
    events = read_bytes(FOLDERS[file.parent.name], [file.read_bytes()])
    assert (said(events), thought(events)) == naive(file)
    assert len(only(TurnCompleted, events)) == 1


@each_recording
def test_a_recording_reads_the_same_however_it_is_cut(file: Path) -> None:
    same_however_cut(FOLDERS[file.parent.name], file.read_bytes())


@each_recording
def test_the_finals_of_a_recording_are_its_joined_deltas(file: Path) -> None:
    events = finalized(FOLDERS[file.parent.name], *records(file))
    streamed: dict[tuple[str, int], str] = {}
    for delta in only(TextDelta, events):
        block = (delta.message_id, delta.block_index)
        streamed[block] = streamed.get(block, "") + delta.text
    finals = {(final.message_id, final.block_index): final.text for final in only(Text, events)}
    assert len(finals) == len(only(Text, events)), "a block has more than one final"
    assert streamed.items() <= finals.items()


@each_recording
def test_a_recording_fails_if_and_only_if_its_stream_did(file: Path) -> None:
    events = read_bytes(FOLDERS[file.parent.name], [file.read_bytes()])
    expected = FAILED.get(file.name)
    assert errors(events) == ([expected] if expected else [])
    assert all(error.is_fatal for error in only(StreamError, events))


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (
            "openai-chat/opencode-cloudflare-workers-ai-cloudflare-workers-ai-llama-3-1-8b-text.1.sse.txt",
            (45, 2, 0, 0, 0),
        ),
        ("openai-chat/vercel-perplexity-text.jsonl", (11, 434, 0, 0, 0)),
        ("openai-chat/opencode-openai-compatible-chat-groq-streams-text.1.sse.txt", (45, 3, 0, 0, 0)),
        ("openai-chat/pydantic-groq-model-web-search-tool-stream.1.sse.txt", None),
        ("openai-chat/pydantic-openrouter-stream-with-native-options.1.sse.txt", (687, 187, 679, 0, 118)),
        ("anthropic-messages/vercel-duplicate-message-start.jsonl", (17, 227, 0, 0, 0)),
    ],
)
def test_usage_follows_the_vendor(name: str, counts: tuple[int, ...] | None) -> None:
    # G5: zeroed at the end, running, doubled, in x_groq alone, with details
    files = [file for file in FILES if f"{file.parent.name}/{file.name}" == name]
    if not files:
        pytest.skip("the recordings are not here")
    (file,) = files
    events = read_bytes(FOLDERS[file.parent.name], [file.read_bytes()])
    if counts is None:
        assert tokens(events)[0] > 0
    else:
        assert tokens(events) == counts


@each_recording
def test_a_recording_counts_its_tokens_once_if_it_counts_them_at_all(file: Path) -> None:
    backend = FOLDERS[file.parent.name]
    usages = only(Usage, read_bytes(backend, [file.read_bytes()]))
    if backend == "anthropic":
        messages = {record["message"]["id"] for record in records(file) if record["type"] == "message_start"}
        assert [usage.message_id for usage in usages] == list(dict.fromkeys(usage.message_id for usage in usages))
        assert {usage.message_id for usage in usages} == messages
    elif backend == "openai-chat":
        counted = [
            record for record in records(file) if record.get("usage") or record.get("x_groq", {}).get("usage")
        ]
        assert len(usages) == bool(counted)
        most = max(
            [(record.get("usage") or record["x_groq"]["usage"])["prompt_tokens"] for record in counted], default=0
        )
        assert sum(usage.input_tokens for usage in usages) == most
