"""A program that stores turns until it is killed: run as `python storing_child.py KIND FILE`.

It prints the number of every turn that has ended, so that its parent knows what must have been kept.
"""

import asyncio
import sys

from chat_stream import answer

from penstock import Pipeline, Settings
from penstock.sinks import JsonlStore, SqliteStore


async def main(kind: str, path: str) -> None:
    make = JsonlStore if kind == "jsonl" else SqliteStore
    store = make(path, window_s=0.001)
    pipeline = Pipeline(Settings(backend="openai-chat"))
    number = 0
    while True:
        async with pipeline.turn(store.conversation("c")) as turn:
            for part in range(5):
                await turn.round([answer(f"{number}.{part} " + "wörter " * 3000)])
        print(number, flush=True)
        number += 1


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
