"""The tokens of JSON as far as they have arrived, as regular expressions that jump over whole runs.

Every expression matches the longest beginning of something that may still become valid JSON. So where a match stops
before the end of the text is the first character that cannot be right, and a match that reaches the end of the
text is a token to wait for.
"""

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C one; typeshed leaves it out

__all__ = [
    "LITERALS",
    "MAX_NUMBER_CHARS",
    "half_escape",
    "has_special",
    "is_literal_so_far",
    "member_name",
    "number_so_far",
    "plain_string",
    "skip_space",
    "string_run",
    "to_number",
    "unescape",
]

MAX_NUMBER_CHARS = 1000
"""A number longer than this is malformed; it bounds what is held back."""

LITERALS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}

_SPACE = r"[ \t\n\r]*"
_PLAIN = r'[^"\\\x00-\x1f]*'
_HEX = r"[0-9a-fA-F]"
_ESCAPE = (
    r'\\(?:["\\/bfnrt]'
    rf"|u(?![dD][89a-fA-F]){_HEX}{{4}}"
    rf"|u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}})"
)
_LOW_SO_FAR = rf"(?:\\(?:u(?:[dD](?:[c-fC-F]{_HEX}?)?)?)?)?"
_UNIT_SO_FAR = (
    rf"(?:[dD](?:[89abAB](?:{_HEX}(?:{_HEX}{_LOW_SO_FAR})?)?|[0-7]{_HEX}?)?"
    rf"|[0-9a-cefA-CEF]{_HEX}{{0,2}})?"
)

skip_space = re.compile(_SPACE).match
has_special = re.compile(r'["\\\x00-\x1f]').search
"""Whether a piece of string content has anything in it that is not plain text."""

string_run = re.compile(rf"{_PLAIN}(?:{_ESCAPE}{_PLAIN})*").match
"""Whole characters and escapes, surrogate pairs included; stops before a quote, half an escape or an error."""

half_escape = re.compile(rf"(?:\\(?:u{_UNIT_SO_FAR})?)?").match
plain_string = re.compile(rf'"({_PLAIN})"').match
member_name = re.compile(rf'{_SPACE}"({_PLAIN})"{_SPACE}:{_SPACE}').match

number_so_far = re.compile(r"-?(?:(?:0|[1-9][0-9]*)(?:\.(?:[0-9]+(?:[eE][+-]?[0-9]*)?)?|[eE][+-]?[0-9]*)?)?").match


def unescape(run: str) -> str:
    """The text of a `string_run`."""
    if "\\" not in run:
        return run
    text: str = scanstring(run + '"', 0)[0]
    return text


def to_number(token: str) -> int | float | None:
    """The value of a `number_so_far` that is over; None if it cannot be over there."""
    if token[-1] not in "0123456789":
        return None
    return int(token) if token.isdigit() or token[1:].isdigit() else float(token)


def is_literal_so_far(word: str, text: str, position: int) -> int:
    """Where in `text` the likeness with `word` ends."""
    matched = 0
    while matched < len(word) and text.startswith(word[: matched + 1], position):
        matched += 1
    return position + matched
