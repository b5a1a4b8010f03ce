"""`penstock run` as a program of its own: real children, real pipes, a real terminal, real signals."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest
from chat_stream import answer, event

from penstock.cli import main

PENSTOCK = [sys.executable, "-c", "import sys; from penstock.cli import main; sys.exit(main())"]
PARTIAL = event({"content": "what it had said"})


def python(program: str) -> list[str]:
    return [sys.executable, "-u", "-c", textwrap.dedent(program)]


def writing(content: bytes, then: str = "") -> list[str]:
    return python(f"import os, signal, sys, time\nsys.stdout.buffer.write({content!r}); sys.stdout.flush()\n{then}")


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        return "State:\tZ" not in status.read_text()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_child_is_shown_and_its_success_is_ours(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-o", "text", "--", *writing(answer("Hello."))]) == 0
    assert capfd.readouterr() == ("Hello.\n", "")


def test_arguments_after_the_dashes_are_the_program_s_own(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import sys; print(sys.argv[1:])"
    assert main(["run", "--backend", "text", "--", sys.executable, "-c", program, "-o", "--", "-v"]) == 0
    assert capfd.readouterr().out == "['-o', '--', '-v']\n"


def test_a_failing_child_is_an_error_after_its_output_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    command = writing(PARTIAL, "sys.exit('Traceback:\\n  no key')")
    assert main(["run", "-o", "text", "--backend", "openai-chat", "--", *command]) == 1
    out, err = capfd.readouterr()
    assert out == "what it had said\n"
    assert re.fullmatch(r"penstock: source_failed: python\S* exited with status 1: Traceback:⏎no key\n", err)


def test_a_child_that_fails_after_a_whole_answer_is_an_error_too(capfd: pytest.CaptureFixture[str]) -> None:
    """An agent's status is its word about its work."""
    assert main(["run", "-o", "final", "--", *writing(answer("Done."), "sys.exit(3)")]) == 1
    out, err = capfd.readouterr()
    assert out == "Done.\n"
    assert "exited with status 3" in err


def test_standard_error_of_a_child_that_succeeds_is_kept_apart(capfd: pytest.CaptureFixture[str]) -> None:
    command = writing(answer("Hello."), "sys.stderr.write('progress 10 %')")
    assert main(["run", "-o", "text", "--", *command]) == 0
    assert capfd.readouterr() == ("Hello.\n", "")


def test_an_agent_can_be_piped_in() -> None:
    result = subprocess.run([*PENSTOCK, "run"], input=answer("from a pipe"), capture_output=True, check=True)
    assert (result.stdout, result.stderr) == (b"from a pipe\n", b"")


def test_a_file_can_be_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "stream.sse"
    path.write_bytes(answer("from a file"))
    with path.open("rb") as file:
        result = subprocess.run([*PENSTOCK, "run"], stdin=file, capture_output=True, check=True)
    assert result.stdout == b"from a file\n"


def test_a_child_reads_the_standard_input_that_is_piped_in() -> None:
    command = [*PENSTOCK, "run", "--backend", "text", "--", *python("print(input().upper())")]
    result = subprocess.run(command, input=b"a prompt\n", capture_output=True, check=True)
    assert result.stdout == b"A PROMPT\n"


