"""Parts of Markdown as rows: each part by itself, so that showing them one by one is showing them all at once."""

from collections.abc import Callable, Iterator

from markdown_it.token import Token
from rich.console import Console
from rich.segment import Segment

from penstock.sinks.terminal.code_rows import CodeRows
from penstock.sinks.terminal.inline import inline_text
from penstock.sinks.terminal.markdown_blocks import MAX_NESTING, Block, CodeLines, Part
from penstock.sinks.terminal.rows import Row, fold_row, row_of, style, text_rows
from penstock.sinks.terminal.table_rows import table_rows

__all__ = ["MarkdownRows"]

_CODE_INDENT = 2
_HEADINGS = {"h1": "bold underline", "h2": "bold", "h3": "bold italic"}


class MarkdownRows:
    """Makes the rows of one text's parts, in order. `console` is for rich's measuring and wrapping alone."""

    def __init__(self, console: Console, has_unicode: bool = True) -> None:
        self._console = console
        self._bullets = "•◦▪" if has_unicode else "***"
        self._bar = "▌ " if has_unicode else "| "
        self._rule = "─" if has_unicode else "-"
        self._boxes = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "} if has_unicode else {}
        self._code = CodeRows("")
        self._makers: dict[str, Callable[[_Reader, Token, int], list[Row]]] = {
            "paragraph_open": self._paragraph,
            "heading_open": self._heading,
            "list_item_open": self._item,
            "bullet_list_open": self._blocks,
            "ordered_list_open": self._blocks,
            "blockquote_open": self._quote,
            "table_open": self._table,
            "fence": self._nested_code,
            "code_block": self._nested_code,
            "hr": self._horizontal_rule,
        }

    def rows(self, part: Part, width: int, is_under_way: bool = False) -> list[Row]:
        """The rows of a part, the blank one before it included; `is_under_way` for a look at what is not closed."""
        if isinstance(part, CodeLines):
            if part.is_start:
                self._code = CodeRows(part.language)
            rows = self._code_rows(self._code, part.lines, width, is_under_way)
        elif any(token.level >= MAX_NESTING - 1 for token in part.tokens):
            rows = [row for line in part.lines for row in fold_row(row_of((line, "")), width)]
        else:
            reader = _Reader(part)
            rows = self._next(reader, width)
        return [[], *rows] if part.has_gap and rows else rows

    # ── one method a kind of block; each reads its tokens from the opening to the closing one ─────────────

    def _next(self, reader: "_Reader", width: int) -> list[Row]:
        token = reader.take()
        return self._makers[token.type](reader, token, max(width, 1))

    def _blocks(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        """What stands between an opening token and its closing one, with the blank lines it was written with."""
        rows: list[Row] = []
        while not reader.at_close():
            if rows and reader.has_gap():
                rows.append([])
            rows += self._next(reader, width)
        reader.take()
        return rows

    def _paragraph(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        return text_rows(self._console, inline_text(reader.take_inline()), width)

    def _heading(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        text = inline_text(reader.take_inline())
        text.stylize_before(style(_HEADINGS.get(opening.tag, "italic")))
        return text_rows(self._console, text, width)

    def _item(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        mark = f"{opening.info}{opening.markup} " if opening.info else f"{self._bullets[opening.level // 2 % 3]} "
        box = self._boxes.get(reader.text()[:4])
        if box and not opening.info:
            mark = box
            reader.skip(4)
        rows = self._blocks(reader, opening, width - len(mark))
        first = Segment(mark, style("cyan"))
        rest = Segment(" " * len(mark))
        return [[first, *row] if at == 0 else [rest, *row] if row else row for at, row in enumerate(rows or [[]])]

    def _quote(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        bar = Segment(self._bar, style("dim cyan"))
        return [[bar, *row] for row in self._blocks(reader, opening, width - len(self._bar))]

    def _table(self, reader: "_Reader", opening: Token, width: int) -> list[Row]:
        return table_rows(self._console, reader.take_to_close(), width, self._rule)

    def _nested_code(self, reader: "_Reader", token: Token, width: int) -> list[Row]:
        words = token.info.split()
        code = CodeRows(words[0].lower() if words else "")
        return self._code_rows(code, token.content.split("\n")[:-1], width)

    def _code_rows(self, code: CodeRows, lines: list[str], width: int, is_under_way: bool = False) -> list[Row]:
        indent = Segment(" " * _CODE_INDENT)
        rows = (row for line in lines for row in code.rows(line, max(width - _CODE_INDENT, 1), is_under_way))
        return [[indent, *row] if row else row for row in rows]

    def _horizontal_rule(self, reader: "_Reader", token: Token, width: int) -> list[Row]:
        return [row_of((self._rule * width, "dim"))]


class _Reader:
    """Walks over the tokens of a block."""

    def __init__(self, block: Block) -> None:
        self._tokens = block.tokens
        self._lines = block.lines
        self._first_line = block.first_line
        self._at = 0
        self._skipped = 0

    def take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def take_inline(self) -> str:
        """The content of a block of text, up to and with its closing token."""
        self._at += 2
        skipped, self._skipped = self._skipped, 0
        return self._tokens[self._at - 2].content[skipped:]

    def take_to_close(self) -> Iterator[Token]:
        """The tokens up to the one that closes what was opened last, without it."""
        level = self._tokens[self._at - 1].level
        while self._tokens[self._at].level > level:
            yield self.take()
        self.take()

    def at_close(self) -> bool:
        return self._tokens[self._at].nesting < 0

    def has_gap(self) -> bool:
        """Whether the next block is written with a blank line before it."""
        token = self._tokens[self._at]
        line = token.map[0] - self._first_line - 1 if token.map else -1
        return line >= 0 and not self._lines[line].strip(" \t>")

    def text(self) -> str:
        """The text with which the next block begins, where it is one of text."""
        token = self._tokens[self._at]
        return self._tokens[self._at + 1].content if token.type == "paragraph_open" else ""

    def skip(self, count: int) -> None:
        """Leave out the first characters of that text."""
        self._skipped = count
