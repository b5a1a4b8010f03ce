"""Markup as data: a little language for tokens, and finding them in text that arrives in pieces.

A token is written as it looks, with a few signs for what varies:

| sign | stands for |
| --- | --- |
| `@` | an identifier, up to 128 characters |
| `*` | any words without quotes, angle brackets or line ends, up to 128 characters |
| `␣` | white space or nothing, up to 64 characters |
| `¨` | a quotation mark or nothing |
| `▸` | what follows must be there, but is not part of the token |
| `⏹` | the end of the text |

The first `@` or `*` is the token's name. Letters match in either case in tokens that look like XML (`<think>`), and
exactly in all others (`[THINK]`).
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Hit", "Tokens"]

Label = TypeVar("Label")

_SIGNS = {
    "@": r"([^\W\d][\w.\-/]{0,127})",
    "*": r"([^<>\"'“”\n]{1,128})",
    "␣": r"\s{0,64}",
    "¨": r"[\"'“”]?",
    "▸": r"()",
    "⏹": r"\Z",
}
_NEVER = "(?!)"
_LOOKS_LIKE_XML = re.compile(r"</?[A-Za-z]")


class Hit(NamedTuple, Generic[Label]):
    """A token in the text; without a label, what may become one and has to wait."""

    start: int
    end: int
    label: Label | None = None
    name: str = ""


class _Varying(Generic[Label]):
    """A token with signs in it. Its patterns are made when its head is first met: few of a table's ever are."""

    def __init__(self, token: str, label: Label) -> None:
        self.head = _head(token).lower()
        self.label = label
        self._token = token
        groups = [char for char in token if char in "@*▸"]
        self.is_named = bool(groups) and groups[0] != "▸"
        self.cut = groups.index("▸") + 1 if "▸" in groups else 0
        """The group at which what must follow begins; 0 where nothing must."""

    @cached_property
    def _atoms(self) -> list[str]:
        return [_SIGNS.get(char) or _spelled(char, self._token) for char in self._token]

    @cached_property
    def whole(self) -> re.Pattern[str]:
        return re.compile("".join(_NEVER if atom == _SIGNS["⏹"] else atom for atom in self._atoms))

    @cached_property
    def whole_at_end(self) -> re.Pattern[str]:
        return re.compile("".join(self._atoms))

    @cached_property
    def part(self) -> re.Pattern[str]:
        """The beginning of the token, up to the end of the text: any atom may be the last one there.

        The token's own last atom may not, since with it the token is whole, unless it is one that could still grow.
        """
        first, *others = self._atoms if self._token[-1] == "␣" else self._atoms[:-1]
        pattern = ""
        for atom in reversed(others):
            pattern = f"(?:{atom}{pattern})?"
        return re.compile(first + pattern + r"\Z")


class Tokens(Generic[Label]):
    """A set of tokens to look for at once; of several at one place the longest wins, then the first given.

    A text that could still grow into a longer token waits for the next piece, so what is found never depends on how
    the text was cut. What waits is bounded by the longest token.
    """

    def __init__(self, tokens: Iterable[tuple[str, Label]]) -> None:
        self._labels: dict[str, Label] = {}
        self._prefixes: set[str] = set()
        self._varying: list[_Varying[Label]] = []
        self._longest = 0
        firsts: set[str] = set()
        literals: dict[str, str] = {}
        for token, label in tokens:
            firsts.add(token.lstrip("▸")[0])
            head = _head(token)
            self._longest = max(self._longest, len(head))
            lowered = head.lower()
            self._prefixes.update(lowered[:length] for length in range(1, len(lowered)))
            if head == token:
                literals.setdefault(token, _spelled(token, token))
                self._labels.setdefault(lowered, label)
            else:
                self._prefixes.add(lowered)
                self._varying.append(_Varying(token, label))
        self._prefixes.discard("")
        # Two characters that begin no token are told at a glance, where no token is shorter.
        lengths = [len(varying.head) for varying in self._varying] + [len(literal) - 1 for literal in literals]
        self._is_plain = min(lengths, default=0) >= 2
        self.firsts = "".join(sorted(firsts - _SIGNS.keys()))
        """The characters a token can begin with."""
        self.trigger = re.compile(f"[{re.escape(self.firsts)}]" if self.firsts else _NEVER)
        ordered = sorted(literals.items(), key=lambda item: -len(item[0]))
        self._literals = re.compile("|".join(spelled for _, spelled in ordered) or _NEVER)
        heads = "|".join(re.escape(varying.head) for varying in self._varying)
        self._heads = re.compile(heads if self._varying else _NEVER, re.IGNORECASE)

    def search(self, text: str, pos: int, ended: bool) -> Hit[Label] | None:
        """The leftmost token from `pos` on, or what may become one; None where the text holds neither."""
        search = self.trigger.search
        while True:
            found = search(text, pos)
            if found is None:
                return None
            hit = self.match(text, found.start(), ended)
            if hit is not None:
                return hit
            pos = found.start() + 1

    def match(self, text: str, pos: int, ended: bool) -> Hit[Label] | None:
        """The token at `pos`, or what may become one there."""
        if self._is_plain and len(text) - pos > 1 and text[pos : pos + 2].lower() not in self._prefixes:
            return None
        best = -1
        hit: Hit[Label] | None = None
        if not ended and len(text) - pos <= self._longest and text[pos:].lower() in self._prefixes:
            return Hit(pos, len(text))
        for varying in self._varying if self._heads.match(text, pos) else ():
            if text[pos : pos + len(varying.head)].lower() != varying.head:
                continue
            if not ended and varying.part.match(text, pos):
                return Hit(pos, len(text))
            found = (varying.whole_at_end if ended else varying.whole).match(text, pos)
            if found is not None and found.end() > best:
                best = found.end()
                end = found.start(varying.cut) if varying.cut else found.end()
                hit = Hit(pos, end, varying.label, found[1].strip() if varying.is_named else "")
        literal = self._literals.match(text, pos)
        if literal is not None and literal.end() > best:
            hit = Hit(pos, literal.end(), self._labels[literal.group().lower()])
        return hit


def _head(token: str) -> str:
    """The part of a token before its first sign."""
    return next((token[:at] for at, char in enumerate(token) if char in _SIGNS), token)


def _spelled(part: str, token: str) -> str:
    """A literal part of a token as a pattern, in either case where the token is one of those."""
    if not _LOOKS_LIKE_XML.match(token.lstrip("▸")):
        return re.escape(part)
    return "".join(
        f"[{char.lower()}{char.upper()}]" if char.isascii() and char.isalpha() else re.escape(char) for char in part
    )
