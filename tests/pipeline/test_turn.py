"""The turn: rounds, tools, endings; exactly one terminal event, nothing lost, nothing left behind."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock import (
    AssistantUpdate,
    Completed,
    Event,
    Pipeline,
    Settings,
    StreamError,
    TextDelta,
    ToolBlockUpdate,
    TurnClosed,
    TurnCompleted,
    UnknownBackend,
    UsageError,
)
from penstock.operators import Operator, Stage
from penstock.sinks import CallbackSink


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    record = {"id": "c1", "object": "chat.completion.chunk", "model": "test", "choices": [choice], **more}
    return b"data: " + json.dumps(record, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def says(*pieces: str, finish: str = "stop") -> list[bytes]:
    return [*(chunk({"content": piece}) for piece in pieces), chunk(finish=finish), DONE]


def calls(name: str, arguments: str, call_id: str = "call-1") -> list[bytes]:
    function = {"name": name, "arguments": arguments}
    call = {"index": 0, "id": call_id, "type": "function", "function": function}
    return [chunk({"tool_calls": [call]}), chunk(finish="tool_calls"), DONE]


class Screen:
    """What a sink saw."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.sink = CallbackSink(on_item=self.items.append)

    def of(self, *kinds: type) -> list[Any]:
        return [item for item in self.items if isinstance(item, kinds)]


@pytest.fixture
def screen() -> Screen:
    return Screen()


def pipeline(screen: Screen | None = None, **settings: Any) -> Pipeline:
    sinks = [screen.sink] if screen else []
    return Pipeline(Settings(backend="openai-chat", **settings), sinks=sinks)


