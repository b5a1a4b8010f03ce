"""Terminals to test on: a screen with its scrollback (pyte), checks of every byte, and a turn to show."""

import io
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import pyte
from pyte.screens import Char
from reactivex.testing import TestScheduler

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    TextDelta,
    ThinkingDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
)
from penstock.operators.clock import SchedulerClock
from penstock.pipeline import Pipeline
from penstock.settings import Settings
from penstock.sinks.choose import Look
from penstock.sinks.terminal import TerminalSink

LIVE = Look(form="terminal", is_live=True, has_color=True, has_unicode=True, is_synchronized=True)

_ALLOWED = re.compile(
    r"[^\x00-\x1f\x7f-\x9f]|\r\n|\r"
    r"|\x1b\[[0-9;]*m"  # styles
    r"|\x1b\[\?(?:25|7|2026|1049)[hl]"  # the cursor, wrapping, frames, the other screen
    r"|\x1b\[K|\x1b\[J|\x1b\[\d+A"  # erase from here on, and back up into the region
)
_MOVES = re.compile(r"\r\n|\x1b\[(\d+)A|\x1b\[[0-9;]*H|\x1b\[[0-3]?[JK]|\x1b\[\?1049[hl]")


class Terminal:
    """A screen with its scrollback, as pyte sees it; rows wrap anew when it is resized, as in most real ones."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self._screen = pyte.HistoryScreen(columns, lines, history=1_000_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        self._other: pyte.Screen | None = None

    @property
    def size(self) -> tuple[int, int]:
        return self._screen.columns, self._screen.lines

    @property
    def is_cursor_hidden(self) -> bool:
        return bool(self._screen.cursor.hidden)

    @property
    def cursor_row(self) -> int:
        return int(self._screen.cursor.y)

    def feed(self, text: str) -> None:
        # Pyte gives up a text at a joiner; a terminal that joins nothing ignores it. And it has one screen only.
        for part in re.split(r"(\x1b\[\?1049[hl])", text.replace("\u200d", "").replace("\ufe0f", "")):
            if part == "\x1b[?1049h":
                self._other = pyte.Screen(*self.size)
                self._stream = pyte.Stream(self._other)
            elif part == "\x1b[?1049l":
                self._other = None
                self._stream = pyte.Stream(self._screen)
            else:
                self._stream.feed(part)

    def rows(self) -> list[str]:
        """The scrollback and the screen, without the empty rows at its end."""
        return _without_end([_text(row) for row in [*self._screen.history.top, *self._buffer()]])

    def screen(self) -> list[str]:
        """What is seen now."""
        if self._other is not None:
            return [row.rstrip() for row in self._other.display]
        return [_text(row) for row in self._buffer()]

    def _buffer(self) -> list[dict[int, Char]]:
        return [self._screen.buffer[y] for y in range(self._screen.lines)]

    def resize(self, columns: int, lines: int) -> None:
        screen = self._screen
        rows = [dict(row) for row in [*screen.history.top, *self._buffer()]]
        at = len(screen.history.top) + screen.cursor.y
        wrapped: list[dict[int, Char]] = []
        cursor = 0
        for index, row in enumerate(rows):
            if index == at:
                cursor = len(wrapped)
            used = max((x for x, cell in row.items() if cell.data.strip()), default=-1) + 1
            wrapped += [
                {x - first: row[x] for x in range(first, min(first + columns, used)) if x in row}
                for first in range(0, max(used, 1), columns)
            ]
        top = max(0, min(len(wrapped) - lines, cursor))
        top = max(top, cursor - lines + 1)
        x = screen.cursor.x
        screen.history.top.clear()
        screen.history.top.extend(_row(screen, row) for row in wrapped[:top])
        screen.resize(lines, columns)
        screen.buffer.clear()
        for y, row in enumerate(wrapped[top : top + lines]):
            screen.buffer[y].update(row)
        screen.cursor.y, screen.cursor.x = cursor - top, min(x, columns - 1)


def _row(screen: Any, cells: dict[int, Char]) -> Any:
    row = type(screen.buffer[0])(screen.default_char)
    row.update(cells)
    return row


def _text(row: Any) -> str:
    cells = [row[x].data if x in row else " " for x in range(max(row, default=-1) + 1)]
    return "".join(cells).rstrip()


def _without_end(rows: list[str]) -> list[str]:
    while rows and not rows[-1]:
        rows.pop()
    return rows


class Tape(io.StringIO):
    """A stream that keeps what is written to it, write by write, and shows it to a terminal."""

    encoding = "utf-8"

    def __init__(self, terminal: Terminal | None = None, now: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__()
        self.terminal = terminal
        self.frames: list[tuple[float, str]] = []
        self._now = now

    def write(self, text: str) -> int:
        self.frames.append((self._now(), text))
        if self.terminal is not None:
            self.terminal.feed(text)
        return len(text)

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.frames)


def check_bytes(text: str) -> None:
    """Nothing but text, styles and the few movements the display is allowed."""
    rest = _ALLOWED.sub("", text)
    assert not rest, f"not allowed on the terminal: {rest[:40]!r}"


def check_region(frames: Iterable[str], height: int) -> None:
    """No frame reaches above the row it began in, and between frames the cursor rests in the region's first row.

    So what is above that row is never touched again, and at most `height` rows are ever redrawn.
    """
    for frame in frames:
        below = 0
        for move in _MOVES.finditer(frame):
            if move[0] == "\r\n":
                below += 1
            elif move[1]:
                below -= int(move[1])
                assert int(move[1]) < height, f"a region of {int(move[1]) + 1} rows on {height} lines"
                assert below >= 0, "redrawn above where the frame began"
            else:
                assert move[0] in ("\x1b[K", "\x1b[J"), f"{move[0]!r} on the main screen"


def check_pace(frames: Iterable[tuple[float, str]], interval_s: float = 0.05) -> None:
    """At most one frame an interval; the last ones, when the turn ends, are at once."""
    times = [at for at, text in frames if "\x1b[?2026h" in text]
    for earlier, later in pairwise(times[:-1]):
        assert later - earlier >= interval_s - 1e-9, f"frames at {earlier} and {later}"


class Stage:
    """A turn on a virtual clock: say what happens, let time pass, look at the terminal."""

    def __init__(self, columns: int = 80, lines: int = 24, **options: Any) -> None:
        self.scheduler = TestScheduler()
        clock = SchedulerClock(self.scheduler)
        self.terminal = Terminal(columns, lines)
        self.tape = Tape(self.terminal, clock.now)
        options.setdefault("look", LIVE)
        self.sink = TerminalSink(self.tape, clock=clock, size=lambda: self.terminal.size, keys=False, **options)
        self.turn: Any = self.sink.open("t")
        accepts = self.sink.accepts or frozenset()
        self._chain = (
            Pipeline(Settings(window_s=0.05, tool_heartbeat_s=0))
            .showing()
            .chain()
            .connect(
                lambda item: self.turn.on_next(item) if type(item) in accepts else None,
                clock,
                lambda action: action(),
            )
        )
        self._message = 0
        self._block = 0

    def push(self, *events: Event) -> None:
        for event in events:
            self._chain.feed(event)

    def wait(self, seconds: float) -> None:
        self.scheduler.advance_by(seconds)

    @property
    def message_id(self) -> str:
        return f"m{self._message}"

    def start_message(self) -> None:
        self._message += 1
        self._block = 0
        self.push(MessageStart(self.message_id))

    def stop_message(self) -> None:
        self.push(MessageStop(self.message_id, "stop"))

    def say(self, pieces: Iterable[str], every_s: float = 0.0, kind: str = "text") -> None:
        """A block of text or thinking, piece by piece."""
        self.push(BlockStart(kind, self._block, self.message_id))  # type: ignore[arg-type]
        make = TextDelta if kind == "text" else ThinkingDelta
        for piece in pieces:
            self.push(make(piece, self._block, self.message_id))
            if every_s:
                self.wait(every_s)
        self.push(BlockStop(self._block, self.message_id))
        self._block += 1

    def call(self, call_id: str, name: str, pieces: Iterable[str], given: Any, every_s: float = 0.0) -> None:
        """A tool call, its arguments piece by piece."""
        self.push(BlockStart("tool", self._block, self.message_id, call_id, name))
        for piece in pieces:
            self.push(ToolInputDelta(piece, self._block, call_id, self.message_id))
            if every_s:
                self.wait(every_s)
        self.push(
            BlockStop(self._block, self.message_id),
            ToolInvocation(call_id, name, given, self._block, self.message_id),
        )
        self._block += 1

    def run(self, call_id: str, progress: str = "") -> None:
        self.push(ToolProgress(call_id, progress, message_id=self.message_id))

    def end(self, call_id: str, output: Any, is_error: bool = False) -> None:
        self.push(ToolCompletion(call_id, output, is_error, message_id=self.message_id))

    def complete(self, message: str | None = None, reason: str = "completed") -> None:
        self.push(TurnCompleted(reason, message))
        self._chain.finish()
        self._chain.release()
        self.turn.close()


def pieces_of(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


SECTION = """## Section {n}

Paragraph {n} with **bold**, `code` and a [link](https://example.com/{n}) and enough words to wrap.
日本語のテキスト {n} 中文 한국어, مرحبا {n}, an emoji 🎉 and é.

- item {n}a with *emphasis*
- item {n}b
  1. nested {n}

```python
def function_{n}(x: int) -> int:
    return x * {n}  # comment {n}
```

| key {n} | value {n} |
|---|---|
| a{n} | b{n} |

> quote {n}

{unbroken}

"""


def answer(sections: int) -> str:
    """A long answer with every kind of block; about 550 characters a section."""
    return "".join(SECTION.format(n=n, unbroken=f"u{n}" * 60) for n in range(sections))
