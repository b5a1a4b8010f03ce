"""No pipeline, no turn: a graph of one's own from the operators, beside those of reactivex.

    some-agent … | python examples/plain_rx.py
    python examples/plain_rx.py recording.jsonl

Its branches share one reading of the stream: the text as it comes, at the end how long it takes to read, and how
many tools were called.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import reactivex
from reactivex import operators as ops

from penstock import TextDelta, ToolInvocation
from penstock.operators.coalesce import coalesce
from penstock.operators.finalize import finalize
from penstock.operators.read import read
from penstock.operators.route_tags import route_tags

WORDS_A_SECOND = 4.0


def text_of(delta: TextDelta) -> str:
    return delta.text


def seconds_to_read(text: str) -> float:
    return len(text.split()) / WORDS_A_SECOND


def main(chunks: Iterable[bytes]) -> None:
    # Neighbouring operators of penstock fuse into one; those of reactivex stand where you put them.
    reading = read("auto") | route_tags() | finalize() | coalesce(0.05)
    events: Any = reactivex.from_iterable(chunks).pipe(reading, ops.publish())

    texts = events.pipe(
        ops.filter(lambda event: isinstance(event, TextDelta)),
        ops.map(text_of),
    )
    texts.subscribe(lambda text: print(text, end="", flush=True))
    texts.pipe(
        ops.map(seconds_to_read),
        ops.sum(),
    ).subscribe(lambda seconds: print(f"({seconds:.1f} s to read)", file=sys.stderr))
    events.pipe(
        ops.filter(lambda event: isinstance(event, ToolInvocation)),
        ops.count(),
    ).subscribe(lambda calls: print(f"({calls} tool calls)", file=sys.stderr))

    events.connect()
    print()


def standard_input() -> Iterator[bytes]:
    while chunk := os.read(sys.stdin.fileno(), 65536):
        yield chunk


if __name__ == "__main__":
    main([Path(sys.argv[1]).read_bytes()] if sys.argv[1:] else standard_input())