def test_a_round_returns_what_the_model_said_and_the_turn_its_final_message(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            reply = await turn.round(says("<think>hm</think>", "Hel", "lo"))
            assert (reply.text, reply.thinking, reply.stop_reason) == ("Hello", "hm", "stop")
        assert turn.final_message == "Hello"
        assert turn.result.stop_reason == "completed"
        assert turn.result.messages[0].text == "Hello"

    run_async.run(run())
    assert screen.of(Completed) == [Completed("Hello", "completed", screen.of(Completed)[0].turn_id)]
    assert screen.of(AssistantUpdate)[-1].content == "Hello"


def test_an_agent_loop_of_two_rounds_runs_its_tool_and_keeps_the_last_rounds_text(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    async def run() -> None:
        rounds = [says("Let me look.")[:1] + calls("ls", '{"path":"."}'), says("Two files.")]
        async with pipeline(screen).turn() as turn:
            history: list[Any] = []
            for source in rounds:
                reply = await turn.round(source)
                history.append(reply.as_message())
                for call in reply.tool_calls:
                    async with turn.tool(call) as block:
                        block.progress("50 %")
                        block.result(["a", "b"])
                    history.append(block.as_message())
        assert turn.final_message == "Two files."
        assert history == [
            {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [
                    {"id": "call-1", "type": "function", "function": {"name": "ls", "arguments": '{"path":"."}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "call-1", "content": '["a","b"]'},
            {"role": "assistant", "content": "Two files."},
        ]
        assert [message.round for message in turn.messages] == [1, 2]

    run_async.run(run())
    stages = [update.stage for update in screen.of(ToolBlockUpdate)]
    assert stages[0] == "start"
    assert stages[-1] == "end"
    assert stages.count("end") == 1
    assert "running" in stages
    assert len(screen.of(TurnCompleted)) == len(screen.of(Completed)) == 1


@pytest.mark.parametrize("how", ["raises", "forgets"])
def test_a_tool_that_raises_or_gives_nothing_ends_once_as_an_error(
    how: str, run_async: asyncio.Runner, screen: Screen
) -> None:
    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            reply = await turn.round(calls("ls", "{}"))
            try:
                with turn.tool(reply.tool_calls[0]):
                    if how == "raises":
                        raise OSError("no such folder")
            except OSError:
                pass

    run_async.run(run())
    (end,) = [update for update in screen.of(ToolBlockUpdate) if update.stage == "end"]
    assert end.success is False
    assert ("no such folder" if how == "raises" else "interrupted") in end.error


def test_a_call_nobody_ran_ends_interrupted_with_the_turn(run_async: asyncio.Runner, screen: Screen) -> None:
    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            await turn.round(calls("ls", "{}"))

    run_async.run(run())
    (end,) = [update for update in screen.of(ToolBlockUpdate) if update.stage == "end"]
    assert (end.success, end.error) == (False, "interrupted")


async def endless(log: list[str]) -> AsyncIterator[bytes]:
    """A source that says a little and then never anything again."""
    try:
        yield chunk({"content": "par"})
        yield chunk({"content": "tial"})
        log.append("waiting")
        await asyncio.Event().wait()
    finally:
        log.append("closed")


async def until(log: list[str], word: str) -> None:
    while word not in log:
        await asyncio.sleep(0)


def test_abort_keeps_the_partial_content_closes_the_source_and_ends_once(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    log: list[str] = []

    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            reading = asyncio.create_task(turn.round(endless(log)))
            await until(log, "waiting")
            turn.abort()
            turn.abort()
            reply = await reading
            assert (reply.text, reply.stop_reason, reply.error) == ("partial", "aborted", None)
            with pytest.raises(TurnClosed):
                await turn.round(says("more"))
        assert turn.final_message == "partial"
        assert turn.result.stop_reason == "aborted"

    run_async.run(run())
    assert log == ["waiting", "closed"]
    assert [e.stop_reason for e in screen.of(TurnCompleted)] == ["aborted"]
    assert screen.items.index(screen.of(TurnCompleted)[0]) >= len(screen.items) - 3
    assert not screen.of(StreamError), "an abort is nobody's error"


def test_stop_ends_the_round_and_the_turn_goes_on(run_async: asyncio.Runner) -> None:
    log: list[str] = []

    async def run() -> None:
        async with pipeline().turn() as turn:
            reading = asyncio.create_task(turn.round(endless(log)))
            await until(log, "waiting")
            turn.stop()
            assert (await reading).text == "partial"
            assert (await turn.round(says("again"))).text == "again"
        assert turn.final_message == "again"
        assert turn.result.stop_reason == "completed"

    run_async.run(run())
    assert log == ["waiting", "closed"]


def test_aborting_from_inside_a_callback_ends_after_the_delivery_under_way(run_async: asyncio.Runner) -> None:
    screen = Screen()

    async def run() -> None:
        turn = pipeline(screen).turn(CallbackSink(on_content_update=lambda content: turn.abort("enough")))
        async with turn:
            reply = await turn.round(says("one", "two", "three"))
            assert reply.stop_reason == "enough"
        assert turn.final_message == "one"

    run_async.run(run())
    assert [e.stop_reason for e in screen.of(TurnCompleted)] == ["enough"]


def test_cancelling_the_task_keeps_what_arrived_and_goes_on_cancelling(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    log: list[str] = []

    async def loop() -> None:
        async with pipeline(screen).turn() as turn:
            await turn.round(endless(log))

    async def run() -> None:
        task = asyncio.create_task(loop())
        await until(log, "waiting")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_async.run(run())
    assert log == ["waiting", "closed"]
    assert screen.of(Completed)[0].message == "partial"
    assert [e.stop_reason for e in screen.of(TurnCompleted)] == ["cancelled"]


def test_leaving_the_block_by_an_exception_ends_the_turn_in_error(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            await turn.round(says("so far"))
            raise LookupError("the loop's own")

    with pytest.raises(LookupError):
        run_async.run(run())
    assert [e.stop_reason for e in screen.of(TurnCompleted)] == ["error"]
    assert screen.of(Completed)[0].message == "so far"


def test_a_source_that_breaks_is_an_error_event_after_what_arrived(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield chunk({"content": "half"})
        raise ConnectionError("reset by peer")

    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            reply = await turn.round(broken())
            assert reply.text == "half"
            assert reply.error is not None
            assert (reply.error.code, reply.error.retryable) == ("source_failed", True)
        assert turn.result.stop_reason == "error"

    run_async.run(run())
    assert [e.code for e in screen.of(StreamError)] == ["source_failed"]


def test_a_cut_stream_is_a_truncated_error(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with pipeline().turn() as turn:
            reply = await turn.round([chunk({"content": "half"})])
            assert reply.error is not None
            assert (reply.text, reply.error.code) == ("half", "truncated")

    run_async.run(run())


def test_a_stalled_source_is_given_up_with_a_retryable_error(run_async: asyncio.Runner) -> None:
    log: list[str] = []

    async def run() -> None:
        async with pipeline(between_chunks_timeout_s=0.01).turn() as turn:
            reply = await turn.round(endless(log))
            assert reply.error is not None
            assert (reply.text, reply.error.code, reply.error.retryable) == ("partial", "stalled", True)

    run_async.run(run())
    assert log == ["waiting", "closed"]


def test_an_early_exit_returns_its_own_message(run_async: asyncio.Runner, screen: Screen) -> None:
    async def run() -> None:
        async with pipeline(screen).turn() as turn:
            await turn.round(says("thinking aloud"))
            turn.complete("Could you say which file you mean?")
        assert turn.final_message == "Could you say which file you mean?"

    run_async.run(run())
    assert screen.of(Completed)[0].message == "Could you say which file you mean?"


def test_reading_the_state_flushes_the_window_first(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with pipeline(window_s=3600).turn() as turn:
            round_ = turn.open_round()
            for piece in ("a", "b", "c"):
                round_.feed(chunk({"content": piece}))
            assert turn.messages[0].text == "abc"
            round_.finish()

    run_async.run(run())


def test_fr_003a_with_the_window_off_messages_change_after_every_chunk(run_async: asyncio.Runner) -> None:
    texts: list[str] = []

    async def run() -> None:
        sink = CallbackSink(on_messages_change=lambda messages: texts.append(messages[-1].text))
        async with pipeline(window_s=0).turn(sink) as turn:
            await turn.round(says("a", "b", "c"))

    run_async.run(run())
    assert [text for i, text in enumerate(texts) if i == 0 or texts[i - 1] != text] == ["", "a", "ab", "abc"]


def test_records_and_text_are_taken_as_they_are(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with pipeline().turn() as turn:
            record = json.loads(chunk({"content": "dict"}, finish="stop")[6:])
            assert (await turn.round([record])).text == "dict"
            assert (await turn.round("".join(c.decode() for c in says("str")))).text == "str"
            assert (await turn.round(says("é")[0] + b"".join(says("ß")))).text == "éß"

    run_async.run(run())


def test_a_blocking_iterable_is_read_off_the_event_loop(run_async: asyncio.Runner) -> None:
    import threading

    threads: list[str] = []

    def blocking() -> Any:
        for piece in says("a", "b"):
            threads.append(threading.current_thread().name)
            yield piece

    async def run() -> None:
        async with pipeline().turn() as turn:
            assert (await turn.round(blocking())).text == "ab"

    run_async.run(run())
    assert set(threads) == {"penstock source"}


def test_the_stream_form_gives_every_item_and_ends(run_async: asyncio.Runner) -> None:
    async def run() -> list[Any]:
        return [item async for item in pipeline().stream(says("a", "b"))]

    items = run_async.run(run())
    assert items[-1].messages[-1].text == "ab" if hasattr(items[-1], "messages") else True
    assert [item.message for item in items if isinstance(item, Completed)] == ["ab"]


def test_leaving_the_stream_form_early_closes_the_source(run_async: asyncio.Runner) -> None:
    log: list[str] = []

    async def run() -> None:
        stream = pipeline().stream(endless(log))
        async for item in stream:
            if isinstance(item, AssistantUpdate):
                break
        await stream.aclose()  # type: ignore[attr-defined]

    run_async.run(run())
    assert log[-1] == "closed"


def test_one_pipeline_serves_a_thousand_turns_at_once(run_async: asyncio.Runner) -> None:
    one = pipeline()

    async def single(number: int) -> str:
        async def slowly() -> AsyncIterator[bytes]:
            for piece in says("turn ", str(number), "!"):
                yield piece
                await asyncio.sleep(0)

        async with one.turn() as turn:
            await turn.round(slowly())
        return turn.final_message

    async def run() -> list[str]:
        return await asyncio.gather(*(single(number) for number in range(1000)))

    assert run_async.run(run()) == [f"turn {number}!" for number in range(1000)]


class TestSync:
    def test_the_synchronous_twin_does_the_same(self, screen: Screen) -> None:
        with pipeline(screen).sync_turn() as turn:
            reply = turn.round(iter(says("Let me look.")[:1] + calls("ls", "{}")))
            with turn.tool(reply.tool_calls[0]) as block:
                block.result("a")
            assert turn.round(iter(says("One file."))).text == "One file."
        assert turn.final_message == "One file."
        assert len(screen.of(Completed)) == 1

    def test_an_exception_ends_the_turn_and_goes_on(self, screen: Screen) -> None:
        def loop() -> None:
            with pipeline(screen).sync_turn() as turn:
                turn.round(iter(says("x")))
                raise LookupError

        with pytest.raises(LookupError):
            loop()
        assert [e.stop_reason for e in screen.of(TurnCompleted)] == ["error"]

    def test_inside_an_event_loop_it_says_what_to_use(self, run_async: asyncio.Runner) -> None:
        async def run() -> None:
            with pytest.raises(UsageError, match="async with"), pipeline().sync_turn():
                pass

        run_async.run(run())


def test_wrong_use_is_told_in_words(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        turn = pipeline().turn()
        with pytest.raises(TurnClosed, match="async with"):
            await turn.round(says("x"))
        async with turn:
            coroutine = asyncio.sleep(0)
            with pytest.raises(UsageError, match="await it first"):
                await turn.round(coroutine)
            coroutine.close()
            with pytest.raises(UsageError, match="cannot read chunks from int"):
                await turn.round(3)

    with pytest.raises(UnknownBackend, match="openai-chat"):
        Pipeline(Settings(backend="openai-chatt"))
    run_async.run(run())


def test_the_chain_in_force_describes_itself() -> None:
    lines = pipeline().describe().splitlines()
    assert lines[0] == "read(openai-chat)"
    assert "coalesce(50 ms)" in lines


def test_calls_written_into_the_text_have_ids_of_their_own_in_every_round(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    call = '<tool_call>{"name": "ls", "arguments": {}}</tool_call>'

    async def run() -> None:
        async with pipeline(screen, tool_engine="tags").turn() as turn:
            for _ in range(2):
                reply = await turn.round(says(call))
                with turn.tool(reply.tool_calls[0]) as block:
                    block.result("ok")

    run_async.run(run())
    ends = [update for update in screen.of(ToolBlockUpdate) if update.stage == "end"]
    assert [(end.id, end.success) for end in ends] == [("call-1", True), ("call-2", True)]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("backend", ["openai-chat", "text"])
def test_a_source_that_sends_the_whole_text_so_far_is_not_doubled(
    backend: str, at_once: bool, run_async: asyncio.Runner
) -> None:
    texts = ["A", "AB", "ABC", "ABCD"]

    async def run() -> str:
        settings = Settings(backend=backend, deltas="accumulated")
        async with Pipeline(settings).turn() as turn:
            if backend == "text":
                return (await turn.round(texts if at_once else [text.encode() for text in texts])).text
            chunks = says(*texts)
            return (await turn.round([b"".join(chunks)] if at_once else chunks)).text

    assert run_async.run(run()) == "ABCD"


def test_records_out_of_order_are_put_back_and_a_gap_is_told(run_async: asyncio.Runner, screen: Screen) -> None:
    def delta(number: int, piece: str) -> bytes:
        record = {"type": "response.output_text.delta", "sequence_number": number, "item_id": "i", "delta": piece}
        return b"data: " + json.dumps({**record, "output_index": 0, "content_index": 0}).encode() + b"\n\n"

    created = b'data: {"type":"response.created","sequence_number":0,"response":{"id":"r"}}\n\n'
    done = b'data: {"type":"response.completed","sequence_number":6,"response":{"id":"r","status":"completed"}}\n\n'

    async def run() -> str:
        settings = Settings(backend="openai-responses", reorder_window_items=8)
        async with Pipeline(settings, sinks=[screen.sink]).turn() as turn:
            chunks = [created, delta(2, "b"), delta(1, "a"), delta(3, "c"), delta(5, "e"), done]
            return (await turn.round(chunks)).text

    assert run_async.run(run()) == "abce"
    assert [error.code for error in screen.of(StreamError)] == ["gap"]


def test_an_operator_of_ones_own_that_raises_ends_the_round_in_an_error_and_nothing_else(
    run_async: asyncio.Runner, screen: Screen
) -> None:
    class Picky(Stage[Event, Event]):
        def feed(self, item: Event) -> None:
            if isinstance(item, TextDelta) and "bad" in item.text:
                raise ValueError("not this one")
            self.emit(item)

    async def run() -> None:
        settings = Settings(backend="openai-chat", window_s=0)
        own: Operator[Event, Event] = Operator("picky", Picky)
        async with Pipeline(settings, sinks=[screen.sink], extra_operators=[own]).turn() as turn:
            reply = await turn.round(says("good ", "bad ", "unread"))
            assert reply.error is not None
            assert (reply.error.code, reply.error.message) == ("operator_failed", "ValueError: not this one")
            assert (await turn.round(says("again"))).text == "again"
        assert turn.final_message == "again"

    run_async.run(run())
    assert [error.code for error in screen.of(StreamError)] == ["operator_failed"]
