"""Stores: finals only, whole records only, whatever kills the program; read back as the messages they were."""

import asyncio
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_stream import answer, event
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from penstock import Pipeline, Settings, TextEntry, ThinkingEntry, ToolEntry
from penstock.sinks import JsonlStore, SqliteStore
from penstock.sinks.store import Record, Store

CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": '{"path":"a.py"}'}}
Make = Callable[..., Store]


@pytest.fixture(params=[JsonlStore, SqliteStore])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    kind = request.param
    return lambda **options: kind(tmp_path / "store", **options)


def pipeline(**settings: Any) -> Pipeline:
    return Pipeline(Settings(backend="openai-chat", **settings))


async def agent_turn(store: Store, conversation_id: str) -> Any:
    async with pipeline().turn(store.conversation(conversation_id)) as turn:
        calls = event({"content": "<think>hm</think>Let me look."}) + event({"tool_calls": [CALL]}, "tool_calls")
        reply = await turn.round([calls + b"data: [DONE]\n\n"])
        with turn.tool(reply.tool_calls[0]) as block:
            block.result({"lines": 3, "ß": ["x"]})
        await turn.round([answer("Three ", "lines.")])
    return turn


def entries(messages: Any) -> list[Any]:
    out: list[Any] = []
    for message in messages:
        for entry in message.entries:
            match entry:
                case TextEntry():
                    out.append(("text", entry.text, entry.is_streaming))
                case ThinkingEntry():
                    out.append(("thinking", entry.text, entry.is_streaming))
                case ToolEntry():
                    out.append((entry.call_id, entry.name, entry.input, entry.output, entry.is_done, entry.stage))
    return out


def test_the_messages_of_a_conversation_are_read_back_as_they_were(make: Make, run_async: asyncio.Runner) -> None:
    store = make()

    async def run() -> tuple[Any, Any]:
        return await agent_turn(store, "c-1"), await agent_turn(store, "c-1")

    first, second = run_async.run(run())
    read = make().messages("c-1")
    assert entries(read) == entries(first.messages) + entries(second.messages)
    expected = [*first.messages, *second.messages]
    for name in ("message_id", "model", "round", "stop_reason", "is_streaming", "parent_call_id", "usage", "error"):
        assert [getattr(m, name) for m in read] == [getattr(m, name) for m in expected], name


def test_conversations_are_kept_apart_also_when_their_turns_run_at_once(
    make: Make, run_async: asyncio.Runner
) -> None:
    store = make()

    async def single(number: int) -> None:
        async with pipeline().turn(store.conversation(f"c-{number}")) as turn:
            for part in range(3):
                await turn.round([answer(f"{number}.{part}")])
                await asyncio.sleep(0)

    async def run() -> None:
        await asyncio.gather(*(single(number) for number in range(20)))

    run_async.run(run())
    assert sorted(store.conversations()) == sorted(f"c-{number}" for number in range(20))
    for number in range(20):
        assert [m.text for m in store.messages(f"c-{number}")] == [f"{number}.{part}" for part in range(3)]


def test_finals_alone_are_stored_never_deltas(make: Make, run_async: asyncio.Runner) -> None:
    store = make()
    run_async.run(agent_turn(store, "c"))
    items = [json.loads(item) for _, _, item in store.records()]
    assert [item.get("kind", item["event"]) for item in items] == [
        *("message_start", "thinking", "text", "tool_invocation", "message_stop", "tool_completion"),
        *("message_start", "text", "message_stop", "turn_completed"),
    ]


def test_a_store_is_a_sink_itself(make: Make, run_async: asyncio.Runner) -> None:
    store = make()

    async def run() -> None:
        async with Pipeline(Settings(backend="openai-chat"), sinks=[store]).turn() as turn:
            await turn.round([answer("hello")])

    run_async.run(run())
    assert [message.text for message in store.messages()] == ["hello"]


def test_a_synchronous_loop_stores_too(make: Make) -> None:
    store = make()
    with pipeline().sync_turn(store.conversation("c")) as turn:
        turn.round([answer("hello")])
    assert [message.text for message in store.messages("c")] == ["hello"]


def test_an_empty_store_has_no_messages(make: Make) -> None:
    assert list(make().messages("c")) == []
    assert make().conversations() == []


