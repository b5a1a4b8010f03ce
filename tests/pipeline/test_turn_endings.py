"""How turns end: early, twice, by force, in the middle of a tool. One terminal event each, nothing left open."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from chat_stream import answer, event
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Completed, Pipeline, Settings, ToolBlockUpdate, Turn, TurnClosed, TurnCompleted
from penstock.events import Text, ToolInvocation
from penstock.sinks.sink import Item, Sink
from penstock.testing import (
    RecordingSink,
    VirtualClock,
    assert_balanced,
    assert_order,
    assert_tool_stages,
    scripted,
)

CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": '{"path":"a.py"}'}}
CALLS = event({"content": "I look."}) + event({"tool_calls": [CALL]}, "tool_calls") + b"data: [DONE]\n\n"


@pytest.fixture
def seen() -> RecordingSink:
    return RecordingSink()


def pipeline(seen: RecordingSink, **settings: Any) -> Pipeline:
    return Pipeline(Settings(backend="openai-chat", **settings), sinks=[seen])


def check_ended(seen: RecordingSink, reason: str, message: str) -> None:
    """The turn ended once, for this reason, with this message; everything open was closed and the sink let go."""
    assert_order(seen.items)
    assert_balanced(seen.items)
    assert_tool_stages(seen.items)
    assert [ended.stop_reason for ended in seen.of(TurnCompleted)] == [reason]
    assert [(ended.message, ended.reason) for ended in seen.of(Completed)] == [(message, reason)]
    assert seen.closed == 1


class Silent:
    """A source that says something and then never anything again; knows whether it was closed."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks
        self.is_waiting = asyncio.Event()
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for chunk in self._chunks:
                yield chunk
            self.is_waiting.set()
            await asyncio.Event().wait()
        finally:
            self.closed += 1


