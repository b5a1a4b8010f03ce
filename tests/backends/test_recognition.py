"""Recognition: a record that a backend claims can only be its own, over every record there is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings

from penstock.backends.registry import BUILT_IN, backend_named

OURS = Path(__file__).resolve().parents[1] / "recordings"
FOLDERS = {name: name for name in BUILT_IN if name != "text"} | {"anthropic-messages": "anthropic"}
MADE = [file for folder in FOLDERS for file in sorted((OURS / folder).glob("*.*"))]
FILES = [*recordings(*FOLDERS), *MADE]
BACKENDS = [backend_named(name) for name in BUILT_IN]

MAX_BEFORE_RECOGNITION = 2
"""How many records of a stream may pass before one gives the backend away."""


def records(file: Path) -> Iterator[dict[str, Any]]:
    raw = file.read_bytes().decode()
    if file.suffix == ".json":
        whole = json.loads(raw)
        yield from whole if isinstance(whole, list) else [whole]
        return
    for line in raw.replace("\r\n", "\n").split("\n"):
        line = line.removeprefix("data:").strip()
        if line.startswith("{"):
            yield json.loads(line)


def claims(record: dict[str, Any]) -> list[str]:
    return [backend.name for backend in BACKENDS if backend.recognize(record)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_record_is_claimed_by_its_own_backend_or_by_nobody(file: Path) -> None:
    own = FOLDERS[file.parent.name]
    for record in records(file):
        assert claims(record) in ([own], []), str(record)[:200]


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_stream_is_recognised_by_its_first_records(file: Path) -> None:
    first = [claims(record) for record, _ in zip(records(file), range(MAX_BEFORE_RECOGNITION + 1), strict=False)]
    assert any(first), "nothing at the beginning of the stream is recognised"


@pytest.mark.parametrize(
    ("record", "backends"),
    [
        # What the three command lines that say `type` share, and what tells them apart.
        ({"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}, ["claude-cli"]),
        ({"type": "result", "subtype": "success", "is_error": False, "request_id": "r"}, ["cursor-cli"]),
        ({"type": "result", "timestamp": "…", "status": "success", "stats": {}}, ["gemini-cli"]),
        ({"type": "system", "subtype": "init", "apiKeySource": "login", "session_id": "s"}, ["cursor-cli"]),
        ({"type": "system", "subtype": "init", "apiKeySource": "none", "tools": []}, ["claude-cli"]),
        ({"type": "thinking", "thinking": "as a block of the Messages API"}, []),
        ({"type": "message", "role": "assistant", "content": [], "stop_reason": None}, ["anthropic"]),
        ({"type": "message", "timestamp": "…", "role": "assistant", "content": "Hi"}, ["gemini-cli"]),
        # The two that are JSON-RPC, one of which does not say so.
        ({"method": "turn/started", "params": {"threadId": "t"}}, ["codex-app-server"]),
        ({"jsonrpc": "2.0", "method": "turn/started", "params": {}}, []),
        ({"method": "session/update", "params": {"sessionUpdate": {"type": "plan"}}}, ["acp"]),
        ({"jsonrpc": "2.0", "method": "fs/read_text_file", "id": 1, "params": {}}, ["acp"]),
        ({"method": "fs/changed", "params": {"path": "a"}}, ["codex-app-server"]),
        ({"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "end_turn"}}, ["acp"]),
        ({"jsonrpc": "2.0", "id": 1, "result": None}, []),
        # Errors without more around them.
        ({"error": {"code": 429, "message": "…", "status": "RESOURCE_EXHAUSTED"}}, ["gemini-api"]),
        ({"error": "model not found"}, []),
        ({}, []),
    ],
)
def test_what_backends_share_is_told_apart(record: dict[str, Any], backends: list[str]) -> None:
    assert claims(record) == backends


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_recognition_survives_values_of_any_type(backend: Any) -> None:
    keys = (
        "type", "msg", "method", "params", "result", "error", "response", "candidates", "message", "content",
        "model", "event", "choices", "object", "tool_call", "done", "id", "timestamp", "session_id",
        "promptFeedback",
    )  # fmt: skip
    kinds: tuple[Any, ...] = ("", "error", "result", "assistant", "message", "system", None, 3, [], {})
    values: tuple[Any, ...] = (None, True, 0, 1.5, "", "response.", "thinking", [], [1], {}, {"type": []}, [{}])
    for value in values:
        for kind in kinds:
            record = dict.fromkeys(keys, value) | {"type": kind}
            assert backend.recognize(record) in (True, False)
            assert backend.recognize(dict.fromkeys(keys, value)) in (True, False)
