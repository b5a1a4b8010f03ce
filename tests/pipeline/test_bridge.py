"""Between asyncio and Rx: bounded, closed, nothing lost."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
import reactivex
from reactivex import operators as rx
from reactivex.subject import Subject

from penstock.bridge import from_async_iterable, to_async_iterable
from penstock.events import Text, TextDelta


async def numbers(log: list[str], count: int = 3, fails: bool = False) -> AsyncIterator[int]:
    try:
        for number in range(count):
            yield number
            await asyncio.sleep(0)
        if fails:
            raise ValueError("source broke")
        if count > 3:
            await asyncio.Event().wait()
    finally:
        log.append("closed")


def test_an_async_iterable_becomes_an_observable(run_async: asyncio.Runner) -> None:
    log: list[str] = []

    async def run() -> list[int]:
        return await from_async_iterable(numbers(log)).pipe(rx.to_list())

    assert run_async.run(run()) == [0, 1, 2]
    assert log == ["closed"]


def test_its_exception_becomes_on_error(run_async: asyncio.Runner) -> None:
    log: list[str] = []

    async def run() -> None:
        await from_async_iterable(numbers(log, fails=True)).pipe(rx.to_list())

    with pytest.raises(ValueError, match="source broke"):
        run_async.run(run())
    assert log == ["closed"]


def test_disposal_cancels_the_task_and_closes_the_iterable(run_async: asyncio.Runner) -> None:
    log: list[str] = []
    seen: list[int] = []

    async def run() -> None:
        subscription = from_async_iterable(numbers(log, count=4)).subscribe(seen.append)
        while len(seen) < 4:
            await asyncio.sleep(0)
        subscription.dispose()
        while not log:
            await asyncio.sleep(0)

    run_async.run(run())
    assert (seen, log) == ([0, 1, 2, 3], ["closed"])


def test_an_observable_becomes_an_async_iterable(run_async: asyncio.Runner) -> None:
    async def run() -> list[Any]:
        return [item async for item in to_async_iterable(reactivex.of(1, 2, 3))]

    assert run_async.run(run()) == [1, 2, 3]


def test_an_error_is_raised_after_what_came_before(run_async: asyncio.Runner) -> None:
    seen: list[Any] = []

    async def run() -> None:
        source = reactivex.concat(reactivex.of(1), reactivex.throw(ValueError("torn")))
        async for item in to_async_iterable(source):
            seen.append(item)  # noqa: PERF401  # what was seen before the error counts

    with pytest.raises(ValueError, match="torn"):
        run_async.run(run())
    assert seen == [1]


def test_a_slow_consumer_gets_merged_deltas_and_every_final(run_async: asyncio.Runner) -> None:
    source: Subject[Any] = Subject()

    async def run() -> list[Any]:
        stream = to_async_iterable(source)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        for letter in "hello":
            source.on_next(TextDelta(letter, 0))
        source.on_next(Text("hello", 0))
        source.on_completed()
        return [await first, *[item async for item in stream]]

    assert run_async.run(run()) == [TextDelta("hello", 0), Text("hello", 0)]


def test_a_source_on_another_thread_is_safe(run_async: asyncio.Runner) -> None:
    source: Subject[int] = Subject()

    def push() -> None:
        for number in range(500):
            source.on_next(number)
        source.on_completed()

    async def run() -> list[Any]:
        stream = to_async_iterable(source)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        thread = threading.Thread(target=push)
        thread.start()
        items = [await first, *[item async for item in stream]]
        thread.join()
        return items

    assert run_async.run(run()) == list(range(500))


def test_leaving_the_loop_disposes_of_the_subscription(run_async: asyncio.Runner) -> None:
    source: Subject[int] = Subject()

    async def run() -> None:
        stream = to_async_iterable(source)
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        source.on_next(1)
        assert await first == 1
        assert len(source.observers) == 1
        await stream.aclose()  # type: ignore[attr-defined]
        assert len(source.observers) == 0

    run_async.run(run())
