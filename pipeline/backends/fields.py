"""Fields of other people's JSON: what was asked for, or nothing of its kind, never an exception.

A gateway that sends a list where the format has an object must not end the stream.
"""

from typing import Any

__all__ = ["count", "elements", "fields", "text"]


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
