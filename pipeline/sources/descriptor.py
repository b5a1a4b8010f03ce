"""Bytes of a file descriptor as they come: a pipe, a terminal, a socket."""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator

from penstock.sources.threaded import iterate_in_thread

__all__ = ["Descriptor", "standard_input"]

_READ_BYTES = 64 * 1024


class Descriptor:
    """Reads a descriptor when it is readable, so nothing blocks and nothing is read before it is asked for.

    The descriptor's own flags stay as they are: a terminal shares them with standard output, and a
    non-blocking standard output loses what does not fit.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._loop = asyncio.get_running_loop()
        self._patience_s: float | None = None
        self._waiting: asyncio.Future[bool] | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def read(self) -> bytes:
        """The next bytes; nothing at the end, or after a longer silence than was granted.

        `PermissionError` where the descriptor is one that cannot be waited for, such as a regular file.
        """
        self._waiting = self._loop.create_future()
        self._loop.add_reader(self._number, self._wake, True)
        self._start_timer()
        try:
            is_readable = await self._waiting
        finally:
            self._loop.remove_reader(self._number)
            if self._timer is not None:
                self._timer.cancel()
            self._waiting = self._timer = None
        return os.read(self._number, _READ_BYTES) if is_readable else b""

    def end_after_silence(self, patience_s: float) -> None:
        """From now on, a silence of `patience_s` counts as the end."""
        self._patience_s = patience_s
        if self._waiting is not None:
            self._start_timer()

    def _start_timer(self) -> None:
        if self._patience_s is not None:
            self._timer = self._loop.call_later(self._patience_s, self._wake, False)

    def _wake(self, is_readable: bool) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(is_readable)


async def standard_input(number: int = 0) -> AsyncGenerator[bytes, None]:
    """The bytes of standard input, for `some-agent | penstock run`, whatever stands behind it."""
    descriptor = Descriptor(number)
    try:
        while chunk := await descriptor.read():
            yield chunk
    except (PermissionError, NotImplementedError):
        # A regular file, or an event loop that cannot wait for descriptors.
        async for chunk in iterate_in_thread(_blocking_reads(number)):
            yield chunk


def _blocking_reads(number: int) -> Iterator[bytes]:
    while chunk := os.read(number, _READ_BYTES):
        yield chunk