@pytest.mark.parametrize("output", ["text", "events"])
def test_what_arrived_is_printed_while_the_agent_still_thinks(output: str) -> None:
    with subprocess.Popen(
        [*PENSTOCK, "run", "-o", output], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(answer("at once")[:-20])
        process.stdin.flush()
        seen = b""
        while b"at once" not in seen:
            seen += os.read(process.stdout.fileno(), 4096)
        process.stdin.close()
        process.stdout.read()
        assert process.wait() in (0, 1)


@pytest.mark.parametrize("output", ["text", "events", "final"])
def test_a_reader_that_goes_away_ends_it_quietly_and_ends_the_child(output: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    flood = event({"content": "x" * 200})
    command = writing(
        b"", f"open({str(note)!r}, 'w').write(str(os.getpid()))\nwhile True: sys.stdout.buffer.write({flood!r})"
    )
    if output == "final":
        command = writing(answer("x"), f"open({str(note)!r}, 'w').write(str(os.getpid()))")
    with subprocess.Popen(
        [*PENSTOCK, "run", "-o", output, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        if output != "final":
            process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 128 + signal.SIGPIPE
    assert not is_running(int(note.read_text()))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*PENSTOCK, "run"], input=answer("lost"), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert result.returncode == 1
    assert result.stderr == b"penstock: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_child_and_prints_what_it_had_said(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    note = tmp_path / "pid"
    command = writing(PARTIAL, f"open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    with subprocess.Popen(
        [*PENSTOCK, "run", "-o", "text", "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        seen = b""
        while b"said" not in seen:
            seen += os.read(process.stdout.fileno(), 4096)
        while not note.exists() or not note.read_text():
            assert process.poll() is None
        process.send_signal(number)
        assert seen + process.stdout.read() == b"what it had said\n"
        assert process.stderr.read() == b""
        assert process.wait() == status
    assert not is_running(int(note.read_text()))


def test_a_second_interrupt_does_not_wait_for_a_child_that_will_not_end(tmp_path: Path) -> None:
    note = tmp_path / "asked"
    then = f"""
signal.signal(signal.SIGTERM, lambda *_: open({str(note)!r}, "w").write("asked"))
sys.stdout.buffer.write({PARTIAL!r}); sys.stdout.flush()
while True: time.sleep(60)
"""
    with subprocess.Popen(
        [*PENSTOCK, "run", "-o", "text", "--", *writing(b"", then)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.read(4)
        process.send_signal(signal.SIGINT)
        while not note.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        process.stdout.read()


# ── on a real terminal ───────────────────────────────────────────────────────────────────────────────────


class Terminal:
    """A pseudo-terminal with a program on it, and the screen it draws."""

    def __init__(self, command: list[str]) -> None:
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="xterm-256color", COLUMNS="80", LINES="24")
            os.environ.pop("CI", None)
            os.execv(command[0], command)
        self.modes = termios.tcgetattr(self.fd)
        self.status: int | None = None

    def read(self) -> bool:
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.written += data
        self._stream.feed(data)
        return bool(data)

    def read_until(self, text: str) -> None:
        while text not in "\n".join(self.screen.display):
            assert self.read(), f"it ended before it showed {text!r}:\n" + "\n".join(self.screen.display)

    def end(self) -> int:
        while self.read():
            pass
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status


@contextmanager
def terminal(command: list[str]) -> Iterator[Terminal]:
    opened = Terminal(command)
    try:
        yield opened
    finally:
        if opened.status is None:
            os.kill(opened.pid, signal.SIGKILL)
            os.waitpid(opened.pid, 0)
        os.close(opened.fd)


def test_ctrl_c_at_the_terminal_ends_the_child_keeps_the_text_and_restores_the_terminal(tmp_path: Path) -> None:
    """Issue 3: Ctrl-C ends the child, keeps the partial content and restores the terminal."""
    note = tmp_path / "pid"
    command = writing(PARTIAL, f"open({str(note)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)")
    with terminal([*PENSTOCK, "run", "--", *command]) as opened:
        opened.read_until("what it had said")
        while not note.exists() or not note.read_text():
            opened.read()
        os.write(opened.fd, b"\x03")
        status = opened.end()
        assert termios.tcgetattr(opened.fd) == opened.modes
        shown = "\n".join(opened.screen.display)
    assert status == 130
    assert "what it had said" in shown
    assert "Traceback" not in shown
    assert not is_running(int(note.read_text()))
    assert not opened.screen.cursor.hidden
    hides, shows = opened.written.rfind(b"\x1b[?25l"), opened.written.rfind(b"\x1b[?25h")
    assert shows > hides or hides == -1


def test_on_a_terminal_with_nothing_to_read_it_says_so() -> None:
    with terminal([*PENSTOCK, "run"]) as opened:
        assert opened.end() == 2
        assert "nothing to read: give a program after --" in "\n".join(opened.screen.display)


def test_json_on_a_terminal_holds_no_control_characters() -> None:
    command = writing(answer("a\x9b2Jb\x7f"))
    with terminal([*PENSTOCK, "run", "-o", "events", "--", *command]) as opened:
        assert opened.end() == 0
    assert b"\\u009b2J" in opened.written
    assert b"\xc2\x9b" not in opened.written
    assert b"\x7f" not in opened.written
