"""Rows, of which a screen is made: rich's segments, each a piece of text in one style, without a line end."""

from functools import lru_cache
from typing import TypeAlias

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from penstock.sinks.sanitize import sanitize

__all__ = ["Row", "cut_row", "fold_row", "row_of", "style", "text_rows", "width_of"]

Row: TypeAlias = list[Segment]

TAB_SIZE = 4


@lru_cache
def style(definition: str) -> Style:
    """A style by its words, such as `bold cyan`; colours are of the terminal's own palette, to suit its theme."""
    return Style.parse(definition)


def row_of(*pieces: tuple[str, str]) -> Row:
    """A row of pieces of text, each with the words for its style; what the texts hold is made safe."""
    return [Segment(sanitize(text).replace("\n", " "), style(words)) for text, words in pieces if text]


def width_of(row: Row) -> int:
    """How many cells a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def cut_row(row: Row, width: int) -> Row:
    """The row, cut to `width` cells; what was cut off ends in `…`."""
    if width_of(row) <= width:
        return row
    kept: Row = []
    room = width - 1
    for segment in row:
        cells = cell_len(segment.text)
        if cells > room:
            kept.append(Segment(set_cell_size(segment.text, room).rstrip() + "…", segment.style))
            break
        kept.append(segment)
        room -= cells
    return kept


def fold_row(row: Row, width: int) -> list[Row]:
    """The row as one or more rows of at most `width` cells, cut wherever the width ends."""
    if width_of(row) <= width:
        return [row]
    rows: list[Row] = [[]]
    room = width
    for text, words, _ in row:
        while text:
            cells = cell_len(text)
            if cells <= room:
                rows[-1].append(Segment(text, words))
                room -= cells
                break
            head = chop_cells(text, room)[0] if room > 1 else ""
            if head and cell_len(head) <= room:
                rows[-1].append(Segment(head, words))
                text = text[len(head) :]
            elif room == width:  # a character wider than the row: nothing better can be done
                rows[-1].append(Segment(text[0], words))
                text = text[1:]
            rows.append([])
            room = width
    return rows


def text_rows(console: Console, text: Text, width: int) -> list[Row]:
    """The text in rows of at most `width` cells, wrapped between words."""
    lines = text.wrap(console, width, overflow="fold", tab_size=TAB_SIZE)
    rows: list[Row] = []
    for line in lines:
        line.rstrip()
        rows.append([Segment(piece, words) for piece, words, _ in line.render(console)])
    return rows
