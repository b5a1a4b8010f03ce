"""The loop one would write by hand, the measure for everything else: split, parse, append, join; no more."""

from collections.abc import Iterable

import orjson

__all__ = ["read_by_hand"]


def read_by_hand(reads: Iterable[bytes]) -> str:
    """The answer's text, or the arguments of its tool calls, of a Chat Completions stream that never goes wrong."""
    buffer = b""
    parts: list[str] = []
    for read in reads:
        buffer += read
        *events, buffer = buffer.split(b"\n\n")
        for event in events:
            data = event[6:]
            if data == b"[DONE]":
                continue
            delta = orjson.loads(data)["choices"][0]["delta"]
            content = delta.get("content")
            if content:
                parts.append(content)
            else:
                parts += [call["function"]["arguments"] for call in delta.get("tool_calls", ())]
    return "".join(parts)
