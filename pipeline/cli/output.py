"""What `-o` means: the sink that prints, and standard output as the sinks see it."""

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TextIO, cast

from penstock.config.configuration import Configuration
from penstock.config.parts import log_sink, terminal_options, text_sink
from penstock.events import StreamError
from penstock.one_line import one_line
from penstock.sinks.sink import Item, Sink
from penstock.sinks.text import TextSink

__all__ = ["ErrorSink", "Guarded", "printing_sinks"]

_ERROR_CELLS = 500
_MAX_ERRORS = 20


class Guarded:
    """A stream that does not raise: a reader that went away, or a full disk, is told to `on_failure`, once.

    What is written is flushed when the event loop has a moment: a reader sees it at once, and a burst costs little.
    """

    def __init__(self, stream: Any, on_failure: Callable[[OSError], object]) -> None:
        self._stream = stream
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._will_flush = False
        self._has_failed = False

    def write(self, data: Any) -> int:
        if not self._has_failed:
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


class _JsonForTerminal(Guarded):
    """JSON may hold C1 controls as they are, and a terminal would obey them; escaped, it is the same JSON."""

    def write(self, data: bytes) -> int:
        return super().write(_CONTROL.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data))


_CONTROL = re.compile(rb"\x7f|\xc2[\x80-\x9f]")


class ErrorSink(Sink):
    """Trouble inside the stream, one line each on standard error.

    Where a display is live it `waits` until that is over, and `skips_fatal` trouble that is shown there already.
    """

    accepts = frozenset({StreamError})

    def __init__(self, *, waits: bool = False, skips_fatal: bool = False) -> None:
        self._waits = waits
        self._skips_fatal = skips_fatal
        self._lines: list[str] = []
        self._count = 0

    def on_next(self, item: Item) -> None:
        if not isinstance(item, StreamError) or (item.is_fatal and self._skips_fatal):
            return
        self._count += 1
        if self._count <= _MAX_ERRORS:
            line = one_line(f"penstock: {item.code}: {item.message}", _ERROR_CELLS)
            if self._waits:
                self._lines.append(line)
            else:
                _tell(line)

    def close(self) -> None:
        if self._count > _MAX_ERRORS:
            self._lines.append(f"penstock: … and {self._count - _MAX_ERRORS} more like these")
        for line in self._lines:
            _tell(line)


def _tell(line: str) -> None:
    sys.stdout.flush()
    print(line, file=sys.stderr, flush=True)


def printing_sinks(configuration: Configuration, on_failure: Callable[[OSError], object]) -> list[Sink]:
    """The sinks that print what is asked for to standard output; with `auto`, what suits the place."""
    output = configuration.output
    if output == "none":
        return [ErrorSink()]
    if output == "events" or output == "updates" or output == "log":
        make = _JsonForTerminal if sys.stdout.isatty() else Guarded
        lines = cast(BinaryIO, make(sys.stdout.buffer, on_failure))
        if output == "log":
            return [log_sink(configuration, lines)]
        from penstock.sinks.jsonl import JsonlSink

        return [JsonlSink(lines, output), ErrorSink()]
    stream = cast(TextIO, Guarded(sys.stdout, on_failure))
    if output == "final":
        from penstock.sinks.final import FinalSink

        return [FinalSink(stream), ErrorSink()]
    if output == "text":
        return [text_sink(configuration, stream), ErrorSink()]
    from penstock.sinks.choose import output_sinks
    from penstock.sinks.terminal import TerminalSink

    options = terminal_options(configuration)
    sinks = [TerminalSink(stream, **options)] if output == "terminal" else output_sinks(stream, **options)
    sinks = [text_sink(configuration, stream) if type(sink) is TextSink else sink for sink in sinks]
    is_shown = isinstance(sinks[0], TerminalSink) and sys.stderr.isatty()
    return [*sinks, ErrorSink(waits=True, skips_fatal=is_shown)]
