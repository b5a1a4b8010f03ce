"""Real streams of real backends on a terminal: shown whole, and nothing but what is allowed is written."""

import asyncio
import re
from pathlib import Path

import pytest
from conftest import RECORDINGS, recordings
from terminals import LIVE, Tape, Terminal, check_bytes, check_region

from penstock import Pipeline
from penstock.replay import replay
from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal import TerminalSink

FOLDERS = sorted({file.parent.name for folder in RECORDINGS.glob("*/") for file in recordings(folder.name)})


async def shown(file: Path) -> tuple[str, Tape, Terminal]:
    terminal = Terminal(100, 30)
    tape = Tape(terminal)
    sink = TerminalSink(tape, look=LIVE, size=lambda: terminal.size, keys=False, thinking=True)
    async with Pipeline(sinks=[sink]).turn() as turn:
        await replay(turn, file, speed="max")
    return turn.final_message, tape, terminal


@pytest.mark.skipif(not FOLDERS, reason="the recordings are not beside the checkout")
@pytest.mark.parametrize("folder", FOLDERS or ["none"])
def test_every_recording_leaves_its_final_message_on_the_screen(folder: str, run_async: asyncio.Runner) -> None:
    for file in recordings(folder):
        message, tape, terminal = run_async.run(shown(file))
        check_bytes(tape.text)
        check_region([frame for _, frame in tape.frames], 30)
        prose = re.sub(r"^\s*(```|~~~).*$", "", sanitize(message), flags=re.MULTILINE)
        rows = "".join(terminal.rows()).replace(" ", "")
        missing = [word for word in re.findall(r"[A-Za-z]{4,}", prose) if word not in rows]
        assert not missing, f"{file.name}: {missing[:5]}"
        assert not terminal.is_cursor_hidden
