"""How markup is read out of one text block: visible text, then a section, then visible text again."""

import re
from collections.abc import Sequence

from penstock.operators.call_bodies import ToolSection
from penstock.operators.calls import Calls
from penstock.operators.cursor import Cursor, Reading
from penstock.operators.markdown_code import MarkdownCode
from penstock.operators.markup import Markup, MarkupKind, MarkupTable
from penstock.operators.source_block import SourceBlock, turns_of
from penstock.operators.tokens import Hit

__all__ = ["TagRules"]

_BLANK = re.compile(r"\s{0,64}")
_LONGEST_BLANK = 64


class _Look:
    """Characters to look for: in a whole text, and in a piece that is expected to have none of them."""

    def __init__(self, characters: str) -> None:
        self.search = re.compile(f"[{re.escape(characters)}]" if characters else "(?!)").search
        self.turns = turns_of(characters)


class TagRules:
    """The options, resolved once for all subscriptions."""

    def __init__(
        self, table: MarkupTable, drop: Sequence[MarkupKind], implicit_open: bool, keep_in_code: bool
    ) -> None:
        self.table = table
        self.drop = frozenset(drop)
        self.implicit_open = implicit_open
        self.keep_in_code = keep_in_code
        outside = table.visible.firsts + ("`" if keep_in_code else "")
        self.looks = {"": _Look(outside), "`": _Look("`"), "`\n": _Look("`\n")}
        """What to look for in visible text, by what ends the code it is in."""
        self._sections: dict[tuple[str, ...], ToolSection] = {}

    def section(self, row: Markup) -> ToolSection:
        section = self._sections.get(row.closers)
        if section is None:
            section = self._sections[row.closers] = ToolSection(row.closers)
        return section

    def drops(self, row: Markup) -> bool:
        return row.is_dropped or row.kind in self.drop

    def read(self, cursor: Cursor, block: SourceBlock) -> Reading[None]:
        return _Router(self, cursor, block).read()


