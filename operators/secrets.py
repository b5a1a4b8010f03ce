"""What a secret looks like, and how to find it in a text that arrives in pieces."""

import re
from functools import lru_cache

__all__ = ["MASK", "Redactor", "secret_pattern"]

MASK = "[redacted]"

LONGEST_WORD = 4096
OVERLAP = 512
"""A word over the limit is searched in windows that overlap by so much: the longest secret found in such a word."""

_SHORTEST = 8
_WORD = r"A-Za-z0-9_\-.+/=~:@%&?#$!*\\"
"""The characters of a word: those of keys, addresses and their escapes; no white space, quotes or brackets."""

_WORD_CHARS = "".join(chr(code) for code in range(128) if re.match(f"[{_WORD}]", chr(code)))
_WORDS = re.compile(f"[{_WORD}]{{{_SHORTEST},}}")

_ANNOUNCED = re.compile(r"\b(?:bearer|basic|api-?key:)[ \t]{1,8}\Z", re.IGNORECASE)
_ANNOUNCEMENT_CHARS = 24
_ANNOUNCED_SECRET = re.compile(r"(?=[A-Za-z_\-.+/=~:]*[0-9])[A-Za-z0-9_\-.+/=~:]{16,}")

# In JSON text an escape may stand right before a key: \n, \t, \u000a.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u00[0-9a-fA-F]{2}))"
_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic, OpenRouter and their like
    r"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"gh[oprsu]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"(?:hf|gsk|r8|npm)_[A-Za-z0-9]{20,}",
    r"(?:xai|pplx|nvapi|pypi)-[A-Za-z0-9_-]{20,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",  # a JSON web token
)
_PASSWORD_IN_ADDRESS = r"(?<=://)[^/:@\\]+:[^/@\\]+(?=@)"


@lru_cache(maxsize=32)
def secret_pattern(patterns: tuple[str, ...] = ()) -> re.Pattern[str]:
    """One pattern for the known shapes and `patterns`; `re.error` where one of those is none."""
    for pattern in patterns:
        re.compile(pattern)
    own = "".join(f"|(?:{pattern})" for pattern in patterns)
    return re.compile(f"{_START}(?:{'|'.join(_SHAPES)})|{_PASSWORD_IN_ADDRESS}{own}")


class Redactor:
    """The text of one block, word by word: `feed` gives what is sure, `end` the rest.

    A word is judged when it is over, so where the text is cut makes no difference. A word that follows `Bearer` (or
    `Basic`, `api-key:`) is a secret if it has sixteen characters and a digit. In a word over `LONGEST_WORD`
    characters everything from its first secret on is masked. Linear; holds at most one word up to that limit.
    """

    __slots__ = ("_before", "_held", "_is_announced", "_is_masking", "_pattern")

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._held = ""
        self._before = ""
        self._is_announced = False
        self._is_masking = False
        """Inside an overlong word of which a secret was found: the rest of it is left out."""

    def feed(self, piece: str) -> str:
        if self._is_masking:
            piece = piece.lstrip(_WORD_CHARS)
            if not piece:
                return ""
            self._is_masking = False
        text = self._held + piece
        cut = len(text.rstrip(_WORD_CHARS))
        if cut == 0:
            self._held = text
            return self._shortened()
        out = self._redacted(text[:cut])
        self._before = (self._before + text[:cut])[-_ANNOUNCEMENT_CHARS:]
        self._is_announced = _ANNOUNCED.search(self._before) is not None
        self._held = text[cut:]
        return out + self._shortened()

    def end(self) -> str:
        text, self._held = self._held, ""
        return "" if self._is_masking else self._redacted(text)

    def _redacted(self, text: str) -> str:
        """`text` ends where a word does."""
        return _WORDS.sub(self._judge, text)

    def _judge(self, found: re.Match[str]) -> str:
        start = found.start()
        if start == 0:
            is_announced = self._is_announced
        else:
            before = found.string[max(0, start - _ANNOUNCEMENT_CHARS) : start]
            if len(before) < _ANNOUNCEMENT_CHARS:
                before = (self._before + before)[-_ANNOUNCEMENT_CHARS:]
            is_announced = _ANNOUNCED.search(before) is not None
        word = found[0]
        out, position, is_masked = self._windows(word, is_announced)
        if is_masked:
            return out
        rest = word[position:]
        if is_announced:
            rest = _ANNOUNCED_SECRET.sub(MASK, rest)
        return out + self._pattern.sub(MASK, rest)

    def _shortened(self) -> str:
        """What of the held word can be let go because it is too long."""
        out, position, self._is_masking = self._windows(self._held, self._is_announced)
        self._held = "" if self._is_masking else self._held[position:]
        return out

    def _windows(self, word: str, is_announced: bool) -> tuple[str, int, bool]:
        """How an overlong word begins: what to show of it, up to where, and whether the rest is masked."""
        out, position = [], 0
        while len(word) - position > LONGEST_WORD:
            window = word[position : position + LONGEST_WORD]
            found = self._pattern.search(window)
            if found is None and is_announced:
                found = _ANNOUNCED_SECRET.search(window)
            if found is not None:
                out.append(window[: found.start()] + MASK)
                return "".join(out), position, True
            out.append(window[: LONGEST_WORD - OVERLAP])
            position += LONGEST_WORD - OVERLAP
        return "".join(out), position, False
