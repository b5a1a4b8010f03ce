"""Tools as rows: one line each, and below a call that writes a file the end of what it has written so far."""

from penstock.growing import TextView
from penstock.partial_json import PartialJson
from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal.marks import Marks, clock_time
from penstock.sinks.terminal.rows import TAB_SIZE, Row, cut_row, row_of, width_of
from penstock.updates import ToolBlockUpdate

__all__ = ["ToolRows"]

_TAIL_LINES = 5
_TAIL_CHARS = 2000
_WRITTEN = (
    "content", "contents", "file_text", "fileText", "new_source", "code_edit", "new_string", "new_str", "newText",
    "patch", "diff",
)  # fmt: skip


class ToolRows:
    """The tools of a turn: those that run, and the row each leaves behind when it ends."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._running: dict[tuple[str, str], _Tool] = {}
        self._started_at: dict[tuple[str, str], float] = {}
        self._ended_at: dict[tuple[str, str], float] = {}

    @property
    def running(self) -> list[str]:
        """The names of the main conversation's tools that have not ended."""
        return [tool.latest.name for (parent, _), tool in self._running.items() if not parent]

    def hear(self, update: ToolBlockUpdate, now: float) -> None:
        """An update arrived; it may be some time until it is shown."""
        key = (update.parent_call_id, update.id)
        self._started_at.setdefault(key, now)
        if update.stage == "end":
            self._ended_at[key] = now

    def update(self, update: ToolBlockUpdate, width: int) -> Row | None:
        """Show an update; the row that stays, where it ends a tool of the main conversation."""
        key = (update.parent_call_id, update.id)
        tool = self._running.get(key)
        if tool is None:
            tool = self._running[key] = _Tool(update, self._started_at[key])
        tool.take(update)
        if update.stage != "end":
            return None
        del self._running[key]
        parent = self._parent_of(update)
        if parent is not None:
            parent.calls += 1
        lasted_s = self._ended_at.pop(key) - self._started_at.pop(key)
        return None if update.parent_call_id else self._ended_row(tool, lasted_s, width)

    def rows(self, now: float, width: int, height: int) -> list[Row]:
        """The rows of what runs, at most `height`, the newest kept."""
        rows: list[Row] = []
        for (parent, _), tool in self._running.items():
            if not parent:
                rows.append(self._running_row(tool, now, width, ""))
                rows += tool.tail(width, self._marks)
                branch = f"  {self._marks.branch} "
                rows += [
                    self._running_row(inner, now, width, branch)
                    for (of, _), inner in self._running.items()
                    if of and of == tool.latest.id
                ]
        if len(rows) > height > 0:
            hidden = len(rows) - height + 1
            rows = [row_of((f"… {hidden} more", "dim")), *rows[hidden:]]
        return rows[:height] if height > 0 else []

    def _parent_of(self, update: ToolBlockUpdate) -> "_Tool | None":
        return self._running.get(("", update.parent_call_id)) if update.parent_call_id else None

    def _running_row(self, tool: "_Tool", now: float, width: int, branch: str) -> Row:
        latest = tool.latest
        mark = [(branch, "dim"), (self._marks.spin(now), "cyan"), (f" {latest.name}", "bold")]
        end = [(f" {self._marks.separator} {clock_time(now - tool.started_at)}", "dim")]
        if tool.calls:
            end.append((f" {self._marks.separator} {tool.calls} calls", "dim"))
        if latest.short_result:
            end.append((f" {self._marks.separator} {latest.short_result}", "dim italic"))
        return _fitted(mark, latest.compact_params, end, width)

    def _ended_row(self, tool: "_Tool", lasted_s: float, width: int) -> Row:
        latest = tool.latest
        mark = (self._marks.done, "green") if latest.success else (self._marks.failed, "red")
        said = latest.short_result if latest.success else latest.error or latest.short_result
        end = [(f" {self._marks.separator} {clock_time(lasted_s)}", "dim")]
        if tool.calls:
            end.append((f" {self._marks.separator} {tool.calls} calls", "dim"))
        if said:
            end.append((f" {self._marks.separator} {said}", "dim" if latest.success else "red"))
        return _fitted([mark, (f" {latest.name}", "bold")], latest.compact_params, end, width)


class _Tool:
    """A call that has not ended."""

    def __init__(self, update: ToolBlockUpdate, now: float) -> None:
        self.latest = update
        self.started_at = now
        self.calls = 0
        """How many calls its subagent has ended."""
        self._arguments = TextView.of("")
        self._reader = PartialJson()
        self._written = ""
        for name in _WRITTEN:
            self._reader.follow((name,), self._write)

    def take(self, update: ToolBlockUpdate) -> None:
        self.latest = update
        piece = update.accumulated.after(self._arguments)
        if piece is not None:
            self._arguments = update.accumulated
            self._reader.feed(piece)

    def _write(self, piece: str) -> None:
        self._written = (self._written + piece)[-_TAIL_CHARS:]

    def tail(self, width: int, marks: Marks) -> list[Row]:
        """The last lines of the file being written; none once it is written."""
        if self.latest.stage not in ("start", "streaming") or "\n" not in self._written:
            return []
        lines = sanitize(self._written).expandtabs(TAB_SIZE).split("\n")[-_TAIL_LINES:]
        return [cut_row(row_of((f"  {marks.bar} ", "dim cyan"), (line, "dim")), width) for line in lines]


def _fitted(mark: list[tuple[str, str]], parameters: str, end: list[tuple[str, str]], width: int) -> Row:
    """One row: the beginning whole, the end cut to half the width, the parameters to what is left."""
    first = row_of(*mark)
    last = cut_row(row_of(*end), max(width // 2, width - width_of(first) - len(parameters) - 2))
    room = width - width_of(first) - width_of(last) - 2
    middle = cut_row(row_of((f"  {parameters}", "")), room + 2) if parameters and room > 3 else []
    return cut_row([*first, *middle, *last], width)
