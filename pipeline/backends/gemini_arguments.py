"""Arguments that Vertex sends as they are written: values under a JSON path, strings piece by piece."""

import re
from itertools import pairwise
from typing import Any

from penstock.backends.fields import text
from penstock.backends.reader import Record

__all__ = ["put_partial"]

STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]|\["([^"]*)"\]""")

VALUES = ("stringValue", "numberValue", "boolValue")


def put_partial(arguments: Record, partial: Record) -> None:
    """Put one partial argument into `arguments`; the pieces of a string are joined."""
    steps = [
        int(index) if index else name or quoted or double_quoted
        for name, index, quoted, double_quoted in STEP.findall(text(partial.get("jsonPath")))
    ]
    value = next((partial[name] for name in VALUES if name in partial), None)
    place: Any = arguments
    for step, following in pairwise(steps):
        inner = _get(place, step)
        if type(inner) is not (list if type(following) is int else dict):
            inner = [] if type(following) is int else {}
            _set(place, step, inner)
        place = inner
    if steps:
        before = _get(place, steps[-1])
        joined = before + value if type(before) is str and type(value) is str else value
        _set(place, steps[-1], joined)


def _get(place: Any, step: int | str) -> Any:
    if type(place) is dict:
        return place.get(step)
    return place[step] if type(step) is int and step < len(place) else None


def _set(place: Any, step: int | str, value: Any) -> None:
    if type(place) is dict:
        place[step] = value
    elif type(step) is int:
        place.extend([None] * (step + 1 - len(place)))
        place[step] = value
