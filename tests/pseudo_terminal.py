"""A program on a real pseudo-terminal: its bytes, its screen, its keys, and the terminal's modes afterwards."""

import codecs
import fcntl
import os
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from terminals import Terminal

DEADLINE_S = 60.0
"""How long a program may be silent before a test gives up; no test waits for it to pass."""


class PseudoTerminal:
    """`with PseudoTerminal(["penstock", …]) as program:` starts it with this terminal as its own."""

    def __init__(self, command: list[str], columns: int = 80, lines: int = 24, **streams: Any) -> None:
        self.output = ""
        self.terminal = Terminal(columns, lines)
        self.master, self.slave = os.openpty()
        self.resize(columns, lines)
        self.modes_before = termios.tcgetattr(self.slave)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        environment = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS")}
        given = {"stdin": self.slave, "stdout": self.slave, "stderr": self.slave, **streams}
        self.process = subprocess.Popen(
            command,
            env={**environment, "TERM": "xterm-256color", "PYTHONUTF8": "1"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0),
            pass_fds=(self.slave,),
            **given,
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        if (columns, lines) != self.terminal.size:
            self.terminal.resize(columns, lines)

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def read_until(self, is_enough: Callable[[str], bool], for_s: float = DEADLINE_S) -> bool:
        """Read until the output is enough, the program is over, or it takes too long; True if it is enough."""
        deadline = time.monotonic() + for_s
        while not is_enough(self.output):
            if not self._read() or time.monotonic() > deadline:
                return is_enough(self.output)
        return True

    def read_to_end(self) -> int:
        """Read all there is; the program's exit status."""
        while self._read():
            pass
        return self.process.wait(DEADLINE_S)

    def _read(self) -> bool:
        """Read some; False where the program is over and everything was read."""
        is_over = self.process.poll() is not None
        ready, _, _ = select.select([self.master], [], [], 0 if is_over else 0.05)
        if not ready:
            return not is_over
        text = self._decoder.decode(os.read(self.master, 65536))
        self.output += text
        self.terminal.feed(text)
        return True

    @property
    def modes(self) -> list[Any]:
        """The terminal's modes, as `stty` would tell them."""
        return termios.tcgetattr(self.slave)

    def __enter__(self) -> "PseudoTerminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(DEADLINE_S)
        os.close(self.master)
        os.close(self.slave)


def penstock(*arguments: str) -> list[str]:
    """The command, run by this interpreter."""
    return [sys.executable, "-c", "import sys; from penstock.cli import main; sys.exit(main())", *arguments]
