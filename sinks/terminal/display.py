"""A turn on a terminal: what the state says, shown as rows that stay and a small region that is redrawn."""

import io
from collections.abc import Callable
from typing import Literal, TypeAlias

from rich.console import Console

from penstock.events import StreamError
from penstock.messages import Messages
from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal.marks import ASCII_MARKS, UNICODE_MARKS
from penstock.sinks.terminal.round_text import RoundText
from penstock.sinks.terminal.rows import Row, cut_row, row_of
from penstock.sinks.terminal.state_reader import NewText, Rewritten, RoundOver, StateReader, Thought
from penstock.sinks.terminal.status_row import StatusRow, phase_of
from penstock.sinks.terminal.tool_rows import ToolRows
from penstock.sinks.terminal.transcript import Transcript
from penstock.updates import Completed, ToolBlockUpdate
from penstock.vector import Vector

__all__ = ["Display", "Rounds"]

Rounds: TypeAlias = Literal["keep", "replace", "none"]

_THOUGHT_CHARS = 400
_QUIET_REASONS = frozenset({"", "completed", "error", "end_turn", "stop", "success"})


class Display:
    """Turns what arrives into rows. It knows nothing of time but what it is told, and nothing of the terminal.

    `take_*` take news in; `staying` are the rows that leave the region for good since the last time; `region` is
    what it shows now. What stays, stays: with `rounds="keep"` each block of text as it closes and each tool as it
    ends, in order; with `rounds="replace"` the final message alone, when the turn is over.
    """

    def __init__(self, *, rounds: Rounds, tools: bool, thinking: bool, has_unicode: bool, now: float) -> None:
        self.messages: Messages = Vector()
        self.width = 79
        self.is_over = False
        self.hint = ""
        self.help: list[str] = []
        self.hides_for_text = False
        self._has_text = False
        self._rounds = rounds
        self._shows_tools = tools
        self._shows_thinking = thinking
        self._has_unicode = has_unicode
        self._marks = UNICODE_MARKS if has_unicode else ASCII_MARKS
        # Rich wraps and measures with it; nothing is ever printed to it.
        self._console = Console(file=io.StringIO(), width=80, color_system="standard", force_terminal=True)
        self._reader = StateReader()
        self._transcript = Transcript()
        self._tools = ToolRows(self._marks)
        self._status = StatusRow(self._marks, now)
        self._text: RoundText | None = None
        self._is_new_text = True
        self._is_round_over = False
        self._kept: list[Row] = []
        self._kept_width = 0
        self._thought = ""

    # ── news ─────────────────────────────────────────────────────────────────────────────────────────────

    def take_messages(self, messages: Messages) -> None:
        """The conversation as it is now. Costs nothing until something is to be shown."""
        self.messages = messages

    def hear_tool(self, update: ToolBlockUpdate, now: float) -> None:
        """What will be shown of a tool, maybe later, happened now."""
        self._tools.hear(update, now)

    def take_tool(self, update: ToolBlockUpdate) -> None:
        """A tool started, goes on or ended."""
        if update.stage == "end":
            self._read()
        row = self._tools.update(update, self.width)
        if row is not None and self._shows_tools and self._rounds == "keep":
            self._transcript.add("tool", [row])

    def take_error(self, error: StreamError) -> None:
        """Trouble that broke the stream off."""
        if error.is_fatal and self._rounds != "none":
            self._note(f"{self._marks.failed} {error.code}: {error.message}".rstrip(": "), "red")

    def take_completed(self, completed: Completed) -> None:
        """The turn is over: everything that stays is on its way, the region is empty."""
        if self.is_over:
            return
        self._read()
        self.is_over = True
        if self._rounds == "none":
            return
        shown = self._reader.round_text()
        if self._rounds == "replace":
            self._show_final(completed.message, is_shown=completed.message == shown)
        else:
            self._end_text()
            if completed.message.strip() and completed.message.strip() != shown.strip():
                self._show_final(completed.message, is_shown=False)
        if completed.reason not in _QUIET_REASONS:
            self._note(f"{self._marks.stopped} {completed.reason}", "dim")

    def finish(self) -> None:
        """There is no more: whatever is shown stays."""
        self._read()
        self.take_completed(Completed(self._reader.round_text()))

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────

    def staying(self) -> list[Row]:
        """The rows that stay since the last time."""
        self._read()
        return self._transcript.take()

    def region(self, now: float, height: int) -> list[Row]:
        """What the region shows: at most `height` rows."""
        if self.is_over or height <= 0 or (self.hides_for_text and self._has_text):
            return []
        phase = phase_of(self._reader.message(self.messages), self._tools.running)
        message = self._reader.message(self.messages)
        tokens = message.usage.output_tokens if message is not None and message.usage is not None else 0
        below = [self._status.row(now, phase, self._reader.chars, tokens, self.hint, self.width)]
        below = [*(cut_row(row_of((line, "dim")), self.width) for line in self.help), *below][-height:]
        tools = self._tools.rows(now, self.width, (height - len(below)) // 2) if self._shows_tools else []
        below = tools + below
        if self._shows_thinking and self._thought and len(below) < height:
            line = sanitize(self._thought).rstrip().rpartition("\n")[2].strip()
            below.insert(0, cut_row(row_of((line, "dim italic")), self.width))
        above = self._open_rows(height - len(below) - 1)
        is_apart = bool(above) or self._transcript.has_gap_before("tool" if tools else "note")
        has_gap = is_apart and len(below) < height
        return [*above, *([[]] if has_gap else []), *below]

    def _open_rows(self, height: int) -> list[Row]:
        if self._text is None or height <= 0:
            return []
        rows = self._text.open_rows(self.width, height)
        if self._rounds == "replace":
            return [*self._kept[-height:], *rows][-height:]
        if rows and self._is_new_text and self._transcript.has_gap_before("text", is_new=True):
            rows = [[], *rows]
        return rows[-height:]

    # ── reading the state ────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> None:
        if self.is_over:
            return
        steps: dict[type, Callable[..., None]] = {
            NewText: self._grow,
            Rewritten: self._rewrite,
            RoundOver: self._end_text,
            Thought: self._think,
        }
        for step in self._reader.read(self.messages):
            steps[type(step)](*step)
        if self._text is not None:
            self._show(self._text.closed(self.width))

    def _grow(self, piece: str) -> None:
        self._thought = ""
        self._has_text = True
        if self._rounds == "none":
            return
        if self._text is None or self._is_round_over:
            self._text = self._begin_text()
        self._text.feed(piece)

    def _begin_text(self) -> RoundText:
        self._is_new_text = True
        self._is_round_over = False
        self._kept, self._kept_width = [], self.width
        return RoundText(self._console, self._has_unicode)

    def _rewrite(self, before: str, after: str) -> None:
        if self._rounds == "none":
            return
        if self._text is None or not self._text.rewrite(before, after):
            if self._text is not None and self._rounds == "keep" and not self._is_new_text:
                self._note(f"{self._marks.branch} rewritten:", "dim")
            self._text = self._begin_text()
            self._text.feed(after)

    def _think(self, piece: str) -> None:
        self._thought = (self._thought + piece)[-_THOUGHT_CHARS:]

    def _end_text(self) -> None:
        self._thought = ""
        self._is_round_over = True
        if self._text is not None and self._rounds == "keep":
            self._show(self._text.finish(self.width))
            self._text = None

    def _show(self, rows: list[Row]) -> None:
        if not rows:
            return
        if self._rounds == "replace":
            self._kept += rows
        else:
            self._transcript.add("text", rows, self._is_new_text)
            self._is_new_text = False

    def _show_final(self, message: str, is_shown: bool) -> None:
        """The final message as a whole; where it is what the region shows anyway, its rows are there already."""
        text = self._text
        if not is_shown or text is None or self._kept_width != self.width:
            text = self._begin_text()
            text.feed(message)
        rows = [*self._kept, *text.finish(self.width)] if self._rounds == "replace" else text.finish(self.width)
        self._transcript.add("text", rows, is_new=True)

    def _note(self, line: str, words: str) -> None:
        self._read()
        self._end_text()
        self._transcript.add("note", [cut_row(row_of((line, words)), self.width)])
