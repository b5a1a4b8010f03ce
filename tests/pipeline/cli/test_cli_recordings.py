"""`penstock replay` over every real recording of the first three backends, in every form that a program reads."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from conftest import recordings
from laws import check_balance

from penstock import events, updates, wire
from penstock.cli import main

BACKENDS = {"openai-chat": "openai-chat", "anthropic-messages": "anthropic", "claude-cli": "claude-cli"}
FILES = recordings(*BACKENDS)
MARKUP = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<thinking>",
    "</thinking>",
    "[TOOL_CALLS]",
    "<|channel|>",
)

every_recording = pytest.mark.parametrize(
    "path",
    FILES or [pytest.param(None, marks=pytest.mark.skip(reason="no recordings beside the checkout"))],
    ids=lambda path: f"{path.parent.name}/{path.name}" if path else "none",
)


def replayed(capfdbinary: pytest.CaptureFixture[bytes], path: Path, output: str) -> tuple[int, bytes]:
    backend = BACKENDS[path.parent.name]
    status = main(["replay", str(path), "--backend", backend, "-o", output, "--speed", "max"])
    captured = capfdbinary.readouterr()
    assert b"Traceback" not in captured.err
    assert status == 0 or captured.err.startswith(b"penstock: "), "an error is told in a line"
    return status, captured.out


@every_recording
def test_the_events_balance_and_each_text_final_is_its_deltas_joined(
    capfdbinary: pytest.CaptureFixture[bytes], path: Path
) -> None:
    status, output = replayed(capfdbinary, path, "events")
    decoded = [wire.decode(line) for line in output.splitlines()]
    told: list[events.Event] = [event for event in decoded if type(event) in _EVENTS]  # type: ignore[misc]
    assert len(told) == len(decoded), "-o events prints events alone"
    check_balance(told)
    assert [type(event) for event in told].count(events.TurnCompleted) == 1
    assert type(told[-1]) is events.TurnCompleted
    fatal = any(type(event) is events.StreamError and event.is_fatal for event in told)
    assert status == (1 if fatal else 0)
    joined: dict[tuple[str, str, int], str] = defaultdict(str)
    for event in told:
        if isinstance(event, events.TextDelta | events.ThinkingDelta | events.Text | events.Thinking):
            key = (event.parent_call_id, event.message_id, event.block_index)
            if isinstance(event, events.TextDelta | events.ThinkingDelta):
                joined[key] = event.text if event.replace else joined[key] + event.text
            elif key in joined:
                assert event.text == joined[key]


_EVENTS = {kind for kind in vars(events).values() if isinstance(kind, type) and hasattr(kind, "__struct_fields__")}


@every_recording
def test_the_text_has_no_thinking_and_no_markup_and_the_final_message_is_its_end(
    capfdbinary: pytest.CaptureFixture[bytes], path: Path
) -> None:
    _, text = replayed(capfdbinary, path, "text")
    _, final = replayed(capfdbinary, path, "final")
    visible = text.decode()
    assert not [mark for mark in MARKUP if mark in visible]
    assert "\x1b" not in visible
    assert visible.strip().endswith(final.decode().strip())


@every_recording
def test_the_updates_say_each_thing_once_and_in_order(
    capfdbinary: pytest.CaptureFixture[bytes], path: Path
) -> None:
    _, output = replayed(capfdbinary, path, "updates")
    shown: list[dict[str, Any]] = [json.loads(line) for line in output.splitlines()]
    kinds = [update["type"] for update in shown]
    assert set(kinds) <= {"thinking", "final_message_start", "assistant", "tool_block", "completed"}
    assert kinds.count("completed") == 1
    assert kinds[-1] == "completed"
    assert kinds.count("final_message_start") == (1 if "assistant" in kinds else 0)
    if "assistant" in kinds:
        assert kinds.index("final_message_start") + 1 == kinds.index("assistant")
    stages: dict[str, list[str]] = defaultdict(list)
    for line in output.splitlines():
        update = wire.decode(line)
        if isinstance(update, updates.ToolBlockUpdate):
            stages[update.id].append(update.stage)
    for call_id, lived in stages.items():
        assert (lived[0], lived[-1], lived.count("end")) == ("start", "end", 1), f"{call_id}: {lived}"
