"""Growing Markdown, cut into blocks that never change again and a tail that still may.

Markdown is line-structured: whatever comes next can only extend the last block or begin another. So every block but
the last is closed, and of the last we know for some kinds when it is over. What is closed is handed out once and
forgotten; only the tail is parsed again. Two kinds of block are handed out in parts, because they may be long and
are read from the top: fenced code by the line, lists by the item.

Differences to CommonMark, each because a terminal can not change what it has shown:

* Reference links and their definitions are shown as they are written: a definition may follow its use at any
  distance.
* HTML is shown as it is written.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["MAX_NESTING", "Block", "CodeLines", "MarkdownBlocks", "Part"]

MAX_NESTING = 60
"""What is nested deeper is left out by the parser."""

_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_parser.enable("table").disable(["reference", "inline", "text_join"])

_SMALL_TAIL_CHARS = 4096


class Block(NamedTuple):
    """A block, or an item of a list, that does not change any more."""

    tokens: list[Token]
    lines: list[str]
    first_line: int
    """What the tokens' maps call the first of these lines."""
    has_gap: bool
    """Whether a blank line stands before it."""


class CodeLines(NamedTuple):
    """Lines of a fenced code block, without the fences."""

    language: str
    lines: list[str]
    is_start: bool
    has_gap: bool


Part: TypeAlias = Block | CodeLines


class MarkdownBlocks:
    """`feed` it text, `take` what is closed, and at the end `finish` for the rest.

    However the text is cut, and whenever `take` is called, the parts are the same in the end. The cost is linear: a
    long tail that stays open is parsed again only after it has grown by half.
    """

    def __init__(self) -> None:
        self.taken_chars = 0
        """How much of the text has been handed out."""
        self._lines: list[str] = []
        self._chars = 0
        self._line: list[str] = []
        self._fence: _Fence | None = None
        self._is_first = True
        self._ends_blank = False
        self._has_news = False
        self._parse_at = 0

    def feed(self, text: str) -> None:
        """More of the text."""
        before, line_feed, rest = text.rpartition("\n")
        if line_feed:
            lines = "".join([*self._line, before]).split("\n")
            self._lines += lines
            self._chars += sum(map(len, lines)) + len(lines)
            self._line = []
            self._has_news = True
        if rest:
            self._line.append(rest)

    def replace_tail(self, text: str) -> None:
        """Other text takes the place of everything that has not been handed out."""
        self._lines, self._chars, self._line, self._parse_at = [], 0, [], 0
        self.feed(text)

    def take(self) -> list[Part]:
        """What has been closed since the last time."""
        parts: list[Part] = []
        if self._has_news:
            self._has_news = False
            if self._fence is None and self._chars >= self._parse_at:
                self._take_blocks(parts)
            while self._fence is not None and self._take_code(self._fence, parts):
                self._take_blocks(parts)
        return parts

    def finish(self) -> list[Part]:
        """The text is over: everything that is left."""
        if self._line:
            self.feed("\n")
        self._has_news, self._parse_at = True, 0
        parts = self.take()
        if self._fence is None:
            parts += self._parts(list(_spans(self._lines)))
        self._lines, self._chars, self._fence = [], 0, None
        return parts

    def peek(self, max_chars: int) -> list[Part]:
        """The rest as it would be if the text ended here; of a long one, about the last `max_chars`."""
        line = "".join(self._line[-max_chars:])[-max_chars:]
        if self._fence is not None:
            return self._fence.peek(line)
        chars, first = len(line), len(self._lines)
        while first > 0 and chars < max_chars:
            first -= 1
            chars += len(self._lines[first])
        ahead = MarkdownBlocks()
        if first == 0:
            ahead._is_first, ahead._ends_blank = self._is_first, self._ends_blank
        ahead._lines = self._lines[first:]
        if not _may_underline(line):
            ahead._lines.append(_with_ends(line))
        return ahead.finish()

    def _take_blocks(self, parts: list[Part]) -> None:
        spans = list(_spans(self._lines))
        if not spans:
            return
        last = spans[-1]
        if last.kind == "fence":
            parts += self._parts(spans[:-1])
            self._open_fence(last)
        elif last.is_closed(len(self._lines)):
            parts += self._parts(spans)
            self._cut(last.end)
        else:
            parts += self._parts(spans[:-1])
            self._cut(last.start)
            self._parse_at = self._chars + self._chars // 2 if self._chars > _SMALL_TAIL_CHARS else 0

    def _parts(self, spans: "list[_Span]") -> list[Part]:
        parts: list[Part] = []
        for span in spans:
            has_gap = self._has_gap(span)
            lines = self._lines[span.start : span.end]
            if span.kind == "fence":
                parts += _Fence(lines[0], has_gap).block(lines[1:])
            else:
                parts.append(Block(span.tokens, lines, span.start, has_gap))
            self._is_first = False
        return parts

    def _has_gap(self, span: "_Span") -> bool:
        if self._is_first:
            return False
        is_after_blank = not self._lines[span.start - 1].strip() if span.start else self._ends_blank
        return is_after_blank or span.kind == "heading_open"

    def _cut(self, count: int) -> None:
        """Forget the first `count` lines."""
        if count:
            self._ends_blank = not self._lines[count - 1].strip()
            chars = sum(map(len, self._lines[:count])) + count
            self.taken_chars += chars
            self._chars -= chars
            del self._lines[:count]
            self._parse_at = 0

    def _open_fence(self, span: "_Span") -> None:
        has_gap = self._has_gap(span)
        self._cut(span.start)
        self._fence = _Fence(self._lines[0], has_gap)
        self._is_first = False
        self._cut(1)

    def _take_code(self, fence: "_Fence", parts: list[Part]) -> bool:
        """Hand out whole lines of code; True where the fence was closed."""
        for count, line in enumerate(self._lines):
            if fence.is_closed_by(line):
                parts += fence.part(self._lines[:count])
                self._cut(count + 1)
                self._fence = None
                return True
        parts += fence.part(self._lines)
        self._cut(len(self._lines))
        return False


