"""What stays on the screen, in order, with a blank line wherever something else begins."""

from typing import Literal, TypeAlias

from penstock.sinks.terminal.rows import Row

__all__ = ["Kind", "Transcript"]

Kind: TypeAlias = Literal["text", "tool", "note"]


class Transcript:
    """Collects rows until the next frame takes them."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._last: Kind | None = None

    def add(self, kind: Kind, rows: list[Row], is_new: bool = False) -> None:
        """More rows that stay; `is_new` where they begin another text."""
        if rows:
            if self.has_gap_before(kind, is_new) and rows[0]:
                self._rows.append([])
            self._rows += rows
            self._last = kind

    def has_gap_before(self, kind: Kind, is_new: bool = False) -> bool:
        """Whether a blank line belongs between what stays and what comes next."""
        return self._last is not None and (is_new or kind != self._last)

    def take(self) -> list[Row]:
        """The rows that were added since the last time."""
        rows, self._rows = self._rows, []
        return rows
