"""Tables."""

from collections.abc import Iterable
from itertools import zip_longest

from markdown_it.token import Token
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from penstock.sinks.terminal.inline import inline_text
from penstock.sinks.terminal.rows import Row, style, text_rows, width_of

__all__ = ["table_rows"]

_LEAST_COLUMN = 6
_BETWEEN = 3


def table_rows(console: Console, tokens: Iterable[Token], width: int, rule: str) -> list[Row]:
    """The rows of a table from the tokens inside it; where its columns have no room, one line a cell instead."""
    cells: list[list[Text]] = []
    alignments: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            cells.append([])
        elif token.type == "th_open":
            alignments.append(str(token.attrGet("style") or "").removeprefix("text-align:"))
        elif token.type == "inline":
            cells[-1].append(inline_text(token.content))
    if len(alignments) * _LEAST_COLUMN > width:
        return _stacked(console, cells, width)
    for header in cells[0]:
        header.stylize_before(style("bold"))
    widths = _widths(cells, width - 1 - _BETWEEN * (len(alignments) - 1))
    rows: list[Row] = []
    for line in cells:
        columns = [text_rows(console, cell, room) for cell, room in zip(line, widths, strict=False)]
        rows += [_joined(parts, widths, alignments) for parts in zip_longest(*columns, fillvalue=[])]
        if line is cells[0]:
            rows.append([Segment(" " + rule * (sum(widths) + _BETWEEN * (len(widths) - 1)), style("dim"))])
    return rows


def _widths(cells: list[list[Text]], room: int) -> list[int]:
    """How wide each column is: as it would like to be or, where there is no room for that, its share."""
    wishes = [
        max(max(map(cell_len, cell.plain.split("\n"))) for cell in column) for column in zip(*cells, strict=False)
    ]
    widths = [0] * len(wishes)
    left = sorted(range(len(wishes)), key=wishes.__getitem__)
    while left:
        column = left.pop(0)
        widths[column] = max(1, min(wishes[column], room // (len(left) + 1)))
        room -= widths[column]
    return widths


def _joined(parts: Iterable[Row], widths: list[int], alignments: list[str]) -> Row:
    row: Row = []
    blank = 1
    for part, width, alignment in zip(parts, widths, alignments, strict=False):
        free = width - width_of(part)
        before = free if alignment == "right" else free // 2 if alignment == "center" else 0
        if part:
            row += [Segment(" " * (blank + before)), *part]
            blank = 0
        blank += (free - before if part else width) + _BETWEEN
    return row


def _stacked(console: Console, cells: list[list[Text]], width: int) -> list[Row]:
    rows: list[Row] = []
    for line in cells[1:]:
        if rows:
            rows.append([])
        for header, cell in zip(cells[0], line, strict=False):
            rows += text_rows(console, Text.assemble((header.plain, style("bold")), ": ", cell), width)
    return rows
