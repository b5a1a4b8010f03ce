"""Every recording through a whole turn: the order of its updates fits, all balances, every tool ends once."""

import asyncio
from pathlib import Path

import pytest
from conftest import RECORDINGS, recordings
from reading import rechunked

from penstock import AssistantUpdate, Completed, Pipeline, Settings, TurnCompleted
from penstock.testing import (
    RecordingSink,
    VirtualClock,
    assert_balanced,
    assert_order,
    assert_tool_stages,
    scripted,
)

OWN = sorted(path for path in (Path(__file__).parents[1] / "recordings").glob("*/*.*"))
FOLDERS = sorted(folder.name for folder in RECORDINGS.glob("*") if folder.is_dir()) if RECORDINGS.is_dir() else []
NAMES = {"anthropic-messages": "anthropic"}


@pytest.mark.parametrize("path", [*recordings(*FOLDERS), *OWN], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_g5_the_updates_of_every_recorded_turn_fit_the_automaton(path: Path, run_async: asyncio.Runner) -> None:
    backend = NAMES.get(path.parent.name, path.parent.name)
    clock = VirtualClock()
    seen = RecordingSink(clock)

    async def run() -> str:
        pipeline = Pipeline(Settings(backend=backend), sinks=[seen], clock=clock)
        async with pipeline.turn() as turn:
            steps = [(0.02, piece) for piece in rechunked(path.read_bytes(), seed=len(path.name), size=200)]
            await turn.round(scripted(clock, *steps))
        return turn.final_message

    final_message = run_async.run(run())
    assert_order(seen.items)
    assert_balanced(seen.items)
    assert_tool_stages(seen.items)
    assert len(seen.of(TurnCompleted)) == 1
    assert seen.of(Completed)[0].message == final_message
    shown = seen.of(AssistantUpdate)
    assert not shown or shown[0].is_new, "the first text begins a text"
    assert clock.waiting == 0, "a timer was left behind"
