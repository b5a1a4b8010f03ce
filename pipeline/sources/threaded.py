"""A blocking iterable, read in a thread so that the event loop goes on."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from typing import Any, TypeVar

__all__ = ["iterate_in_thread"]

T = TypeVar("T")

_MAX_WAITING = 64
_PATIENCE_S = 2.0


async def iterate_in_thread(items: Iterable[T], owner: Any = None) -> AsyncGenerator[T, None]:
    """The items of a blocking iterable; at most a few wait, so a slow consumer slows the thread, not memory.

    Leaving early closes `owner` from the event loop's thread, which is what unblocks a read on a socket or a pipe,
    and waits for the thread. An iterable that blocks and has no owner to close cannot be interrupted: its (daemon)
    thread is left to end by itself after `_PATIENCE_S`.
    """
    reader = _Reader(items)
    thread = threading.Thread(target=reader.run, name="penstock source", daemon=True)
    thread.start()
    try:
        while True:
            while reader.items:
                yield reader.take()
            if reader.is_over:
                if reader.items:
                    continue
                break
            await reader.wait()
        if reader.error is not None:
            raise reader.error
    finally:
        reader.stop()
        if not reader.is_over and owner is not None:
            owner.close()
        await reader.ended(_PATIENCE_S)
        if reader.is_over:
            thread.join()


class _Reader:
    """The state the two threads share."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items: deque[Any] = deque()
        self.is_over = False
        self.error: Exception | None = None
        self._source = items
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._room = threading.Semaphore(_MAX_WAITING)
        self._is_stopped = False

    def run(self) -> None:
        try:
            for item in self._source:
                self._room.acquire()
                if self._is_stopped:
                    break
                self.items.append(item)
                if len(self.items) == 1:
                    self._wake()
        except Exception as error:
            if not self._is_stopped:
                self.error = error
        finally:
            close = getattr(self._source, "close", None)
            if close is not None:
                close()
            self.is_over = True
            self._wake()

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def take(self) -> Any:
        item = self.items.popleft()
        self._room.release()
        return item

    async def wait(self) -> None:
        if not self.items and not self.is_over:
            await self._arrived.wait()
        self._arrived.clear()

    async def ended(self, timeout_s: float) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                while not self.is_over:
                    self.items.clear()
                    await self.wait()
        except TimeoutError:
            pass

    def stop(self) -> None:
        self._is_stopped = True
        self._room.release()