@pytest.mark.parametrize("ending", ["finish", "leave", "abort", "complete", "close"])
def test_what_has_arrived_and_waits_for_the_window_is_kept_however_the_turn_ends(
    ending: str, run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> Turn:
        async with pipeline(seen).turn() as turn:
            round_ = turn.open_round()
            for text in ("one ", "two ", "three"):
                round_.feed(event({"content": text}))
            if ending == "finish":
                round_.finish()
            elif ending == "abort":
                turn.abort()
            elif ending == "complete":
                turn.complete("early")
            elif ending == "close":
                await turn.close()
        return turn

    turn = run_async.run(run())
    assert [message.text for message in turn.messages] == ["one two three"]
    assert turn.result.chunks == 3
    assert "".join(final.text for final in seen.of(Text)) == "one two three"
    assert seen.closed == 1


@pytest.mark.parametrize("ending", ["finish", "abort"])
def test_chunks_that_come_after_the_end_are_dropped_and_set_no_timer(ending: str, seen: RecordingSink) -> None:
    clock = VirtualClock()

    async def run() -> Turn:
        async with Pipeline(Settings(backend="openai-chat"), sinks=[seen], clock=clock).turn() as turn:
            round_ = turn.open_round()
            round_.feed(event({"content": "in time"}))
            round_.finish() if ending == "finish" else turn.abort()
            round_.feed(event({"content": "too late"}))
            round_.feed(event({"content": "too late"}))
            assert clock.waiting == 0
        return turn

    turn = asyncio.run(run())
    assert [message.text for message in turn.messages] == ["in time"]
    assert turn.result.chunks == 1


# ── early exits ──────────────────────────────────────────────────────────────────────────────────────────


def test_sc5_g1_g6_a_hint_request_after_rounds_returns_its_own_message(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> Turn:
        async with pipeline(seen).turn() as turn:
            reply = await turn.round([CALLS])
            with turn.tool(reply.tool_calls[0]) as block:
                block.result("two files match")
            turn.complete("Which of the two files do you mean?")
        return turn

    turn = run_async.run(run())
    assert turn.final_message == turn.result.final_message == "Which of the two files do you mean?"
    check_ended(seen, "completed", "Which of the two files do you mean?")


def test_sc5_a_refusal_is_returned_as_the_message(run_async: asyncio.Runner, seen: RecordingSink) -> None:
    async def run() -> Turn:
        async with pipeline(seen).turn() as turn:
            await turn.round([event({"refusal": "I cannot "}), event({"refusal": "do that."}), answer()])
        return turn

    assert run_async.run(run()).final_message == "I cannot do that."
    check_ended(seen, "completed", "I cannot do that.")


def test_g1_an_early_exit_before_any_round_keeps_its_message(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> Turn:
        async with pipeline(seen).turn() as turn:
            turn.complete("Nothing to do.")
            turn.complete("Something else.")
            with pytest.raises(TurnClosed):
                await turn.round([answer("more")])
        return turn

    assert run_async.run(run()).final_message == "Nothing to do."
    check_ended(seen, "completed", "Nothing to do.")


def test_an_early_exit_in_the_middle_of_a_round_closes_what_is_open(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> None:
        source = Silent(event({"content": "Let me"}))
        async with pipeline(seen).turn() as turn:
            reading = asyncio.create_task(turn.round(source))
            await source.is_waiting.wait()
            turn.complete("Enough.")
            assert (await reading).text == "Let me"
        assert source.closed == 1

    run_async.run(run())
    check_ended(seen, "completed", "Enough.")


def test_the_final_message_a_backend_names_wins_over_the_last_rounds_text(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    said = {"role": "assistant", "id": "m", "type": "message", "content": [{"type": "text", "text": "Working."}]}
    named = {"type": "result", "subtype": "success", "is_error": False, "result": "All done.", "session_id": "s"}
    records = [{"type": "assistant", "message": said, "session_id": "s", "parent_tool_use_id": None}, named]

    async def run() -> Turn:
        async with pipeline(seen).turn() as turn:
            source = [json.dumps(record).encode() + b"\n" for record in records]
            assert (await turn.round(source, backend="claude-cli")).final_message == "All done."
        return turn

    assert run_async.run(run()).final_message == "All done."
    check_ended(seen, "completed", "All done.")


# ── by force ─────────────────────────────────────────────────────────────────────────────────────────────


def test_aborting_during_a_tool_ends_it_once_as_interrupted(run_async: asyncio.Runner, seen: RecordingSink) -> None:
    async def run() -> None:
        async with pipeline(seen).turn() as turn:
            reply = await turn.round([CALLS])
            with turn.tool(reply.tool_calls[0]) as block:
                turn.abort()
                block.progress("too late")
                block.result("too late")
            with pytest.raises(TurnClosed):
                turn.tool(reply.tool_calls[0])

    run_async.run(run())
    check_ended(seen, "aborted", "I look.")
    (end,) = [update for update in seen.of(ToolBlockUpdate) if update.stage == "end"]
    assert (end.success, end.error, end.result) == (False, "interrupted", None)


def test_cancelling_during_a_tool_ends_it_once_and_keeps_what_was_said(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    running = asyncio.Event()

    async def loop() -> None:
        async with pipeline(seen).turn() as turn:
            reply = await turn.round([CALLS])
            async with turn.tool(reply.tool_calls[0]):
                running.set()
                await asyncio.Event().wait()

    async def run() -> None:
        task = asyncio.create_task(loop())
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_async.run(run())
    check_ended(seen, "cancelled", "I look.")


def test_an_exception_inside_a_tool_ends_the_tool_and_then_the_turn(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> None:
        async with pipeline(seen).turn() as turn:
            reply = await turn.round([CALLS])
            async with turn.tool(reply.tool_calls[0]):
                raise LookupError("no such key")

    with pytest.raises(LookupError):
        run_async.run(run())
    check_ended(seen, "error", "I look.")
    (end,) = [update for update in seen.of(ToolBlockUpdate) if update.stage == "end"]
    assert end.error == "LookupError: no such key"


class Slow(Sink):
    """Holds the end of the turn up until it may go on."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def on_next(self, item: Item) -> None:
        self.is_asked.set()
        await self.may_go_on.wait()


@pytest.mark.parametrize("times", [2, 3])
def test_cancelling_again_while_the_turn_closes_leaves_nothing_behind(
    times: int, run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> None:
        slow, source = Slow(), Silent(event({"content": "partial"}))

        async def loop() -> None:
            async with pipeline(seen).turn(slow) as turn:
                await turn.round(source)

        task = asyncio.create_task(loop())
        await source.is_waiting.wait()
        await slow.is_asked.wait()
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        slow.may_go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert source.closed == 1

    run_async.run(run())
    check_ended(seen, "cancelled", "partial")


def test_closing_twice_and_leaving_afterwards_ends_once(run_async: asyncio.Runner, seen: RecordingSink) -> None:
    async def run() -> None:
        async with pipeline(seen).turn() as turn:
            await turn.round([answer("done")])
            await turn.close()
            await turn.close()
            turn.abort()
            turn.stop()
            turn.complete("other")
        await turn.close()
        assert (turn.final_message, turn.result.stop_reason) == ("done", "completed")

    run_async.run(run())
    check_ended(seen, "completed", "done")


def test_stop_abort_and_detach_are_different_verbs(run_async: asyncio.Runner, seen: RecordingSink) -> None:
    leaving = RecordingSink()

    async def run() -> None:
        async with pipeline(seen).turn(leaving) as turn:
            source = Silent(event({"content": "one"}))
            reading = asyncio.create_task(turn.round(source))
            await source.is_waiting.wait()
            turn.stop()  # the round
            assert (await reading).stop_reason == "stopped"
            turn.detach(leaving)  # one sink
            await turn.round([answer("two")])
            turn.abort()  # the turn
        assert turn.result.rounds == 2

    run_async.run(run())
    check_ended(seen, "aborted", "two")
    assert leaving.closed == 1
    assert not leaving.of(Completed)


def test_sc3_non_final_rounds_overwrite_and_the_end_clears(run_async: asyncio.Runner) -> None:
    clock = VirtualClock()
    seen = RecordingSink(clock)

    async def run() -> None:
        one = Pipeline(Settings(backend="openai-chat"), sinks=[seen], clock=clock)
        async with one.turn() as turn:
            for text in ("Reading the files…", "Checking the runtime…", "Here is the answer."):
                await turn.round(
                    scripted(
                        clock, *((0.1, event({"content": word + " "})) for word in text.split()), (0, answer())
                    )
                )

    run_async.run(run())
    from penstock import AssistantUpdate

    news = [update.content for update in seen.of(AssistantUpdate) if update.is_new]
    assert news == ["Reading ", "Checking ", "Here "], "each round begins anew, over the one before"
    assert not any("Reading" in update.content for update in seen.of(AssistantUpdate)[4:])
    check_ended(seen, "completed", "Here is the answer. ")


def test_the_result_counts_rounds_chunks_and_tokens_also_after_an_abort(
    run_async: asyncio.Runner, seen: RecordingSink
) -> None:
    async def run() -> Turn:
        source = Silent(event({"content": "a"}), event({"content": "b"}))
        async with pipeline(seen).turn() as turn:
            usage = {"id": "chat-1", "object": "chat.completion.chunk", "model": "m", "choices": [],
                     "usage": {"prompt_tokens": 7, "completion_tokens": 3}}  # fmt: skip
            told = b"data: " + json.dumps(usage).encode() + b"\n\n"
            await turn.round([event({"content": "x"}, "stop"), told, b"data: [DONE]\n\n"])
            reading = asyncio.create_task(turn.round(source))
            await source.is_waiting.wait()
            turn.abort()
            await reading
        return turn

    result = run_async.run(run()).result
    assert (result.stop_reason, result.rounds, result.chunks) == ("aborted", 2, 5)
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 3)
    assert [message.text for message in result.messages] == ["x", "ab"]


def test_a_turn_nobody_has_entered_has_nothing_to_end(run_async: asyncio.Runner, seen: RecordingSink) -> None:
    async def run() -> None:
        turn = pipeline(seen).turn()
        turn.abort()
        turn.stop()
        await turn.close()
        assert (turn.final_message, len(turn.messages)) == ("", 0)
        for too_early in (
            lambda: turn.complete("early"),
            lambda: turn.push(Text("early", 0)),
            lambda: turn.open_round(),
            lambda: turn.tool(ToolInvocation("call", "f", {}, 0)),
            lambda: turn.detach(seen),
        ):
            with pytest.raises(TurnClosed, match="enter the turn first"):
                too_early()
        async with turn:
            await turn.round([answer("all the same")])

    run_async.run(run())
    check_ended(seen, "completed", "all the same")


# ── at any moment ────────────────────────────────────────────────────────────────────────────────────────


class Told(Sink):
    """A slow sink that never holds anything up for long."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.closed = 0

    async def on_next(self, item: Item) -> None:
        await asyncio.sleep(0)
        self.items.append(item)

    async def close(self) -> None:
        self.closed += 1


@given(
    actions=st.lists(st.sampled_from(["abort", "stop", "cancel", "complete", "close"]), min_size=1, max_size=3),
    moments=st.lists(st.integers(0, 40), min_size=3, max_size=3),
    window_s=st.sampled_from([0.0, 3600.0]),
)
@settings(max_examples=150, deadline=None)
def test_ended_at_any_moment_in_any_way_a_turn_ends_once_and_leaves_nothing(
    actions: list[str], moments: list[int], window_s: float
) -> None:
    seen, told = RecordingSink(), Told()
    opened: list[str] = []

    async def source(number: int) -> AsyncIterator[bytes]:
        opened.append("open")
        try:
            yield event({"reasoning_content": "hm"})
            for piece in ("<think>", "hm</think>", "I ", "look. "):
                await asyncio.sleep(0)
                yield event({"content": piece})
            if number < 2:
                await asyncio.sleep(0)
                yield event({"tool_calls": [{**CALL, "id": f"call-{number}"}]})
            yield event({}, "stop")
            yield b"data: [DONE]\n\n"
        finally:
            opened.append("closed")

    async def loop(turn: Turn) -> None:
        async with turn:
            for number in range(3):
                reply = await turn.round(source(number))
                for call in reply.tool_calls:
                    async with turn.tool(call) as block:
                        await asyncio.sleep(0)
                        block.result("ok")

    async def run() -> Turn:
        turn = pipeline(seen, window_s=window_s).turn(told)
        task = asyncio.create_task(loop(turn))
        for action, moment in zip(actions, moments, strict=False):
            for _ in range(moment + 1):
                await asyncio.sleep(0)
            if action == "cancel":
                task.cancel()
            elif action == "close":
                await turn.close()
            elif action == "complete":
                turn.complete("early")
            elif action == "abort":
                turn.abort()
            else:
                turn.stop()
        await asyncio.wait([task])
        error = None if task.cancelled() else task.exception()
        assert error is None or isinstance(error, TurnClosed), error
        left = [other for other in asyncio.all_tasks() if other is not asyncio.current_task()]
        assert not left, f"tasks left behind: {left}"
        return turn

    with asyncio.Runner() as runner:
        turn = runner.run(run())
    assert opened.count("open") == opened.count("closed")
    for items, closed in ((seen.items, seen.closed), (told.items, told.closed)):
        assert closed == 1
        if items is seen.items or not any(action == "cancel" for action in actions):
            assert_order(items)
    assert_balanced(seen.items)
    assert_tool_stages(seen.items)
    assert len(seen.of(TurnCompleted)) == 1
    assert seen.of(Completed)[0].message == turn.final_message
