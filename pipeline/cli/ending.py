"""How a command ends when it does not end by itself: by a signal, or because its output cannot be written."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["BROKEN_PIPE", "Ending", "discard_output"]

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
BROKEN_PIPE = 128 + 13  # what a shell reports of a program that died of SIGPIPE


class Ending:
    """Runs a command's work until it is done or must stop; `status` is the exit status in the latter case, else 0.

    The first signal stops the work, which then ends what it started in good order; the second one hurries it.
    """

    def __init__(self) -> None:
        self.status = 0
        self._loop = asyncio.get_running_loop()
        self._stopped = self._loop.create_future()
        self._work: asyncio.Future[Any] | None = None

    def stop(self, status: int) -> None:
        """Stop the work."""
        if self.status == 0:
            self.status = status
            self._stopped.set_result(None)
        elif self._work is not None:
            self._work.cancel()

    def output_failed(self, error: OSError) -> None:
        """Standard output cannot be written any more: quietly where its reader has gone, else with a line."""
        if isinstance(error, BrokenPipeError):
            self.stop(BROKEN_PIPE)
        else:
            print(f"penstock: cannot write the output: {error.strerror or error}", file=sys.stderr)
            self.stop(1)
        discard_output()

    async def of(self, work: Coroutine[Any, Any, object], abort: Callable[[], object] = lambda: None) -> None:
        """Wait for `work`; where it must stop, call `abort`, cancel it, and wait until it has cleaned up."""
        self._work = asyncio.ensure_future(work)
        with self._signals():
            await asyncio.wait({self._work, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
            if not self._work.done():
                abort()
                self._work.cancel()
                await asyncio.wait({self._work})
        error = None if self._work.cancelled() else self._work.exception()
        if error is not None and self.status == 0:
            raise error

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {}
        for number in (getattr(signal, name) for name in SIGNALS if hasattr(signal, name)):
            handler = signal.getsignal(number)
            if handler is signal.SIG_IGN:
                continue  # as under nohup
            try:
                self._loop.add_signal_handler(number, self.stop, 128 + number)
            except (NotImplementedError, RuntimeError, ValueError):
                break  # not the main thread, or a loop without signals: an interrupt is a KeyboardInterrupt then
            before[number] = handler
        try:
            yield
        finally:
            for number, handler in before.items():
                self._loop.remove_signal_handler(number)
                signal.signal(number, handler or signal.SIG_DFL)  # a display that is still open has its own


def discard_output() -> None:
    """What the interpreter still holds for standard output must not fail once more when it exits."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
