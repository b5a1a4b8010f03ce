"""Streams to measure with: made, the same every time, as a server would send them and a socket deliver them."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Kind", "Workload", "make_message_workload", "make_workload", "split_into_reads"]

Kind = Literal["text", "thinking", "tools"]

_PROSE = (
    "the water steady flow gate turbine head valve river pressure pipe stream slowly through under opens and so, "
    "then. again it is\n naïve façade 漢字 水門 الماء 👩‍🔧 — `x = 1` "
)
_WORDS = _PROSE.split(" ")


@dataclass(frozen=True, slots=True)
class Workload:
    """Raw bytes as a socket delivers them, and the server's chunks, one by one, that they hold."""

    name: str
    backend: str
    reads: list[bytes]
    arrivals: list[bytes]

    @property
    def chunks(self) -> int:
        return len(self.arrivals)

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.reads))


def make_workload(
    kind: Kind = "text", chunks: int = 20_000, *, max_read_bytes: int = 1500, seed: int = 1
) -> Workload:
    """`chunks` Chat Completions chunks of one answer, cut into reads of 1 to `max_read_bytes` bytes.

    `text` is a plain answer. `thinking` opens with a `<think>` block of a third of it. `tools` is one call of
    `write_file` whose arguments come in small pieces.
    """
    randomness = random.Random(seed)
    arrivals = [_event(delta) for delta in _DELTAS[kind](chunks, randomness)]
    end = _event({}, "tool_calls" if kind == "tools" else "stop") + b"data: [DONE]\n\n"
    reads = split_into_reads(b"".join(arrivals) + end, max_read_bytes, randomness)
    return Workload(kind, "openai-chat", reads, arrivals)


def make_message_workload(
    chunks: int = 20_000, *, max_padding: int = 15, max_read_bytes: int = 1500, seed: int = 1
) -> Workload:
    """The same text as events of Anthropic's Messages API, with up to `max_padding` spaces in each, as it does."""
    randomness = random.Random(seed)
    message = {"id": "msg_bench", "type": "message", "role": "assistant", "model": "bench-1", "content": []}
    begin = _message_event("message_start", message=message)
    begin += _message_event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    end = _message_event("content_block_stop", index=0)
    end += _message_event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": chunks})
    end += _message_event("message_stop")
    arrivals = []
    for delta in _text(chunks, randomness):
        piece = {"type": "text_delta", "text": delta["content"]}
        padding = randomness.randint(0, max_padding)
        arrivals.append(_message_event("content_block_delta", padding, index=0, delta=piece))
    arrivals[0] = begin + arrivals[0]
    reads = split_into_reads(b"".join(arrivals) + end, max_read_bytes, randomness)
    return Workload("messages", "anthropic", reads, arrivals)


def _message_event(kind: str, padding: int = 0, **fields: Any) -> bytes:
    text = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    return f"event: {kind}\ndata: {text[:-1]}{' ' * padding}}}\n\n".encode()


def split_into_reads(body: bytes, max_read_bytes: int, randomness: random.Random) -> list[bytes]:
    """`body`, cut where no protocol would: at random sizes from 1 to `max_read_bytes`."""
    reads: list[bytes] = []
    position = 0
    while position < len(body):
        size = randomness.randint(1, max_read_bytes)
        reads.append(body[position : position + size])
        position += size
    return reads


def _event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    record = {
        "id": "chatcmpl-BenchBenchBenchBench",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": "bench-1",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }
    return b"data: " + json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def _text(count: int, randomness: random.Random) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        yield {"content": randomness.choice(_WORDS) + " "}


def _thinking(count: int, randomness: random.Random) -> Iterator[dict[str, Any]]:
    closing = count // 3
    for number, delta in enumerate(_text(count, randomness)):
        # Tags come as models send them: in pieces, together with other text.
        if number in _TAGS:
            yield {"content": _TAGS[number]}
        elif number in (closing, closing + 1):
            yield {"content": ("done.</th", "ink>\n\n")[number - closing]}
        else:
            yield delta


_TAGS = {0: "<thi", 1: "nk>"}


def _tools(count: int, randomness: random.Random) -> Iterator[dict[str, Any]]:
    start = {
        "index": 0,
        "id": "call_bench",
        "type": "function",
        "function": {"name": "write_file", "arguments": ""},
    }
    yield {"tool_calls": [start]}
    content = json.dumps("".join(delta["content"] for delta in _text(count * 2, randomness)), ensure_ascii=False)
    arguments = '{"path":"notes/penstock.md","content":' + content + "}"
    pieces = count - 1
    for number in range(pieces):
        piece = arguments[len(arguments) * number // pieces : len(arguments) * (number + 1) // pieces]
        yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}


_DELTAS = {"text": _text, "thinking": _thinking, "tools": _tools}