class _Span(NamedTuple):
    """A top-level block, or an item of a top-level list, among the lines."""

    kind: str
    tokens: list[Token]
    start: int
    end: int

    def is_closed(self, line_count: int) -> bool:
        """Whether this block, the last of so many lines, can not change whatever follows."""
        if self.kind == "heading_open" or self.kind == "hr":
            return True
        return self.kind in ("paragraph_open", "table_open", "blockquote_open") and self.end < line_count


def _spans(lines: list[str]) -> Iterator[_Span]:
    tokens = _parser.parse("\n".join(lines))
    first = 0
    for index, token in enumerate(tokens):
        if token.type.endswith("list_open") and token.level == 0:
            continue
        is_in_list = token.level == 1 and token.type.startswith("list_item")
        if token.level and not is_in_list:
            continue
        if token.nesting >= 0:
            first = index
        if token.nesting <= 0 and not token.type.endswith("list_close"):
            kind = tokens[first].type
            start, end = tokens[first].map or (0, 0)
            yield _Span(kind, tokens[first : index + 1], start, end)


class _Fence:
    """A fenced code block: how it was opened, and so how it is closed."""

    def __init__(self, opening: str, has_gap: bool) -> None:
        marks = opening.lstrip()
        self._mark = marks[0]
        self._indent = len(opening) - len(marks)
        info = marks.lstrip(self._mark)
        self.language = info.split()[0].lower() if info.split() else ""
        self.is_closed_by = re.compile(rf" {{0,3}}{self._mark}{{{len(marks) - len(info)},}}[ \t]*$").match
        self._has_gap = has_gap
        self._is_start = True

    def block(self, lines: list[str]) -> list[Part]:
        """The whole block, given all its lines after the opening one."""
        is_closed = bool(lines) and self.is_closed_by(lines[-1])
        return self.part(lines[:-1] if is_closed else lines)

    def part(self, lines: list[str]) -> list[Part]:
        """The next lines as a part; none where there are no lines."""
        if not lines:
            return []
        code = [self._without_indent(line) for line in lines] if self._indent else list(lines)
        part = CodeLines(self.language, code, self._is_start, self._has_gap and self._is_start)
        self._is_start = False
        return [part]

    def peek(self, line: str) -> list[Part]:
        """The line under way, unless it may become the closing one."""
        if not line.strip(f" {self._mark}"):
            return []
        return [CodeLines(self.language, [self._without_indent(line)], False, False)]

    def _without_indent(self, line: str) -> str:
        spaces = len(line) - len(line.lstrip(" "))
        return line[min(spaces, self._indent) :]


def _may_underline(line: str) -> bool:
    """Whether a line under way would, as it is, make the paragraph above it a heading or a table for a moment."""
    return not line.strip(" -=:|")


def _with_ends(line: str) -> str:
    """A line under way with its code and strong emphasis closed, so that they show as what they will be."""
    for mark in ("`", "**"):
        if line.count(mark) % 2:
            return line.rstrip(f"{mark} ") if line.rstrip().endswith(mark) else line + mark
    return line
