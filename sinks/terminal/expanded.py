"""The expanded view: a snapshot in full, with every parameter and result, to scroll through in peace."""

import io
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import orjson
from rich.console import Console
from rich.text import Text

from penstock.messages import Entry, Messages, TextEntry, ThinkingEntry, ToolEntry
from penstock.partial_json import extract_streaming_params
from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal.marks import Marks
from penstock.sinks.terminal.round_text import RoundText
from penstock.sinks.terminal.rows import TAB_SIZE, Row, cut_row, fold_row, row_of, style, text_rows
from penstock.tool_results import text_of

__all__ = ["Expanded"]

_PAGES = {"page-up": 1.0, "b": 1.0, "half-up": 0.5, "half-down": -0.5, "page-down": -1.0, "space": -1.0}
_LINES = {"up": 1, "k": 1, "down": -1, "j": -1, "enter": -1}
_EVERYTHING = 1 << 60


class Expanded:
    """Shows the end of a snapshot first; what lies above it is made into rows when somebody scrolls there."""

    def __init__(self, messages: Messages, *, thinking: bool, has_unicode: bool, marks: Marks) -> None:
        self._messages = messages
        self._shows_thinking = thinking
        self._has_unicode = has_unicode
        self._marks = marks
        self._console = Console(file=io.StringIO(), width=80, color_system="standard", force_terminal=True)
        self._from_end = 0
        self._wrap(80)

    def screen(self, width: int, height: int) -> list[Row]:
        """As many rows as the screen has lines; the last one says where one is and which keys there are."""
        if width != self._width:
            self._wrap(width)
        body = max(height - 1, 1)
        self._make(self._from_end + body)
        self._from_end = max(0, min(self._from_end, len(self._made) - body))
        shown = self._made[self._from_end : self._from_end + body][::-1]
        return [*shown, *([[]] * (body - len(shown))), self._bottom(width)]

    def press(self, key: str, height: int) -> None:
        """A key that scrolls; others do nothing."""
        if key in _PAGES:
            self._from_end += int(_PAGES[key] * max(height - 2, 1))
        elif key in _LINES:
            self._from_end += _LINES[key]
        elif key in ("g", "home"):
            self._make(_EVERYTHING)
            self._from_end = len(self._made)
        elif key in ("G", "end"):
            self._from_end = 0
        self._from_end = max(0, self._from_end)

    def _bottom(self, width: int) -> Row:
        arrows = "↑↓" if self._has_unicode else "j k"
        separator = f" {self._marks.separator} "
        place = f"{self._from_end} rows below" if self._from_end else "end"
        bar = separator.join([" expanded, frozen", place, f"{arrows} PgUp PgDn g G", "ctrl-o live "])
        return cut_row(row_of((bar.ljust(width), "reverse")), width)

    def _wrap(self, width: int) -> None:
        self._width = width
        self._made: list[Row] = []
        """The rows that have been made, the last one first."""
        self._sections = self._newest_first()

    def _make(self, count: int) -> None:
        while len(self._made) < count:
            section = next(self._sections, None)
            if section is None:
                break
            self._made += reversed(section)

    def _newest_first(self) -> Iterator[list[Row]]:
        for message in reversed(self._messages):
            indent = 2 if message.parent_call_id else 0
            for entry in reversed(message.entries):
                rows = self._entry(entry, self._width - indent)
                if rows:
                    yield [*([*row_of((" " * indent, "")), *row] if row else row for row in rows), []]

    def _entry(self, entry: Entry, width: int) -> list[Row]:
        if isinstance(entry, TextEntry):
            text = RoundText(self._console, self._has_unicode)
            text.feed(entry.text)
            return text.finish(width)
        if isinstance(entry, ToolEntry):
            return self._tool(entry, width)
        if isinstance(entry, ThinkingEntry) and self._shows_thinking:
            thought = Text(sanitize(entry.text).strip(), style("dim italic"))
            return text_rows(self._console, thought, width)
        return []

    def _tool(self, entry: ToolEntry, width: int) -> list[Row]:
        if entry.is_done:
            mark = (self._marks.failed, "red") if entry.is_error else (self._marks.done, "green")
        else:
            mark = (self._marks.failed, "red") if entry.stage == "end" else (self._marks.spinner[0], "cyan")
        rows = [cut_row(row_of(mark, (f" {entry.name}", "bold"), (f"  {entry.compact_params}", "dim")), width)]
        given = entry.input if entry.input is not None else extract_streaming_params(str(entry.arguments))
        rows += _lines("\n".join(_named(given)) if isinstance(given, dict) else str(entry.arguments), width)
        output = text_of(entry.output).rstrip("\n") if entry.is_done else ""
        if output:
            rows.append(row_of((f"  {self._marks.branch} result", "dim")))
            rows += _lines(output, width)
        return rows


def _named(parameters: dict[str, Any]) -> Iterator[str]:
    """Each parameter with its whole value; text of several lines stands below its name, as it is."""
    for name, value in parameters.items():
        if not isinstance(value, str):
            value = _json(value)
        yield f"{name}:\n{indent(value, '  ')}" if "\n" in value else f"{name}: {value}"


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # too deep, or an integer too large
        return str(value)


def _lines(text: str, width: int) -> list[Row]:
    rows: list[Row] = []
    for line in sanitize(text).expandtabs(TAB_SIZE).split("\n") if text else ():
        rows += fold_row(row_of((f"  {line}", "")), width)
    return rows
