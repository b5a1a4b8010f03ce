"""Streams to measure with: made, the same every time, as a server would send them and a socket deliver them."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Kind", "Workload", "make_workload", "split_into_reads"]

Kind = Literal["text", "thinking", "tools"]

_PROSE = (
    "the water steady flow gate turbine head valve river pressure pipe stream slowly through under opens and so, "
    "then. again it is\n naïve façade 漢字 水門 الماء 👩‍🔧 — `x = 1` "
)
_WORDS = _PROSE.split(" ")


@dataclass(frozen=True, slots=True)
class Workload:
    """Raw bytes as they arrive, and how many of the server's chunks they hold."""

    kind: Kind
    reads: list[bytes]
    chunks: int

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
    pieces = _DELTAS[kind](chunks, randomness)
    body = b"".join(
        [*map(_event, pieces), _event({}, "tool_calls" if kind == "tools" else "stop"), b"data: [DONE]\n\n"]
    )
    return Workload(kind, split_into_reads(body, max_read_bytes, randomness), chunks)


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
    size = -(-len(arguments) // (count - 1))
    for position in range(0, len(arguments), size):
        yield {"tool_calls": [{"index": 0, "function": {"arguments": arguments[position : position + size]}}]}


_DELTAS = {"text": _text, "thinking": _thinking, "tools": _tools}
