"""Law 4 for bytes and order: ten times as much takes about ten times as long, however it is cut (USERS 2)."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from laws import check_takes, push

from penstock.events import TextDelta
from penstock.operators.decode_utf8 import decode_utf8
from penstock.operators.frame import frame
from penstock.operators.frame_json import frame_json
from penstock.operators.frame_lines import frame_lines
from penstock.operators.frame_sse import frame_sse
from penstock.operators.reorder import reorder
from penstock.operators.stage import Operator
from penstock.operators.to_deltas import to_deltas

Make = Callable[[], Operator[Any, Any]]

RECORD = b'{"choices":[{"index":0,"delta":{"content":"hello"}}]}'


def cut(whole: bytes, size: int = 50) -> list[bytes]:
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def numbered_backwards_by_eights(count: int) -> list[dict[str, int]]:
    return [{"sequence_number": 0}] + [
        {"sequence_number": 1 + at + step} for at in range(0, count, 8) for step in reversed(range(8))
    ]


CASES: list[tuple[str, Make, Callable[[int], Iterable[Any]]]] = [
    ("decode_utf8", decode_utf8, lambda n: cut("漢字 text ".encode() * n)),
    ("frame_sse", frame_sse, lambda n: cut(b"event: x\ndata: " + RECORD + b"\n\n", 50) * n),
    ("frame_sse, one event of many lines", frame_sse, lambda n: [*[b"data: x\n"] * (4 * n), b"\n"]),
    ("frame_lines", frame_lines, lambda n: cut((RECORD + b"\r\n") * n)),
    ("frame_lines, one line", frame_lines, lambda n: cut(b"x" * (100 * n))),
    ("frame_json", frame_json, lambda n: cut(b"[" + b",".join([RECORD] * n) + b"]")),
    ("frame_json, one string", frame_json, lambda n: cut(b'["' + rb"\"x" * (40 * n) + b'"]')),
    ("frame, events", frame, lambda n: cut((b"data: " + RECORD + b"\n\n") * n)),
    ("frame, events in one read", frame, lambda n: [(b"data: " + RECORD + b"\r\n\r\n") * n]),
    ("frame, one event", frame, lambda n: cut(b"data: " + b"x" * (100 * n))),
    ("frame, one event of many lines", frame, lambda n: [*[b"data: x\n"] * (4 * n), b"\n"]),
    ("frame, undecided line", frame, lambda n: cut(b"x" * (100 * n))),
    ("frame, noise", frame, lambda n: [b"[INFO] loading\n" * (10 * n)]),
    ("frame, printed records in one read", frame, lambda n: [b'{\n "a": [1]\n}\n' * n]),
    ("reorder", reorder, numbered_backwards_by_eights),
    ("to_deltas, pieces", lambda: to_deltas("mixed"), lambda n: [TextDelta("word ", 0)] * (4 * n)),
    ("to_deltas, pieces of doubling length", lambda: to_deltas("mixed"), lambda n: _doubling(n)),
]


def _doubling(count: int) -> list[TextDelta]:
    letters = list(enumerate("abcdefgh"))
    return [
        TextDelta(letter * 2**power, 0, str(message)) for message in range(count // 20) for power, letter in letters
    ]


@pytest.mark.parametrize(("operator", "items"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_ten_times_as_much_takes_about_ten_times_as_long(
    operator: Make, items: Callable[[int], Iterable[Any]]
) -> None:
    small, large = list(items(500)), list(items(5000))
    check_takes(lambda: push(operator(), large), lambda: push(operator(), small), at_most=14)


def test_snapshots_cost_no_more_than_reading_them() -> None:
    """A snapshot holds all that came before: the input itself grows with the square, and nothing may be added."""
    text = "x" * 40_000
    snapshots = [TextDelta(text[: size + 10], 0) for size in range(0, len(text), 10)]

    def read() -> None:
        for snapshot in snapshots:
            snapshot.text.encode()

    check_takes(lambda: push(to_deltas("accumulated"), snapshots), read, at_most=10)
