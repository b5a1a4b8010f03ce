"""Small streams of an OpenAI-compatible server, for tests of what lies around the reading."""

import json
from typing import Any


def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    """One server-sent event."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    record = {"id": "chat-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(record, ensure_ascii=False).encode() + b"\n\n"


def answer(*texts: str, finish_reason: str = "stop") -> bytes:
    """A whole answer, a text an event."""
    return b"".join([*(event({"content": text}) for text in texts), event({}, finish_reason), b"data: [DONE]\n\n"])


def error(code: str, message: str, **fields: Any) -> bytes:
    """An error told inside the stream."""
    return b"data: " + json.dumps({"error": {"code": code, "message": message, **fields}}).encode() + b"\n\n"
