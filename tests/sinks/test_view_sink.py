"""View modes of one consumer: collapsed is live, expanded is frozen, nothing is lost (seed 000, story 3)."""

import asyncio
from typing import Any

import pytest
from chat_stream import answer, event

from penstock import AssistantUpdate, Completed, MessagesChanged, Pipeline, Settings, UsageError
from penstock.operators import View
from penstock.sinks import CallbackSink, ViewSink
from penstock.testing import RecordingSink, assert_balanced, assert_order


def texts(sink: RecordingSink) -> list[str]:
    return [update.content for update in sink.of(AssistantUpdate)]


def test_fr_007_fr_008_one_consumer_is_frozen_while_the_others_and_the_state_go_on(
    run_async: asyncio.Runner,
) -> None:
    view, frozen, live = View(), RecordingSink(), RecordingSink()

    async def run() -> None:
        pipeline = Pipeline(Settings(backend="openai-chat", window_s=0), sinks=[ViewSink(frozen, view), live])
        async with pipeline.turn() as turn:
            round_ = turn.open_round()
            round_.feed(event({"content": "one "}))
            view.expand()
            round_.feed(event({"content": "two "}))
            assert (texts(frozen), texts(live)) == (["one "], ["one ", "one two "])
            view.collapse()
            assert texts(frozen)[-1] == "one two ", "the current state, at once"
            view.expand()
            round_.feed(event({"content": "three"}))
            round_.feed(answer())
            round_.finish()
            assert turn.messages[-1].text == "one two three"

    run_async.run(run())
    assert not frozen.of(Completed), "frozen, also at completion"
    assert (frozen.closed, live.closed) == (0, 1)
    view.collapse()
    assert (frozen.closed, live.closed) == (1, 1)
    assert texts(frozen)[-1] == "one two three"
    assert frozen.of(MessagesChanged)[-1] == live.of(MessagesChanged)[-1]
    for sink in (frozen, live):
        assert_order(sink.items)
        assert_balanced(sink.items)


def test_a_view_may_freeze_several_sinks_and_several_turns(run_async: asyncio.Runner) -> None:
    view, one, other = View(), RecordingSink(), RecordingSink()
    view.expand()

    async def run() -> None:
        pipeline = Pipeline(Settings(backend="openai-chat"), sinks=[ViewSink(one, view), ViewSink(other, view)])
        for text in ("first", "second"):
            async with pipeline.turn() as turn:
                await turn.round([answer(text)])

    run_async.run(run())
    assert not one.items
    view.collapse()
    assert [completed.message for completed in one.of(Completed)] == ["first", "second"]
    assert one.closed == other.closed == 2


def test_an_asynchronous_sink_is_refused_in_words() -> None:
    async def callback(item: Any) -> None: ...

    with pytest.raises(UsageError, match="asynchronous"):
        ViewSink(CallbackSink(on_item=callback), View())
