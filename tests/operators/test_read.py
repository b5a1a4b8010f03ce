"""The short way is equal to the plain one: `read()` against `frame() | normalize()`, on everything there is."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import merged, push, through_rx
from reactivex.testing import TestScheduler

from penstock.bench.workload import Kind, make_workload
from penstock.operators.clock import SchedulerClock
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize
from penstock.operators.read import Read, read

BACKENDS = {"anthropic-messages": "anthropic"}
FOLDERS = (
    "openai-chat",
    "anthropic-messages",
    "openai-responses",
    "claude-cli",
    "codex-exec",
    "codex-app-server",
    "acp",
    "gemini-cli",
    "gemini-api",
    "ollama",
    "cursor-cli",
)


def plain(backend: str, chunks: list[Any]) -> list[Any]:
    return merged(push(frame() | normalize(backend), chunks))


def short(backend: str, chunks: list[Any]) -> list[Any]:
    return merged(push(read(backend), chunks))


def waited(backend: str, chunks: list[bytes], seed: int = 1) -> list[Any]:
    """The same, where several chunks have waited for each other, as they do while a window is closed."""
    randomness = random.Random(seed)
    out: list[Any] = []
    chain = read(backend).chain().connect(out.append, SchedulerClock(TestScheduler()), lambda action: action())
    stage = chain.stages[0]
    assert isinstance(stage, Read)
    while chunks:
        together = randomness.randint(1, 5)
        stage.feed_all(chunks[:together])
        chunks = chunks[together:]
    chain.finish()
    return merged(out)


def one_by_one(body: bytes) -> list[bytes]:
    """Each record as a chunk of its own, as most servers send them."""
    return re.findall(
        rb".+?(?:\n\n|\r\n\r\n|\Z)" if b"data:" in body else rb".*\n|.+", body, re.DOTALL * (b"data:" in body)
    )


def cut(body: bytes, largest: int, seed: int = 1) -> list[bytes]:
    randomness = random.Random(seed)
    chunks = []
    while body:
        size = randomness.randint(1, largest)
        chunks.append(body[:size])
        body = body[size:]
    return chunks


@pytest.mark.parametrize("file", recordings(*FOLDERS), ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_every_recording_reads_the_same_both_ways_however_it_is_cut(file: Path) -> None:
    body = file.read_bytes()
    backend = BACKENDS.get(file.parent.name, file.parent.name)
    expected = plain(backend, [body])
    for largest in (40, 1500, 100_000):
        assert short(backend, cut(body, largest)) == expected
        assert waited(backend, cut(body, largest)) == expected
    assert waited(backend, one_by_one(body)) == expected
    assert merged(push(read("auto"), cut(body, 700))) == merged(push(frame() | normalize("auto"), [body]))


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def body_of(
    records: list[dict[str, Any]], *, lines: bool = False, ascii_only: bool = False, end: str = "\n"
) -> bytes:
    texts = [json.dumps(record, ensure_ascii=ascii_only, separators=(",", ":")) for record in records]
    if lines:
        return "".join(text + end for text in texts).encode()
    return "".join(f"data: {text}{end}{end}" for text in [*texts, "[DONE]"]).encode()


letters = [*'ab "\\/{}[]:,\n\r\t<>`é漢😀\ud7ff\u2028', "\\u00e9", '"content":"', '"},"', "data: "]
words = st.lists(st.sampled_from(letters), max_size=6).map("".join)
deltas = st.one_of(
    words.map(lambda w: {"content": w}),
    words.map(lambda w: {"content": w}),
    words.map(lambda w: {"content": w}),
    words.map(lambda w: {"reasoning_content": w}),
    words.map(lambda w: {"content": "", "reasoning": w}),
    words.map(lambda w: {"tool_calls": [{"index": 0, "function": {"arguments": w}}]}),
    words.map(lambda w: {"role": "assistant", "content": w}),
    words.map(lambda w: {"content": w, "refusal": None}),
    st.just({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": ""}}]}),
    st.just({"content": None}),
    st.just({}),
)
records = st.builds(
    lambda delta, more: chunk(delta, **more),
    deltas,
    st.sampled_from([{}, {}, {}, {}, {"usage": None}, {"obfuscation": "xyz"}, {"usage": {"prompt_tokens": 3}}]),
)
fillers = st.sampled_from(["", "a", "xY9", "0" * 20, "with space", 'a"quote', "b\\", "é", None])


@settings(max_examples=150)
@given(
    st.lists(st.lists(records, min_size=1, max_size=2).map(lambda few: few * 4), max_size=6),
    st.lists(fillers, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.integers(0, 1000),
)
def test_made_up_vendors_read_the_same_both_ways(
    groups: list[list[dict[str, Any]]],
    fillers: list[str | None],
    lines: bool,
    ascii_only: bool,
    end: str,
    seed: int,
) -> None:
    sent = [r for group in groups for r in group]
    if fillers:
        sent = [{**r, "obfuscation": fillers[n % len(fillers)]} for n, r in enumerate(sent)]
    body = body_of(sent, lines=lines, ascii_only=ascii_only, end=end)
    expected = plain("openai-chat", [body])
    assert short("openai-chat", [body]) == expected
    assert short("openai-chat", cut(body, 300, seed)) == expected
    assert waited("openai-chat", one_by_one(body), seed) == expected
    assert waited("openai-chat", cut(body, 300, seed), seed) == expected
    assert merged(through_rx(read("openai-chat"), cut(body, 90, seed))) == expected


def test_a_chunk_that_only_has_the_length_of_an_empty_repetition_is_not_taken_for_one() -> None:
    first, second = one_by_one(body_of([chunk({"role": "assistant", "content": ""}), chunk({"content": "a"})]))[:2]
    around = len(second) - 1
    torn = second + second[: around // 2]
    rest = second[around // 2 :]
    assert len(rest + second[: around - len(rest)]) == around
    chunks = [first, second, second, torn, rest + second[: around - len(rest)], second[around - len(rest) :]]
    body = b"".join(chunks)
    for seed in range(20):
        assert waited("openai-chat", chunks, seed) == plain("openai-chat", [body])


PIECES = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "tool_use": ("input_json_delta", "partial_json"),
}


def message_event(kind: str, index: int, piece: str, **more: Any) -> dict[str, Any]:
    delta_type, key = PIECES[kind]
    return {"type": "content_block_delta", "index": index, "delta": {"type": delta_type, key: piece}, **more}


def message_body(
    records: list[dict[str, Any]], pads: list[int], *, names: bool, ascii_only: bool = False, end: str = "\n"
) -> bytes:
    """Message events as the Messages API sends them: spaces before the last brace, with or without event lines."""
    body = ""
    for number, record in enumerate(records):
        text = json.dumps(record, ensure_ascii=ascii_only, separators=(",", ":"))
        padded = text[:-1] + " " * pads[number % len(pads)] + "}"
        body += f"event: {record['type']}{end}" if names else ""
        body += f"data: {padded}{end}{end}"
    return body.encode()


message_events = st.one_of(
    st.builds(message_event, st.sampled_from(list(PIECES)), st.integers(0, 2), words),
    st.builds(message_event, st.sampled_from(list(PIECES)), st.integers(0, 2), words),
    st.builds(message_event, st.just("text"), st.just(0), words, extra=words),
    st.builds(
        lambda kind, index: {
            "type": "content_block_start",
            "index": index,
            "content_block": {"type": kind, "id": "x", "name": "f", "input": {"a": 1}},
        },
        st.sampled_from([*PIECES, "server_tool_use", "nobody_knows"]),
        st.integers(0, 2),
    ),
    st.builds(lambda index: {"type": "content_block_stop", "index": index}, st.integers(0, 2)),
    st.just({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "s"}}),
    st.sampled_from(
        [{"type": "ping"}, {"type": "message_stop"}, {"type": "message_start", "message": {"id": "n"}}]
    ),
)


@settings(max_examples=150)
@given(
    st.lists(st.lists(message_events, min_size=1, max_size=2).map(lambda few: few * 4), max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.integers(0, 1000),
)
def test_made_up_message_streams_read_the_same_both_ways(
    groups: list[list[dict[str, Any]]], pads: list[int], names: bool, ascii_only: bool, end: str, seed: int
) -> None:
    events = [{"type": "message_start", "message": {"id": "m"}}, *(e for group in groups for e in group)]
    body = message_body(events, pads, names=names, ascii_only=ascii_only, end=end)
    expected = plain("anthropic", [body])
    assert short("anthropic", [body]) == expected
    assert short("anthropic", cut(body, 300, seed)) == expected
    assert short("anthropic", cut(body, 90, seed)) == expected


@pytest.mark.parametrize("kind", list(PIECES))
@pytest.mark.parametrize("pads", [[0], [3, 0, 11, 7]], ids=["bare", "padded"])
def test_a_long_message_takes_the_short_way_and_says_the_same(kind: str, pads: list[int]) -> None:
    records: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m"}}]
    records += [message_event(kind, 0, word) for word in ("some", ' "words"', " and\\", "\n{}", " — 水") * 400]
    body = message_body(records, pads, names=True)
    assert short("anthropic", cut(body, 1500)) == plain("anthropic", [body])
    assert count_of_plain_payloads("anthropic", cut(body, 1500)) < 300


@pytest.mark.parametrize("place", ["last", "amid"])
def test_an_answer_obfuscated_as_openai_does_takes_the_short_way_and_says_the_same(place: str) -> None:
    sent = []
    for number, word in enumerate(("some", ' "words"', " and\\", "\n{}", " — 水") * 400):
        filler = {"obfuscation": "aB3"[: number % 4] * (number % 5)}
        record = chunk({"content": word}) | filler
        sent.append(record if place == "last" else record | {"object": record.pop("object"), "usage": None})
    body = body_of([chunk({"role": "assistant", "content": ""}), *sent])
    assert short("openai-chat", cut(body, 1500)) == plain("openai-chat", [body])
    assert waited("openai-chat", one_by_one(body)) == plain("openai-chat", [body])
    assert count_of_plain_payloads("openai-chat", cut(body, 1500)) < 300


@pytest.mark.parametrize("kind", ["text", "thinking", "tools"])
@pytest.mark.parametrize("largest", [1500, 100_000])
def test_a_long_answer_takes_the_short_way_and_says_the_same(kind: Kind, largest: int) -> None:
    body = b"".join(make_workload(kind, 3000).reads)
    chunks = cut(body, largest)
    assert short("openai-chat", chunks) == plain("openai-chat", [body])
    assert count_of_plain_payloads("openai-chat", chunks) < 300, "nearly all of it should go the short way"


def count_of_plain_payloads(backend: str, chunks: list[bytes]) -> int:
    stage = read(backend).make[0]()
    assert isinstance(stage, Read)
    stage.emit = lambda event: None
    stage.start()
    plain_payloads = 0
    take = stage._take

    def count(payload: Any) -> None:
        nonlocal plain_payloads
        plain_payloads += 1
        take(payload)

    stage._frame.emit = count
    for piece in chunks:
        stage.feed(piece)
        stage.settle()
    return plain_payloads


def test_a_stream_that_never_repeats_gives_the_short_way_up() -> None:
    stage = read("openai-chat").make[0]()
    assert isinstance(stage, Read)
    stage.emit = lambda event: None
    stage.start()
    for number in range(100):
        stage.feed(body_of([chunk({"content": "x"}, number=number)])[:-14])
    assert not stage._is_open


def test_a_record_that_never_ends_is_not_held_outside_the_framing_for_ever() -> None:
    body = body_of([chunk({"content": "x"})] * 8)
    chunks = [body[:-14], *[b'data: {"choices":[{"delta":{"content":"' + b"y" * 100_000] + [b"y" * 100_000] * 5]
    assert short("openai-chat", chunks)[-1] == plain("openai-chat", chunks)[-1]