def test_text_that_is_no_unicode_is_kept_as_it_is(make: Make, run_async: asyncio.Runner) -> None:
    store = make()

    async def run() -> None:
        async with pipeline().turn(store.conversation("c")) as turn:
            reply = await turn.round([event({"tool_calls": [CALL]}, "tool_calls") + b"data: [DONE]\n\n"])
            with turn.tool(reply.tool_calls[0]) as block:
                block.result("half a pair: \ud83d")

    run_async.run(run())
    (message,) = store.messages("c")
    assert message.tools[0].output == "half a pair: \ud83d"


class Counting(Store):
    """Keeps batches in memory, and can be made to wait or to fail."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.batches: list[list[Record]] = []
        self.fails = False

    def append(self, records: list[Record]) -> None:
        if self.fails:
            raise OSError("no space left on device")
        self.batches.append(records)

    def records(self, conversation_id: str | None = None) -> list[Record]:
        return [r for batch in self.batches for r in batch if conversation_id in (None, r[0])]


def test_records_are_batched_by_time(run_async: asyncio.Runner) -> None:
    store = Counting(window_s=3600)

    async def run() -> None:
        async with pipeline().turn(store) as turn:
            for number in range(50):
                await turn.round([answer(str(number))])
            assert store.batches == [], "the window is not over, and the stream did not wait for it"

    run_async.run(run())
    assert [len(batch) for batch in store.batches] == [151], "the end of the turn writes the rest"


def test_records_are_batched_by_bytes() -> None:
    store = Counting(window_s=3600, max_batch_bytes=1000)
    for number in range(100):
        store.put(("c", "t", b"%0100d" % number))
    store.flush()
    assert [item for _, _, item in store.records()] == [b"%0100d" % number for number in range(100)]
    assert len(store.batches) <= 11


def test_a_disk_that_is_full_is_told_once_and_nothing_is_lost_when_there_is_room_again(
    run_async: asyncio.Runner,
) -> None:
    store = Counting()
    store.fails = True

    async def run() -> None:
        async with pipeline().turn(store.conversation("c")) as turn:
            await turn.round([answer("hello")])

    with capture_logs() as logs:
        run_async.run(run())
    assert [(log["doing"], log["error"]) for log in logs] == [("close", "no space left on device")]
    store.fails = False
    assert [message.text for message in store.messages("c")] == ["hello"]


@given(st.integers(0, 400))
def test_a_torn_last_line_is_left_out_and_repaired(torn: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        store = JsonlStore(path)
        for number in range(3):
            store.put(("c", "t", b'{"event":"text","text":"%d","blockIndex":0}' % number))
        store.flush()
        whole = path.read_bytes()
        torn = min(torn, len(whole))
        path.write_bytes(whole[:torn])
        kept = whole[:torn].count(b"\n")
        assert len(list(store.records())) == kept
        store.put(("c", "t", b'{"event":"text","text":"new","blockIndex":0}'))
        store.flush()
        lines = path.read_bytes().splitlines()
        assert [json.loads(line)["item"]["text"] for line in lines] == [*map(str, range(kept)), "new"]


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_after_a_kill_at_any_moment_the_store_has_whole_records_only(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "store"
    script = Path(__file__).parents[1] / "storing_child.py"
    dice = random.Random(5)
    told = 0
    for _ in range(4):
        child = subprocess.Popen([sys.executable, str(script), kind, str(path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        with child:
            for _ in range(dice.randint(1, 12)):
                told += bool(child.stdout.readline())
            child.kill()
    store: Store = JsonlStore(path) if kind == "jsonl" else SqliteStore(path)
    records = list(store.records("c"))
    assert all(isinstance(json.loads(item), dict) for _, _, item in records)
    messages = store.messages("c")
    texts = [message.text for message in messages if message.entries]
    assert all(text.endswith("wörter ") and len(text) > 21_000 for text in texts)
    turns: dict[str, list[str]] = {}
    for _, turn, item in records:
        turns.setdefault(turn, []).append(json.loads(item).get("kind", "final"))
    whole = [names for names in turns.values() if len(names) == 16]
    assert len(turns) - len(whole) <= 4, "only the turn that a kill cut off may be incomplete"
    assert len(whole) >= told, "a turn that ended is stored"
    assert all(names == ["message_start", "final", "message_stop"] * 5 + ["final"] for names in whole)
    if kind == "jsonl":
        lines = path.read_bytes().split(b"\n")
        assert all(json.loads(line) for line in lines[:-1]), "no torn line is left in the middle"
