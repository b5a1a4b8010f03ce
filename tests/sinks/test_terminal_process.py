"""The program on a real pseudo-terminal: what it shows, what it leaves, how it is stopped (issue 6)."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("pseudo-terminals are not of this system", allow_module_level=True)

from pseudo_terminal import PseudoTerminal, penstock
from terminals import check_region

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def plain(text: str) -> str:
    return re.sub(r"[\s\u200d\ufe0f]", "", text)


@pytest.fixture(scope="module")
def said() -> str:
    """The last words of the demo, as it prints them to a pipe."""
    done = subprocess.run(
        penstock("demo", "--speed", "max", "-o", "final"), capture_output=True, check=True, text=True
    )
    return done.stdout


def check_left_sane(program: PseudoTerminal) -> None:
    """The modes are as they were, the cursor is seen, and no mode of ours is left on."""
    assert program.modes == program.modes_before
    for mode in ("25h", "7h", "1049l", "2026l"):
        switches = re.findall(rf"\x1b\[\?{mode[:-1]}([hl])", program.output)
        assert not switches or switches[-1] == mode[-1], f"mode {mode[:-1]} is left {switches[-1]}"


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 10), (200, 60)])
def test_the_demo_is_shown_and_leaves_each_text_once(columns: int, lines: int, said: str) -> None:
    with PseudoTerminal(penstock("demo", "--speed", "40"), columns, lines) as program:
        assert program.read_to_end() == 0
        rows = program.terminal.rows()
        headings = [line.lstrip("# ") for line in said.split("\n") if line.startswith("#")]
        for heading in headings:
            assert rows.count(heading) == 1
        assert plain("".join(rows)).endswith(plain(said.rstrip().rsplit("\n", 1)[-1]))
        assert sum("✓ write_file" in row for row in rows) == 1
        check_left_sane(program)
        check_region([frame + "l" for frame in program.output.split("\x1b[?2026l")], lines)


def test_a_resize_in_the_middle_keeps_the_text(said: str) -> None:
    with PseudoTerminal(penstock("demo", "--speed", "30"), 80, 24) as program:
        for columns, lines, so_far in ((52, 15, 2_000), (110, 30, 9_000)):
            program.read_until(lambda output, so_far=so_far: len(output) > so_far)  # type: ignore[misc]
            program.resize(columns, lines)
        assert program.read_to_end() == 0
        shown = plain("".join(program.terminal.rows()))
        for line in re.findall(r"^(?:#+ )?[A-Z][\w ,]{20,}", said, re.MULTILINE):
            assert shown.count(plain(line.lstrip("# "))) == 1


MOMENTS = random.Random(6).sample(range(1, 24_000), 5)


@pytest.mark.parametrize(("number", "moment"), [(signal.SIGTERM, m) for m in MOMENTS] + [(signal.SIGHUP, 5_000)])
def test_killed_at_any_moment_it_leaves_a_sane_terminal(number: int, moment: int) -> None:
    with PseudoTerminal(penstock("demo", "--speed", "20")) as program:
        program.read_until(lambda output: len(output) >= moment)
        program.process.send_signal(number)
        program.read_to_end()
        check_left_sane(program)


LIBRARY = """
import asyncio, sys
from penstock import Pipeline
from penstock.sinks import TerminalSink

async def main():
    async with Pipeline(sinks=[TerminalSink()]).turn() as turn:
        round_ = turn.open_round("text")
        round_.feed("A paragraph.\\n\\nAnd an open one")
        {then}

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("then", "status"),
    [
        ("await asyncio.Event().wait()", -signal.SIGTERM),
        ("raise SystemExit(3)", 3),
        ("raise ValueError('broken')", 1),
        ("pass", 0),
    ],
)
def test_inside_somebodys_program_every_exit_restores_the_terminal(then: str, status: int) -> None:
    with PseudoTerminal([sys.executable, "-c", LIBRARY.format(then=then)]) as program:
        if status == -signal.SIGTERM:
            assert program.read_until(lambda output: "And an open one" in output)
            program.process.terminate()
        assert program.read_to_end() == status
        check_left_sane(program)
        rows = program.terminal.rows()
        assert rows[:3] == ["A paragraph.", "", "And an open one"]


def test_ctrl_c_and_q_stop_the_turn_and_keep_what_was_shown() -> None:
    for key in ("\x03", "q"):
        with PseudoTerminal(penstock("demo", "--speed", "2")) as program:
            assert program.read_until(lambda output: "write_file" in output)
            program.press(key)
            assert program.read_to_end() == 130
            check_left_sane(program)
            rows = program.terminal.rows()
            assert rows[0].startswith("I look at the notes")
            assert "■ interrupted" in rows


def test_ctrl_o_expands_and_collapses_on_a_real_terminal() -> None:
    with PseudoTerminal(penstock("demo", "--speed", "10")) as program:
        assert program.read_until(lambda output: "write_file" in output)
        program.press("\x0f")
        assert program.read_until(lambda output: "expanded, frozen" in output)
        assert any("path: " in row for row in program.terminal.screen())
        program.press("\x0f")
        assert program.read_until(lambda output: "\x1b[?1049l" in output)
        assert program.read_to_end() == 0
        check_left_sane(program)


