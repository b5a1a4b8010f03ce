"""Tables."""

from collections.abc import Iterable

from markdown_it.token import Token
from rich import box
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from penstock.sinks.terminal.inline import inline_text
from penstock.sinks.terminal.rows import Row, style, text_rows

__all__ = ["table_rows"]

_ALIGNMENTS = {"text-align:left": "left", "text-align:center": "center", "text-align:right": "right"}
_LEAST_COLUMN = 6


def table_rows(console: Console, tokens: Iterable[Token], width: int) -> list[Row]:
    """The rows of a table from the tokens inside it; where its columns have no room, one line a cell instead."""
    cells: list[list[Text]] = []
    alignments: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            cells.append([])
        elif token.type == "th_open":
            alignments.append(_ALIGNMENTS.get(str(token.attrGet("style")), "left"))
        elif token.type == "inline":
            cells[-1].append(inline_text(token.content))
    if len(alignments) * _LEAST_COLUMN > width:
        return _stacked(console, cells, width)
    table = Table(
        box=box.SIMPLE_HEAD, border_style=style("dim"), header_style=style("bold"), padding=(0, 1), pad_edge=False
    )
    for header, alignment in zip(cells[0], alignments, strict=True):
        table.add_column(header, justify=alignment, overflow="fold")  # type: ignore[arg-type]
    for row in cells[1:]:
        table.add_row(*row)
    lines = console.render_lines(table, console.options.update(width=width), pad=False)
    return [_trimmed(line) for line in lines if any(segment.text.strip() for segment in line)]


def _stacked(console: Console, cells: list[list[Text]], width: int) -> list[Row]:
    rows: list[Row] = []
    for row in cells[1:]:
        if rows:
            rows.append([])
        for header, cell in zip(cells[0], row, strict=False):
            rows += text_rows(console, Text.assemble((header.plain, style("bold")), ": ", cell), width)
    return rows


def _trimmed(row: Row) -> Row:
    """A row without the spaces it ends in."""
    while row and not row[-1].text.strip():
        row = row[:-1]
    return [*row[:-1], Segment(row[-1].text.rstrip(), row[-1].style)] if row else row
