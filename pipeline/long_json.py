"""JSON text of any length, parsed without taking many times its size."""

import json
from typing import Any, NoReturn

import orjson

__all__ = ["parse_json"]

_LONG_CHARS = 64 * 1024


def parse_json(text: str) -> Any:
    """What `orjson.loads` gives and raises, in less memory.

    For the while of its work orjson takes four to fourteen times the text. Of the arguments of one call that writes
    a file that would be the peak of the whole turn, so a long text goes to the standard library, which takes what
    it gives. Where the two would differ (half surrogate pairs, numbers out of range, errors), orjson has the last
    word.
    """
    if len(text) >= _LONG_CHARS and "\\ud" not in text and "\\uD" not in text and _is_unicode(text):
        try:
            return _frugal.decode(text)
        except (ValueError, RecursionError):
            pass
    return orjson.loads(text)


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or text.encode() is not None
    except UnicodeEncodeError:
        return False


def _integer(digits: str) -> int | float:
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else _finite(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if abs(value) == float("inf"):
        raise ValueError("out of range")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_frugal = json.JSONDecoder(parse_int=_integer, parse_float=_finite, parse_constant=_no_constant)
