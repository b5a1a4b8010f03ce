"""No sink can hurt the stream or another sink (USERS 24); callbacks as the contract of seed 001 gives them."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from penstock.events import MessageStart, Text, TextDelta
from penstock.growing import TextView
from penstock.messages import MessageState
from penstock.sinks.callbacks import CallbackSink
from penstock.sinks.delivery import Delivery
from penstock.sinks.sink import MAX_FAILURES, Item, Sink
from penstock.updates import AssistantUpdate, MessagesChanged, ToolBlockUpdate


class Recording(Sink):
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.closed = 0

    def on_next(self, item: Item) -> None:
        self.seen.append(item)

    def close(self) -> None:
        self.closed += 1


class Raising(Recording):
    def on_next(self, item: Item) -> None:
        super().on_next(item)
        raise ValueError("broken sink")


class Slow(Recording):
    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()

    async def on_next(self, item: Item) -> None:  # type: ignore[override]
        await self.may_go_on.wait()
        self.seen.append(item)


def deliver(*sinks: Sink) -> Delivery:
    return Delivery(sinks, "turn", max_items=100, max_chars=1000)


def test_a_raising_sink_is_logged_once_detached_after_repeated_failure_and_hurts_nobody(
    run_async: asyncio.Runner,
) -> None:
    async def run() -> tuple[Raising, Recording, list[Any]]:
        bad, good = Raising(), Recording()
        with capture_logs() as logs:
            delivery = deliver(bad, good)
            for number in range(20):
                delivery.push(TextDelta(str(number), 0))
            await delivery.close(1)
        return bad, good, logs

    bad, good, logs = run_async.run(run())
    assert len(good.seen) == 20
    assert len(bad.seen) == MAX_FAILURES
    assert (bad.closed, good.closed) == (1, 1)
    assert [(log["event"], log["sink"], log["doing"]) for log in logs] == [
        ("sink_failed", "Raising", "on_next(TextDelta)")
    ]


def test_a_sink_hears_only_what_it_accepts() -> None:
    sink = Recording()
    sink.accepts = frozenset({Text})
    delivery = deliver(sink)
    delivery.push(TextDelta("a", 0))
    delivery.push(Text("a", 0))
    assert sink.seen == [Text("a", 0)]
    assert delivery.wants(Text)
    assert not delivery.wants(TextDelta)


def test_a_sink_that_opens_another_for_the_turn_leaves_itself_untouched(run_async: asyncio.Runner) -> None:
    class PerTurn(Recording):
        made: "list[Recording]" = []

        def open(self, turn_id: str) -> Sink:
            self.made.append(Recording())
            return self.made[-1]

    async def run() -> PerTurn:
        sink = PerTurn()
        for _ in range(2):
            delivery = deliver(sink)
            delivery.push(Text("a", 0))
            await delivery.close(1)
        return sink

    sink = run_async.run(run())
    assert sink.seen == []
    assert [(made.seen, made.closed) for made in sink.made] == [([Text("a", 0)], 1)] * 2


def test_a_slow_sink_gets_merged_deltas_every_final_and_its_close_after_them(run_async: asyncio.Runner) -> None:
    async def run() -> tuple[Slow, Any]:
        slow = Slow()
        delivery = deliver(slow)
        for letter in "hello":
            delivery.push(TextDelta(letter, 0))
        delivery.push(Text("hello", 0))
        slow.may_go_on.set()
        await delivery.close(1)
        return slow, delivery.statistics()[slow]

    slow, statistics = run_async.run(run())
    assert slow.seen == [TextDelta("hello", 0), Text("hello", 0)]
    assert slow.closed == 1
    assert (statistics.accepted, statistics.merged, statistics.delivered) == (6, 4, 2)


def test_a_sink_that_never_ends_is_given_up_at_its_deadline_and_said_so(run_async: asyncio.Runner) -> None:
    async def run() -> tuple[Slow, list[Any]]:
        slow = Slow()
        with capture_logs() as logs:
            delivery = deliver(slow)
            delivery.push(Text("a", 0))
            delivery.push(Text("b", 1))
            await delivery.close(0.01)
        return slow, logs

    slow, logs = run_async.run(run())
    assert slow.seen == []
    assert slow.closed == 1
    assert "2 items undelivered" in logs[0]["error"]


def test_a_detached_sink_hears_no_more_and_is_closed_once(run_async: asyncio.Runner) -> None:
    async def run() -> Recording:
        sink, other = Recording(), Recording()
        delivery = deliver(sink, other)
        delivery.push(Text("a", 0))
        delivery.detach(sink)
        delivery.push(Text("b", 0))
        await delivery.close(1)
        assert len(other.seen) == 2
        return sink

    sink = run_async.run(run())
    assert (sink.seen, sink.closed) == ([Text("a", 0)], 1)


class TestCallbacks:
    def test_fr_001_content_comes_as_chunk_and_accumulated(self) -> None:
        calls: list[tuple[str, str]] = []
        sink = CallbackSink(on_assistant_content_updated=lambda chunk, all: calls.append((chunk, all)))
        deliver(sink).push(AssistantUpdate(TextView.of("Hello"), "lo"))
        assert calls == [("lo", "Hello")]

    def test_fr_002a_a_new_message_is_told_without_arguments_and_not_for_subagents(self) -> None:
        calls: list[str] = []
        delivery = deliver(CallbackSink(on_assistant_message_added=lambda: calls.append("added")))
        delivery.push(MessageStart("m"))
        delivery.push(MessageStart("s", parent_call_id="c"))
        assert calls == ["added"]

    def test_fr_002_tool_updates_carry_their_stage_and_no_is_running(self) -> None:
        seen: list[ToolBlockUpdate] = []
        built: list[ToolBlockUpdate] = []
        delivery = deliver(CallbackSink(on_tool_block_updated=seen.append, on_tool_update=built.append))
        for stage in ("start", "streaming", "running", "end"):
            delivery.push(ToolBlockUpdate("c", "ls", stage, TextView.of("{}")))
        assert [u.stage for u in seen] == ["start", "streaming", "running", "end"]
        assert [(u.id, u.name, u.parameters) for u in built] == [("c", "ls", "{}")] * 2
        assert not hasattr(seen[0], "is_running")

    def test_fr_003a_messages_are_told_after_every_change(self) -> None:
        seen: list[Any] = []
        delivery = deliver(CallbackSink(on_messages_change=seen.append))
        snapshot = MessageState().messages
        delivery.push(MessagesChanged(snapshot))
        assert seen == [snapshot]

    def test_direct_content_and_every_item(self) -> None:
        contents: list[str] = []
        items: list[Any] = []
        delivery = deliver(CallbackSink(on_content_update=contents.append, on_item=items.append))
        update = AssistantUpdate(TextView.of("ab"), "b")
        delivery.push(update)
        delivery.push(Text("ab", 0))
        assert (contents, items) == (["ab"], [update, Text("ab", 0)])

    def test_an_error_in_one_callback_is_logged_once_and_disturbs_no_other(self) -> None:
        contents: list[str] = []

        def failing(chunk: str, accumulated: str) -> None:
            raise RuntimeError("mine")

        sink = CallbackSink(on_assistant_content_updated=failing, on_content_update=contents.append)
        with capture_logs() as logs:
            delivery = deliver(sink)
            for _ in range(20):
                delivery.push(AssistantUpdate(TextView.of("x"), "x"))
        assert contents == ["x"] * 20
        assert len(logs) == 1
        assert "failing" in logs[0]["sink"]

    def test_async_callbacks_are_awaited_in_order(self, run_async: asyncio.Runner) -> None:
        calls: list[str] = []

        async def added() -> None:
            await asyncio.sleep(0)
            calls.append("added")

        async def run() -> None:
            delivery = deliver(CallbackSink(on_assistant_message_added=added, on_content_update=calls.append))
            delivery.push(MessageStart("m"))
            delivery.push(AssistantUpdate(TextView.of("x"), "x"))
            await delivery.close(1)

        run_async.run(run())
        assert calls == ["added", "x"]

    def test_a_failing_async_callback_is_logged_once(self, run_async: asyncio.Runner) -> None:
        async def failing() -> None:
            raise RuntimeError("mine")

        async def run() -> None:
            delivery = deliver(CallbackSink(on_assistant_message_added=failing))
            for _ in range(3):
                delivery.push(MessageStart("m"))
            await delivery.close(1)

        with capture_logs() as logs:
            run_async.run(run())
        assert len(logs) == 1


@pytest.mark.parametrize("failing", ["open", "close"])
def test_a_sink_that_fails_to_open_or_close_is_logged_and_hurts_nobody(
    failing: str, run_async: asyncio.Runner
) -> None:
    class Bad(Recording):
        def open(self, turn_id: str) -> Sink:
            if failing == "open":
                raise OSError("cannot open")
            return self

        def close(self) -> None:
            raise OSError("cannot close")

    async def run() -> Recording:
        good = Recording()
        delivery = deliver(Bad(), good)
        delivery.push(Text("a", 0))
        await delivery.close(1)
        return good

    with capture_logs() as logs:
        good = run_async.run(run())
    assert good.seen == [Text("a", 0)]
    assert [log["doing"] for log in logs] == [failing]


def test_a_sink_that_would_rather_be_detached_than_miss_a_delta_is(run_async: asyncio.Runner) -> None:
    async def run() -> tuple[Slow, list[Any]]:
        slow = Slow()
        slow.overflow = "detach"
        with capture_logs() as logs:
            delivery = Delivery([slow], "turn", max_items=100, max_chars=10)
            for number in range(20):
                delivery.push(TextDelta(str(number), 0))
            slow.may_go_on.set()
            await delivery.close(1)
        return slow, logs

    slow, logs = run_async.run(run())
    assert slow.seen == []
    assert slow.closed == 1
    assert [(log["sink"], log["doing"]) for log in logs] == [("Slow", "overflow")]


def test_a_direct_sink_may_take_its_time_to_close(run_async: asyncio.Runner) -> None:
    class Lingering(Recording):
        async def close(self) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            self.closed += 1

    async def run() -> Lingering:
        sink = Lingering()
        delivery = deliver(sink)
        delivery.push(Text("x", 0))
        delivery.detach(sink)
        await delivery.close(1)
        return sink

    assert run_async.run(run()).closed == 1
