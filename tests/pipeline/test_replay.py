"""A recorded turn, played into a new one."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from chat_stream import answer, event
from jumping_clock import JumpingClock

from penstock.pipeline import Pipeline
from penstock.replay import replay
from penstock.settings import Settings
from penstock.sinks.callbacks import CallbackSink
from penstock.updates import ToolBlockUpdate

CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": "{}"}}


def recording(path: Path, *steps: dict[str, Any]) -> Path:
    lines = [{"penstock": "recording", "version": 1}, *({"seq": n, **step} for n, step in enumerate(steps))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def two_rounds(tmp_path: Path) -> Path:
    asking = (event({"tool_calls": [CALL]}) + answer(finish_reason="tool_calls")).decode()
    return recording(
        tmp_path / "turn.jsonl",
        {"t": 0, "round": 1},
        {"t": 1, "data": asking},
        {"t": 2, "tool": "call-1", "progress": ""},
        {"t": 60, "tool": "call-1", "output": "found"},
        {"t": 61, "round": 2},
        {"t": 62, "data": answer("It is there.").decode()},
    )


def test_rounds_and_tools_are_what_they_were(run_async: asyncio.Runner, two_rounds: Path) -> None:
    stages: list[tuple[str, str | None]] = []
    clock = JumpingClock()

    def on_tool(update: ToolBlockUpdate) -> None:
        stages.append((update.stage, update.result))

    async def play() -> tuple[int, str]:
        sink = CallbackSink(on_tool_block_updated=on_tool)
        async with Pipeline(Settings(backend="openai-chat"), sinks=[sink]).turn() as turn:
            await replay(turn, two_rounds, clock=clock)
        return turn.result.rounds, turn.final_message

    assert run_async.run(play()) == (2, "It is there.")
    assert clock.time == 62
    assert (stages[0], stages[-1]) == (("start", None), ("end", "found"))
    assert ("running", None) in stages


def test_it_ends_with_the_turn(run_async: asyncio.Runner, two_rounds: Path) -> None:
    """An abort while a tool runs: nothing of the rest is played into a turn that is over."""

    async def play() -> tuple[str, int]:
        def on_tool(update: ToolBlockUpdate) -> None:
            if update.stage == "running":
                turn.abort()

        sink = CallbackSink(on_tool_block_updated=on_tool)
        async with Pipeline(Settings(backend="openai-chat"), sinks=[sink]).turn() as turn:
            await replay(turn, two_rounds, clock=JumpingClock())
        return turn.result.stop_reason, turn.result.rounds

    assert run_async.run(play()) == ("aborted", 1)


def test_a_tool_that_no_round_called_is_shown_all_the_same(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = recording(
        tmp_path / "turn.jsonl", {"t": 0, "tool": "other", "output": "x"}, {"t": 0, "data": answer("y").decode()}
    )
    seen: list[str] = []

    async def play() -> str:
        sink = CallbackSink(on_tool_block_updated=lambda update: seen.append(f"{update.id} {update.stage}"))
        async with Pipeline(Settings(backend="openai-chat"), sinks=[sink]).turn() as turn:
            await replay(turn, path, speed="max")
        return turn.final_message

    assert run_async.run(play()) == "y"
    assert seen[-1] == "other end"


def test_a_broken_recording_is_an_error_in_its_place(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = recording(tmp_path / "turn.jsonl", {"t": 0, "data": event({"content": "whole"}).decode()})
    path.write_text(path.read_text() + '{"seq":1,"t":')

    async def play() -> tuple[str, str]:
        async with Pipeline(Settings(backend="openai-chat")).turn() as turn:
            await replay(turn, path, speed="max")
        assert turn.result.error is not None
        return turn.final_message, turn.result.error.message

    text, message = run_async.run(play())
    assert text == "whole"
    assert message.startswith("line 3 of turn.jsonl is no line of a recording")