def test_the_expanded_view_stays_when_the_turn_is_over_until_it_is_left_FR_007() -> None:
    with PseudoTerminal(penstock("demo", "--speed", "40")) as program:
        assert program.read_until(lambda output: "write_file" in output)
        program.press("\x0f")
        assert program.read_until(lambda output: "expanded, frozen" in output)
        before = program.terminal.screen()
        program.press("k" * 3 + "G")
        assert not program.read_until(lambda output: "\x1b[?1049l" in output, for_s=1.0)
        assert program.terminal.screen() == before
        program.press("q")
        assert program.read_to_end() == 0
        check_left_sane(program)
        assert sum("✓ run_command" in row for row in program.terminal.rows()) == 1


def test_keys_pressed_are_not_echoed_and_line_editing_is_off_only_meanwhile() -> None:
    with PseudoTerminal(penstock("demo", "--speed", "10")) as program:
        assert program.read_until(lambda output: "keys" in output)
        assert not program.modes[3] & (termios.ECHO | termios.ICANON)
        assert program.modes[3] & termios.ISIG
        program.press("zzz")
        program.read_to_end()
        assert "zzz" not in program.output
        check_left_sane(program)


NOTING_WRITES = """
import io, json, os, sys
from penstock.cli import main

class Noting(io.FileIO):
    def write(self, data):
        print(json.dumps(bytes(data).decode()), file=notes)
        return super().write(data)

with open(sys.argv.pop(1), "w") as notes:
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(Noting(1, "w", closefd=False)), "utf-8")
    sys.exit(main())
"""


def test_a_frame_is_one_write_to_the_terminal(tmp_path: Path) -> None:
    """As the system sees it: no write ends inside a frame."""
    notes = tmp_path / "writes"
    with PseudoTerminal([sys.executable, "-c", NOTING_WRITES, str(notes), "demo", "--speed", "30"]) as program:
        assert program.read_to_end() == 0
    writes = [json.loads(line) for line in notes.read_text().splitlines()]
    assert sum("\x1b[?2026h" in write for write in writes) > 10
    assert [write for write in writes if write.count("\x1b[?2026h") != write.count("\x1b[?2026l")] == []


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


def test_into_a_pipe_goes_exactly_the_text_and_the_status_to_standard_error(
    pipe: tuple[int, int], said: str
) -> None:
    reading, writing = pipe
    with PseudoTerminal(penstock("demo", "--speed", "10"), stdout=writing) as program:
        os.close(writing)
        with os.fdopen(os.dup(reading), "rb") as stream:
            text = stream.read().decode()
        assert program.read_to_end() == 0
        assert "\x1b" not in text
        assert "\r" not in text
        assert text.rstrip().endswith(said.rstrip())
        assert "Waiting" in program.output or "Thinking" in program.output
        assert said.split()[1] not in program.output
        assert program.terminal.rows() == []
        check_left_sane(program)


def test_a_dumb_terminal_gets_no_escape(said: str) -> None:
    command = ["env", "TERM=dumb", *penstock("demo", "--speed", "max")]
    with PseudoTerminal(command) as program:
        assert program.read_to_end() == 0
        assert "\x1b" not in program.output
        assert plain("".join(program.terminal.rows())).endswith(plain(said.rstrip().rsplit("\n", 1)[-1]))


IN_TMUX = """
import asyncio, os, subprocess, sys
from penstock import Pipeline
from penstock.sinks import TerminalSink

async def main():
    async with Pipeline(sinks=[TerminalSink()]).turn() as turn:
        round_ = turn.open_round("text")
        for n in range(30):
            round_.feed(f"Paragraph {n}: " + "many words that wrap " * 6 + "\\n\\n- item\\n\\n")
            round_.feed("An open paragraph " + "that is drawn again and again " * 5)
            await asyncio.sleep(0.06)
            if n in (10, 20):
                subprocess.run(["tmux", "wait-for", "-S", f"at-{n}"])
                await asyncio.to_thread(subprocess.run, ["tmux", "wait-for", f"go-{n}"])
                await asyncio.sleep(0.2)
            round_.feed(".\\n\\n")

asyncio.run(main())
subprocess.run(["tmux", "wait-for", "-S", "done"])
sys.stdin.read()
"""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="there is no tmux here")
def test_a_terminal_that_wraps_its_scrollback_anew_has_each_text_once_after_resizes(tmp_path: Path) -> None:
    socket = str(tmp_path / "tmux")
    (tmp_path / "program.py").write_text(IN_TMUX)

    def tmux(*arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout

    command = f"{sys.executable} {tmp_path / 'program.py'}"
    tmux("-u", "new-session", "-d", "-x", "80", "-y", "24", command)
    try:
        for n, columns, lines in ((10, 47, 12), (20, 101, 30)):
            tmux("wait-for", f"at-{n}")
            tmux("resize-window", "-x", str(columns), "-y", str(lines))
            tmux("wait-for", "-S", f"go-{n}")
        tmux("wait-for", "done")
        shown = plain(tmux("capture-pane", "-p", "-S", "-"))
    finally:
        tmux("kill-server")
    expected = "".join(
        f"Paragraph{n}:{'manywordsthatwrap' * 6}•itemAnopenparagraph{'thatisdrawnagainandagain' * 5}."
        for n in range(30)
    )
    assert shown == expected