class _Router:
    """Reads one text block: visible text, then a section, then visible text again."""

    def __init__(self, rules: TagRules, cursor: Cursor, block: SourceBlock) -> None:
        self.rules = rules
        self.cursor = cursor
        self.block = block
        self.is_after_call = False

    def read(self) -> Reading[None]:
        rules, block = self.rules, self.block
        if rules.implicit_open and block.is_first:
            yield from self._read_thinking(None)
        while True:
            hit = yield from self._read_visible()
            if hit is None or hit.label is None:
                return
            row = hit.label
            if row.kind == "thinking":
                yield from self._read_thinking(row)
            elif row.kind == "tool":
                calls = Calls(None if rules.drops(row) else block)
                self.is_after_call = yield from rules.section(row).read(self.cursor, calls, hit.name)
            else:
                yield from self._read_code(row)

    # ── visible text ─────────────────────────────────────────────────────────────────────────────────────

    def _read_visible(self) -> Reading[Hit[Markup] | None]:
        """Pass on visible text up to the next section, and go in behind its opener; None at the end."""
        hit = yield from self._read_opening()
        if hit is not None:
            return hit
        cursor, block = self.cursor, self.block
        block.said = ""
        code = MarkdownCode()
        while True:
            hit, at = self._scan(code)
            text, start = cursor.text, cursor.pos
            cursor.pos = at
            if at > start:
                self._say(text[start:at])
            if hit is not None and hit.label is not None:
                cursor.pos = hit.end
                if hit.label.kind != "mark":
                    return hit
                hit = yield from self._read_opening()
                if hit is not None:
                    return hit
            elif cursor.ended:
                return None
            else:
                if at == len(text):
                    block.rest(self.rules.looks[code.ends_at].turns)
                yield

    def _scan(self, code: MarkdownCode) -> tuple[Hit[Markup] | None, int]:
        """The next token outside code, and how far the text is visible before it."""
        cursor = self.cursor
        text, pos, ended = cursor.text, cursor.pos, cursor.ended
        tokens, looks = self.rules.table.visible, self.rules.looks
        ticked = -1
        while True:
            found = looks[code.ends_at].search(text, pos)
            if found is None:
                return None, len(text)
            at = found.start()
            if text[at] == "`":
                is_line_start = self._is_line_start(text, at, ticked)
                pos = code.ticks(text, at, ended, is_line_start)
                if pos < 0:
                    return None, at
                ticked = pos
            elif code.ends_at:
                code.line_end()
                pos = at
            else:
                hit = tokens.match(text, at, ended)
                if hit is not None:
                    return hit, at
                pos = at + 1

    def _is_line_start(self, text: str, at: int, ticked: int) -> bool:
        """Whether only white space stands before `at` on its line; `ticked` is the end of the last backticks."""
        since = self.cursor.pos if ticked < 0 else ticked
        line = text.rfind("\n", since, at)
        if line >= 0:
            return not text[line:at].strip()
        if ticked >= 0 or text[since:at].strip():
            return False
        said = self.block.said
        return not said[said.rfind("\n") + 1 :].strip()

    def _say(self, piece: str) -> None:
        self.block.text(piece)
        if not piece.isspace():
            self.block.said = piece
        elif "\n" in piece:
            self.block.said = "\n"

    def _read_opening(self) -> Reading[Hit[Markup] | None]:
        """Where visible text begins: markup that counts only here, and white space that belongs to a tool call.

        White space alone between a call and other markup before or after it, or between a call and the end, is
        not text. It is held back until what follows it is known, as long as it is short.
        """
        cursor = self.cursor
        while True:
            text, pos = cursor.text, cursor.pos
            blank = _BLANK.match(text, pos)
            at = pos if blank is None else blank.end()
            hit: Hit[Markup] | None = None
            if at < len(text):
                hit = self.rules.table.opening.match(text, at, cursor.ended)
            elif cursor.ended:
                if self.is_after_call:
                    cursor.pos = at
                return None
            if hit is None and (at < len(text) or at - pos == _LONGEST_BLANK):
                return None
            if hit is not None and hit.label is not None:
                row = hit.label
                if row.kind == "tool" or row.only_at_start or self.is_after_call:
                    cursor.pos = hit.end
                    if row.kind != "mark":
                        return hit
                    continue
                return None
            yield

    # ── sections ─────────────────────────────────────────────────────────────────────────────────────────

    def _read_thinking(self, row: Markup | None) -> Reading[None]:
        """Thinking up to its closer, or to a tool call that ends it; without a row, the prompt opened it."""
        cursor, block, rules = self.cursor, self.block, self.rules
        self.is_after_call = False
        if (yield from self._is_empty(row)):
            return
        tokens = rules.table.implied if row is None else rules.table.closing(row)
        is_dropped = "thinking" in rules.drop or (row is not None and row.is_dropped)
        while True:
            text, start = cursor.text, cursor.pos
            hit = tokens.search(text, start, cursor.ended)
            cursor.pos = len(text) if hit is None else hit.start
            if not is_dropped:
                block.thinking(text[start : cursor.pos])
            if hit is not None and hit.label is not None:
                cursor.pos = hit.end
                break
            if cursor.ended:
                opener = "the prompt" if row is None else row.opener
                block.error("unclosed_thinking", f"thinking opened by {opener} was never closed")
                break
            if hit is None and not is_dropped:
                block.rest(turns_of(tokens.firsts))
            yield
        block.end("thinking")

    def _is_empty(self, row: Markup | None) -> Reading[bool]:
        """Whether a thinking section holds nothing but (a little) white space; it is left out then."""
        cursor, table = self.cursor, self.rules.table
        tokens = table.implied_opening if row is None else table.closing(row)
        while True:
            text, pos = cursor.text, cursor.pos
            blank = _BLANK.match(text, pos)
            at = pos if blank is None else blank.end()
            hit = tokens.match(text, at, cursor.ended) if at < len(text) else None
            if hit is not None and hit.label is not None:
                cursor.pos = hit.end
                if hit.label.kind != "mark" or not hit.label.opener:
                    return True
                tokens = table.implied
                continue
            if hit is None and (at < len(text) or at - pos == _LONGEST_BLANK):
                return False
            if cursor.ended:
                cursor.pos = len(text)
                return True
            yield

    def _read_code(self, row: Markup) -> Reading[None]:
        """A section that is not for the user, up to its closer."""
        cursor = self.cursor
        tokens = self.rules.table.closing(row)
        is_dropped = self.rules.drops(row)
        self.is_after_call = False
        while True:
            text, start = cursor.text, cursor.pos
            hit = tokens.search(text, start, cursor.ended)
            cursor.pos = len(text) if hit is None else hit.start
            if not is_dropped:
                self.block.text(text[start : cursor.pos])
            if hit is not None and hit.label is not None:
                cursor.pos = hit.end
                return
            if cursor.ended:
                return
            yield
