"""The status row: what is going on, since when, and how fast."""

from collections import deque

from penstock.messages import Message, TextEntry, ThinkingEntry, ToolEntry
from penstock.sinks.terminal.marks import Marks, clock_time
from penstock.sinks.terminal.rows import Row, cut_row, row_of, width_of

__all__ = ["StatusRow", "phase_of"]

_RATE_WINDOW_S = 3.0


class StatusRow:
    """`⠹ Writing · 12s · 845 chars/s · 1,204 tokens`."""

    def __init__(self, marks: Marks, started_at: float) -> None:
        self._marks = marks
        self._started_at = started_at
        self._samples: deque[tuple[float, int]] = deque([(started_at, 0)])

    def row(self, now: float, phase: str, chars: int, tokens: int, hint: str, width: int) -> Row:
        """The row at a time; `hint` stands at its right end where there is room."""
        said = [clock_time(now - self._started_at)]
        rate = self._chars_per_second(now, chars)
        if rate >= 1:
            said.append(f"{rate:,.0f} chars/s")
        if tokens:
            said.append(f"{tokens:,} tokens")
        separator = f" {self._marks.separator} "
        row = row_of((self._marks.spin(now), "cyan"), (f" {phase}", ""), (separator + separator.join(said), "dim"))
        room = width - width_of(row)
        if hint and room > len(hint) + 2:
            row += row_of((" " * (room - len(hint)) + hint, "dim"))
        return cut_row(row, width)

    def _chars_per_second(self, now: float, chars: int) -> float:
        samples = self._samples
        samples.append((now, chars))
        while len(samples) > 2 and samples[1][0] <= now - _RATE_WINDOW_S:
            samples.popleft()
        (then, before), elapsed = samples[0], now - samples[0][0]
        return (chars - before) / elapsed if elapsed > 0.2 and now > then else 0.0


def phase_of(message: Message | None, running: list[str]) -> str:
    """What the turn is doing, in a word or two, going by the message under way and the tools that run."""
    if message is not None and message.is_streaming and len(message.entries):
        entry = message.entries[-1]
        if entry.is_streaming:
            return f"{_PHASES[type(entry)]} {entry.name}" if isinstance(entry, ToolEntry) else _PHASES[type(entry)]
    if len(running) > 1:
        return f"Running {len(running)} tools"
    return f"Running {running[0]}" if running else "Waiting"


_PHASES: dict[type, str] = {TextEntry: "Writing", ThinkingEntry: "Thinking", ToolEntry: "Calling"}
