"""A row of the markup table, and a table of rows made ready for looking for them."""

from collections.abc import Sequence
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from penstock.operators.tokens import Tokens

__all__ = ["STRAY", "Markup", "MarkupKind", "MarkupTable"]

MarkupKind: TypeAlias = Literal["thinking", "tool", "code", "mark"]


class Markup(NamedTuple):
    """One row: a section of the text and what becomes of it. Openers and closers are written as `tokens`."""

    opener: str
    closers: tuple[str, ...] = ()
    """What ends the section, any of them; a tool call without closers ends where its arguments do."""

    kind: MarkupKind = "thinking"
    """`thinking` and `tool` become blocks of their own, `code` is not for the user; a `mark` stands alone."""

    is_dropped: bool = False
    """Leave the section out, whatever is routed otherwise."""

    only_at_start: bool = False
    """It counts only where visible text begins: words and brackets that mean nothing special elsewhere."""

    ends_thinking: bool = False
    """Inside thinking it ends that too: the model went on without a closer."""


STRAY = Markup("", kind="mark")
"""A closer that closes nothing."""


class MarkupTable:
    """Rows made ready for looking for them."""

    def __init__(self, rows: Sequence[Markup]) -> None:
        self._rows = rows
        anywhere = [row for row in rows if not row.only_at_start]
        self._thinking = [row for row in rows if row.kind == "thinking"]
        self._endings = [(f"▸{row.opener}", STRAY) for row in rows if row.ends_thinking]
        self._closing: dict[Markup, Tokens[Markup]] = {}
        # Closers that begin with white space or a sign have a plainer one beside them.
        strays = [(closer, STRAY) for row in anywhere for closer in row.closers if closer[0] in "<[]"]
        self.visible: Tokens[Markup] = Tokens([*((row.opener, row) for row in anywhere), *strays])
        """What counts anywhere in visible text."""
        self.opening = self.visible
        """What counts where visible text begins."""
        if len(anywhere) < len(rows):
            self.opening = Tokens([*((row.opener, row) for row in rows), *strays])

    def closing(self, row: Markup) -> Tokens[Markup]:
        """What ends a section of `row`."""
        tokens = self._closing.get(row)
        if tokens is None:
            endings = self._endings if row.kind == "thinking" else []
            tokens = self._closing[row] = Tokens([*((closer, row) for closer in row.closers), *endings])
        return tokens

    @cached_property
    def implied(self) -> Tokens[Markup]:
        """What ends thinking that the prompt opened …"""
        closers = [(closer, row) for row in self._thinking for closer in row.closers]
        return Tokens([*closers, *self._endings])

    @cached_property
    def implied_opening(self) -> Tokens[Markup]:
        """… and, where it begins, the opener that the model wrote all the same, as a mark."""
        closers = [(closer, row) for row in self._thinking for closer in row.closers]
        openers = [(row.opener, row._replace(kind="mark")) for row in self._thinking]
        return Tokens([*closers, *openers, *self._endings])
