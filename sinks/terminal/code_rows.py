"""Code, highlighted line by line: a line that has been shown keeps its colours whatever follows."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.token import Comment, Error, String, Token  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax

from penstock.sinks.terminal.rows import TAB_SIZE, Row, fold_row

__all__ = ["CodeRows"]

_MAX_LEXED_CHARS = 2000
"""A longer line is data, not code to read, and some lexers are slow on it."""

_COMMENTS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("(*", "*)"), ("--[[", "]]"))


class CodeRows:
    """Makes rows of the lines of one code block, in order.

    What an earlier line opened (a string, a comment) goes on in the next. Most lexers keep that in their state;
    comments that a lexer knows only as a whole are followed here. Costs what the line is long.
    """

    def __init__(self, language: str) -> None:
        self._lexer = _lexer_of(language)
        self._stack = ["root"]
        self._comment_end = ""
        self._theme = Syntax.get_theme("ansi_dark")

    def rows(self, line: str, width: int, is_under_way: bool = False) -> list[Row]:
        """The rows of the next line, or of the beginning of it while it is under way."""
        before = self._stack, self._comment_end
        line = line.expandtabs(TAB_SIZE)
        segments = [Segment(value, self._style(kind, value)) for kind, value in self._safe_tokens(line) if value]
        if is_under_way:
            self._stack, self._comment_end = before
        return fold_row(list(Segment.simplify(segments)), width)

    def _style(self, kind: Any, value: str) -> Style | None:
        # What is no valid code is more often a fragment or another dialect than an error worth marking.
        return None if kind in Error or value.isspace() else self._theme.get_style_for_token(kind)

    def _safe_tokens(self, line: str) -> Iterable[tuple[Any, str]]:
        if self._lexer is None or len(line) > _MAX_LEXED_CHARS:
            return [(Token.Text, line)]
        try:
            return list(self._tokens(line))
        except Exception:  # a lexer's own trouble costs the colours, not the code
            self._lexer = None
            return [(Token.Text, line)]

    def _tokens(self, line: str) -> Iterator[tuple[Any, str]]:
        rest = line
        if self._comment_end:
            comment, end, rest = line.partition(self._comment_end)
            yield Comment, comment + end
            if not end:
                return
            self._comment_end = ""
        for position, kind, value in self._lexed(rest + "\n"):
            end = self._end_of_comment_opened_at(rest, position, kind)
            if end:
                self._comment_end = end
                yield Comment, rest[position:]
                return
            yield kind, value.rstrip("\n")

    def _lexed(self, line: str) -> list[tuple[int, Any, str]]:
        lexer = self._lexer
        assert lexer is not None
        if type(lexer).get_tokens_unprocessed in _STATEFUL:
            # The loop of the one class leaves its state behind and runs the rules of the other just as well.
            context = LexerContext(line, 0, list(self._stack))
            tokens = list(ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context))
            self._stack = context.stack
            return tokens
        return list(lexer.get_tokens_unprocessed(line))

    def _end_of_comment_opened_at(self, line: str, position: int, kind: Any) -> str:
        assert self._lexer is not None
        if kind not in String:
            for opening, end in _untracked_comments(self._lexer.__class__):
                if line.startswith(opening, position) and end not in line[position + len(opening) :]:
                    return end
        return ""


_STATEFUL = (RegexLexer.get_tokens_unprocessed, ExtendedRegexLexer.get_tokens_unprocessed)


def _lexer_of(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language) if language else None
    except ClassNotFound:
        return None


@lru_cache
def _untracked_comments(lexer: Any) -> tuple[tuple[str, str], ...]:
    """The comments of a language that its lexer knows only when it sees their end."""
    return tuple(pair for pair in _COMMENTS if _is_comment(lexer, pair) and not _is_tracked(lexer, pair))


def _is_comment(lexer: type[Lexer], pair: tuple[str, str]) -> bool:
    kinds = [
        kind for _, kind, value in lexer().get_tokens_unprocessed(f"{pair[0]} x {pair[1]} x\n") if value.strip()
    ]
    return kinds[0] in Comment and kinds[-1] not in Comment


def _is_tracked(lexer: type[Lexer], pair: tuple[str, str]) -> bool:
    code = CodeRows("")
    code._lexer = lexer()
    code._lexed(f"{pair[0]} x\n")
    return next(kind for _, kind, value in code._lexed(f"x {pair[1]}\n") if value) in Comment
