"""What `-o` means: the sink that prints, and standard output as the sinks see it."""

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any, cast

from penstock.events import StreamError
from penstock.one_line import one_line
from penstock.sinks.sink import Item, Sink
from penstock.updates import Completed

__all__ = ["ErrorSink", "FinalSink", "Guarded", "chosen_output", "printing_sink"]

_ERROR_WIDTH = 500
_MAX_ERRORS = 20


class Guarded:
    """A stream that does not raise: a reader that went away, or a full disk, is told to `on_failure`, once.

    What is written is flushed when the event loop has a moment, so that a reader sees it at once and a burst costs little.
    """

    def __init__(self, stream: Any, on_failure: Callable[[OSError], object]) -> None:
        self._stream = stream
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._will_flush = False
        self._has_failed = False
        # JSON passes C1 controls as they are, and a terminal obeys them.
        self._is_json_on_terminal = "b" in getattr(stream, "mode", "b") and stream.isatty()

    def write(self, data: Any) -> int:
        if not self._has_failed:
            if self._is_json_on_terminal:
                data = _CONTROL.sub(_escaped, data)
            try:
                self._stream.write(data)
            except OSError as error:
                self._fail(error)
            if not self._will_flush:
                self._will_flush = True
                self._loop.call_soon(self.flush)
        return len(data)

    def flush(self) -> None:
        self._will_flush = False
        if not self._has_failed:
            try:
                self._stream.flush()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._has_failed = True
        self._on_failure(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
