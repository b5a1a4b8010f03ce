"""Where visible text is code: Markdown's inline code and fences, followed as the text arrives."""

import re
from typing import Literal

__all__ = ["MarkdownCode"]

_TICKS = re.compile(r"`{1,64}")


class MarkdownCode:
    """Says after every run of backticks and every line end whether what follows is code.

    Inline code ends with a run of the same length, and with its line at the latest, so that a stray backtick does
    no harm beyond it. A run of three or more at the start of a line opens a fence, which a run of at least that
    length at the start of a line closes.
    """

    __slots__ = ("_may_be_fence", "_run", "ends_at")

    def __init__(self) -> None:
        self.ends_at: Literal["", "`", "`\n"] = ""
        """The characters that can end the code that the text is in; none outside code, both only inside a line."""
        self._run = 0
        self._may_be_fence = False

    def ticks(self, text: str, pos: int, ended: bool, is_line_start: bool) -> int:
        """Take note of the backticks at `pos`: the place after them, or -1 where it takes more text to tell."""
        found = _TICKS.match(text, pos)
        end = pos + 1 if found is None else found.end()
        if end == len(text) and not ended:
            return -1
        run = end - pos
        if not self.ends_at:
            self.ends_at = "`\n"
            self._run = run
            self._may_be_fence = run >= 3 and is_line_start
        elif self.ends_at == "`\n":
            if run == self._run:
                self.ends_at = ""
        # "```python" inside a fence opens nothing and closes nothing.
        elif is_line_start and run >= self._run and text[end : end + 1].strip() == "":
            self.ends_at = ""
        return end

    def line_end(self) -> None:
        """Take note of the end of a line with inline code in it."""
        self.ends_at = "`" if self._may_be_fence else ""
