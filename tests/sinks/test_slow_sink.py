"""A sink that never gets on: memory stays bounded, nobody else waits, the last state arrives (USERS 23)."""

import asyncio
import tracemalloc
from typing import Any

from chat_stream import event

from penstock import AssistantUpdate, Completed, MessagesChanged, Pipeline, Settings, Text, TextDelta
from penstock.sinks.sink import Item, Sink
from penstock.testing import RecordingSink

CHUNKS = 50_000
PIECE = "some words, "


class Stuck(Sink):
    """Takes one item and does not come back until it is told to: as slow as can be, without sleeping."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.seen: list[Any] = []

    async def on_next(self, item: Item) -> None:
        await self.may_go_on.wait()
        self.seen.append(item)


def test_a_stuck_sink_costs_bounded_memory_and_gets_the_final_state(run_async: asyncio.Runner) -> None:
    quick = RecordingSink(accepts=frozenset({Completed, Text}))
    settings = Settings(backend="openai-chat", window_s=0)

    async def run() -> tuple[Stuck, int, Any]:
        stuck = Stuck()
        tracemalloc.start()
        async with Pipeline(settings, sinks=[stuck, quick]).turn() as turn:
            round_ = turn.open_round()
            piece = event({"content": PIECE})
            for number in range(CHUNKS):
                round_.feed(piece)
                if number % 1000 == 0:
                    await asyncio.sleep(0)
                if number == CHUNKS // 10:
                    early, _ = tracemalloc.get_traced_memory()
            late, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            round_.feed(event({}, "stop"))
            round_.finish()
            assert [final.text for final in quick.of(Text)] == [PIECE * CHUNKS], "the other sink did not wait"
            assert not stuck.seen
            statistics = turn.sink_statistics()[stuck]
            stuck.may_go_on.set()
        return stuck, late - early, statistics

    stuck, grown, statistics = run_async.run(run())
    text_mb = len(PIECE) * CHUNKS * 0.9 / 1e6
    print(f"{CHUNKS} chunks to a stuck sink: {grown / 1e6:.1f} MB grown, {text_mb:.1f} MB of text; {statistics}")
    # The message state itself keeps the text as pieces (about 100 bytes each); nothing else may grow with it.
    assert grown < 130 * CHUNKS + 4_000_000
    assert statistics.most_waiting <= settings.sink_max_items + 1
    assert [item.message for item in stuck.seen if isinstance(item, Completed)] == [PIECE * CHUNKS]
    assert [item.text for item in stuck.seen if isinstance(item, Text)] == [PIECE * CHUNKS]
    assert [i for i in stuck.seen if isinstance(i, AssistantUpdate)][-1].content == PIECE * CHUNKS
    assert [i for i in stuck.seen if isinstance(i, MessagesChanged)][-1].messages[-1].text == PIECE * CHUNKS
    deltas = [item for item in stuck.seen if isinstance(item, TextDelta)]
    assert len(deltas) < CHUNKS / 100, "deltas were merged while it was stuck"
