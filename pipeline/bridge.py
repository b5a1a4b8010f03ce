"""Between asyncio and Rx, which has neither an asynchronous source nor an asynchronous output of its own."""

import asyncio
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, TypeVar

import reactivex
from reactivex import Observable, abc
from reactivex.disposable import Disposable

from penstock.sinks.mailbox import Mailbox

__all__ = ["from_async_iterable", "to_async_iterable"]

T = TypeVar("T")


def from_async_iterable(items: AsyncIterable[T]) -> Observable[T]:
    """An Observable of an asynchronous iterable's items, read in a task of the running event loop.

    Nothing is buffered: the next item is asked for when the subscribers are done with the last. Disposal cancels
    the task and closes the iterable; its exception becomes `on_error`.
    """

    def subscribe(observer: abc.ObserverBase[T], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        async def read() -> None:
            try:
                async for item in items:
                    observer.on_next(item)
            except Exception as error:
                observer.on_error(error)
            else:
                observer.on_completed()
            finally:
                close = getattr(items, "aclose", None)
                if close is not None:
                    await close()

        task = asyncio.get_running_loop().create_task(read(), name="penstock bridge")
        return Disposable(lambda: _cancel(task))

    return reactivex.create(subscribe)


async def to_async_iterable(
    source: Observable[Any], *, max_items: int = 256, max_chars: int = 1 << 20
) -> AsyncIterator[Any]:
    """An Observable's items as an asynchronous iterable, through a bounded mailbox.

    Rx cannot be asked to wait, so a consumer that is slower than the source gets merged deltas
    (`penstock.sinks.mailbox`); finals are never dropped. Leaving the loop disposes of the subscription.
    """
    mailbox = Mailbox(max_items, max_chars)
    loop = asyncio.get_running_loop()
    thread = threading.get_ident()
    arrived = asyncio.Event()
    ended: list[Exception | None] = []

    def on_loop(action: Callable[[Any], None], argument: Any) -> None:
        # The source may push from another thread.
        if threading.get_ident() == thread:
            action(argument)
        else:
            loop.call_soon_threadsafe(action, argument)

    def take(item: Any) -> None:
        mailbox.put(item)
        arrived.set()

    def end(error: Exception | None) -> None:
        ended.append(error)
        arrived.set()

    subscription = source.subscribe(
        lambda item: on_loop(take, item), lambda error: on_loop(end, error), lambda: on_loop(end, None)
    )
    try:
        while True:
            while len(mailbox):
                yield mailbox.take()
            if ended and not len(mailbox):
                break
            await arrived.wait()
            arrived.clear()
        if ended[0] is not None:
            raise ended[0]
    finally:
        subscription.dispose()


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
