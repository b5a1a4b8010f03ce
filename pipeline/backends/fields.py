"""Fields of other people's JSON: what was asked for, or nothing of its kind, never an exception.

A gateway that sends a list where the format has an object must not end the stream.
"""

from typing import Any

__all__ = ["count", "elements", "fields", "string_span", "text"]


def text(value: Any) -> str:
    """The string, or an empty one."""
    return value if type(value) is str else ""


def fields(value: Any) -> dict[str, Any]:
    """The object, or an empty one."""
    return value if type(value) is dict else {}


def elements(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if type(value) is list else []


def count(value: Any) -> int:
    """The number as a whole one, or 0."""
    return int(value) if type(value) is int or (type(value) is float and value == value // 1) else 0


def string_span(document: bytes, key: str) -> tuple[int, int] | None:
    """Where, in JSON as it was sent, the string under `key` stands, within its quotes; None unless it does once.

    Sure, because a quote inside a string is escaped: an unescaped one after `{` or `,` begins a key.
    """
    opening = b'"%b":"' % key.encode()
    begin = document.find(opening) + len(opening)
    if not key or begin < len(opening) or document[begin - len(opening) - 1] not in b"{,":
        return None
    if document.find(opening, begin) >= 0:
        return None
    end = document.find(b'"', begin)
    while end > 0 and _is_escaped(document, end):
        end = document.find(b'"', end + 1)
    return (begin, end) if end >= 0 else None


def _is_escaped(document: bytes, quote: int) -> bool:
    return (quote - len(document[:quote].rstrip(b"\\"))) % 2 == 1
