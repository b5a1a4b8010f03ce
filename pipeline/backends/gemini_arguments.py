"""Arguments that Vertex sends as they are written: values under a JSON path, strings piece by piece."""

import re
from itertools import pairwise
from typing import Any

from penstock.backends.fields import text
from penstock.backends.reader import Record

__all__ = ["PartialArguments"]

STEP = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,4})\]|\['([^']*)'\]|\["([^"]*)"\]""")


class PartialArguments:
    """A call's arguments while they arrive; the pieces of a string are joined once, when its path is left."""

    def __init__(self, arguments: Record) -> None:
        self._arguments = arguments
        self._path = ""
        self._pieces: list[str] = []

    def add(self, partial: Record) -> None:
        """Take one partial argument."""
        path = text(partial.get("jsonPath"))
        if path != self._path:
            self._join()
            self._path = path
        piece = partial.get("stringValue")
        if type(piece) is str:
            self._pieces.append(piece)
        else:
            self._join()
            self._put(path, partial.get("numberValue", partial.get("boolValue")))

    def whole(self) -> Record:
        """All of them."""
        self._join()
        return self._arguments

    def _join(self) -> None:
        if self._pieces:
            self._put(self._path, "".join(self._pieces))
            self._pieces.clear()

    def _put(self, path: str, value: Any) -> None:
        steps = [
            int(index) if index else name or quoted or double_quoted
            for name, index, quoted, double_quoted in STEP.findall(path)
        ]
        place: Any = self._arguments
        for step, following in pairwise(steps):
            inner = _get(place, step)
            if type(inner) is not (list if type(following) is int else dict):
                inner = [] if type(following) is int else {}
                _set(place, step, inner)
            place = inner
        if steps:
            before = _get(place, steps[-1])
            _set(place, steps[-1], before + value if type(before) is type(value) is str else value)


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
