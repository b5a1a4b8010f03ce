"""No pipeline, no turn: a graph of one's own from the operators, beside those of reactivex.

    some-agent … | python examples/plain_rx.py
    python examples/plain_rx.py recording.jsonl

Two branches share one reading of the stream: the text as it comes, and at the end how many words each second of
reading it would take.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import reactivex
from reactivex import operators as ops

from penstock import TextDelta, ToolInvocation
from penstock.operators.coalesce import coalesce
from penstock.operators.finalize import finalize
from penstock.operators.read import read
from penstock.operators.route_tags import route_tags

WORDS_A_SECOND = 4.0


def main(chunks: Iterable[bytes]) -> None:
    # Neighbouring operators of penstock fuse into one; those of reactivex stand where you put them.
    reading = read("auto") | route_tags() | finalize() | coalesce(0.05)
    events = reactivex.from_iterable(chunks).pipe(reading, ops.publish())

    deltas = events.pipe(ops.filter(lambda event: isinstance(event, TextDelta)))
    deltas.subscribe(lambda delta: print(delta.text, end="", flush=True))
    events.pipe(
        ops.filter(lambda event: isinstance(event, ToolInvocation)),
        ops.count(),
    ).subscribe(lambda calls: print(f"\n({calls} tool calls)", file=sys.stderr))
    deltas.pipe(
        ops.map(lambda delta: len(delta.text.split())),
        ops.sum(),
        ops.map(lambda words: words / WORDS_A_SECOND),
    ).subscribe(lambda seconds: print(f"({seconds:.0f} s to read)", file=sys.stderr))

    events.connect()
    print()


if __name__ == "__main__":
    main([Path(sys.argv[1]).read_bytes()] if sys.argv[1:] else iter(lambda: sys.stdin.buffer.read1(65536), b""))
