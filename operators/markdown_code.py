"""Where visible text is code: Markdown's inline code and fences, followed as the text arrives."""

import re

__all__ = ["MarkdownCode"]

_TICKS = re.compile(r"`{1,64}")
_IN_LINE = re.compile("[`\n]")
_IN_FENCE = re.compile("`")


class MarkdownCode:
    """Says after every run of backticks and every line end whether what follows is code.

    Inline code ends with a run of the same length, and with its line at the latest, so that a stray backtick
    does no harm beyond it. A run of three or more at the start of a line opens a fence, which a run of at least
    that length at the start of a line closes.
    """

    __slots__ = ("_fence", "_inline", "_may_be_fence")

    def __init__(self) -> None:
        self._inline = 0
        self._fence = 0
        self._may_be_fence = False

    @property
    def turns(self) -> re.Pattern[str] | None:
        """What can end the code that the text is in; None outside code."""
        if self._fence:
            return _IN_FENCE
        return _IN_LINE if self._inline else None

    def ticks(self, text: str, pos: int, ended: bool, is_line_start: bool) -> int:
        """Take note of the backticks at `pos`: the place after them, or -1 where it takes more text to tell."""
        found = _TICKS.match(text, pos)
        end = pos + 1 if found is None else found.end()
        if end == len(text) and not ended:
            return -1
        run = end - pos
        if self._fence:
            # "```python" inside a fence opens nothing and closes nothing.
            if is_line_start and run >= self._fence and text[end : end + 1].strip() == "":
                self._fence = 0
        elif self._inline:
            if run == self._inline:
                self._inline = 0
        else:
            self._inline = run
            self._may_be_fence = run >= 3 and is_line_start
        return end

    def line_end(self) -> None:
        """Take note of the end of a line with inline code in it."""
        self._fence = self._inline if self._may_be_fence else 0
        self._inline = 0
