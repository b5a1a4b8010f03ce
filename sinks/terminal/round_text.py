"""The text of one round: rows of what is closed, once, and a look at what is still open."""

from rich.console import Console

from penstock.sinks.sanitize import Sanitizer, sanitize
from penstock.sinks.terminal.markdown_blocks import MarkdownBlocks, Part
from penstock.sinks.terminal.markdown_rows import MarkdownRows
from penstock.sinks.terminal.rows import Row

__all__ = ["RoundText"]


class RoundText:
    """`feed` it the text as it grows; `closed` rows are final, `open_rows` are a preview."""

    def __init__(self, console: Console, has_unicode: bool) -> None:
        self._sanitizer = Sanitizer()
        self._blocks = MarkdownBlocks()
        self._markdown = MarkdownRows(console, has_unicode)
        self._preview: list[Row] = []
        self._previewed: object = None
        self._version = 0

    def feed(self, piece: str) -> None:
        """More of the text."""
        self._version += 1
        self._blocks.feed(self._sanitizer.feed(piece))

    def rewrite(self, before: str, after: str) -> bool:
        """The text was `before` and is now `after`; False where what is closed does not stand in it any more."""
        taken = self._blocks.taken_chars
        safe = sanitize(after)
        if not safe.startswith(sanitize(before)[:taken]):
            return False
        self._version += 1
        self._sanitizer = Sanitizer()
        self._blocks.replace_tail(safe[taken:])
        return True

    def closed(self, width: int) -> list[Row]:
        """The rows of what has been closed since the last time."""
        return self._rows(self._blocks.take(), width)

    def finish(self, width: int) -> list[Row]:
        """The text is over: the rows of the rest."""
        self._version += 1
        return self._rows(self._blocks.finish(), width)

    def open_rows(self, width: int, height: int) -> list[Row]:
        """The last `height` rows, at most, of what is still open."""
        if height <= 0:
            return []
        wanted = (self._version, width, height)
        if wanted != self._previewed:
            self._previewed = wanted
            parts = self._blocks.peek(max_chars=width * height)
            self._preview = self._rows(parts, width, is_under_way=True)[-height:]
        return self._preview

    def _rows(self, parts: list[Part], width: int, is_under_way: bool = False) -> list[Row]:
        return [row for part in parts for row in self._markdown.rows(part, width, is_under_way)]
