"""One turn on standard output, printed as the common options say."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from penstock.cli.ending import Ending
from penstock.cli.options import configured
from penstock.cli.output import printing_sinks
from penstock.errors import UsageError
from penstock.sinks.sink import Sink
from penstock.sinks.terminal import TerminalSink
from penstock.turn import Turn

__all__ = ["show", "watched_sinks"]


def show(arguments: argparse.Namespace, feed: Callable[[Turn], Coroutine[Any, Any, object]]) -> int:
    """Run a turn that `feed` feeds; gives back the exit status."""
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    with watched_sinks() as failures:
        status = asyncio.run(_show(arguments, feed))
    return status or (1 if failures else 0)


async def _show(arguments: argparse.Namespace, feed: Callable[[Turn], Coroutine[Any, Any, object]]) -> int:
    ending = Ending()
    loaded = configured(arguments)
    pipeline = loaded.pipeline(
        printing_sinks(loaded.configuration, ending.output_failed),
        on_backend_chosen=_tell_backend if arguments.verbose else None,
    )
    pipeline.reading()  # wrong settings are wrong usage: say so before anything is shown or started
    async with pipeline.turn() as turn:
        await ending.of(_shown(feed(turn), pipeline.sinks), lambda: turn.abort("interrupted"))
    sys.stdout.flush()
    return ending.status or (1 if turn.result.error is not None else 0)


async def _shown(work: Coroutine[Any, Any, object], sinks: Iterable[Sink]) -> None:
    """The work, and then as long as somebody reads the expanded view, which the end of the turn takes away."""
    await work
    for sink in sinks:
        if isinstance(sink, TerminalSink):
            await sink.until_collapsed()


def _tell_backend(name: str) -> None:
    print(f"penstock: recognised {name}", file=sys.stderr)


@contextmanager
def watched_sinks() -> Iterator[list[str]]:
    """The turn goes on without a sink that fails, and logs it: here that means nothing is printed any more."""
    import structlog

    failures: list[str] = []

    def note(_logger: Any, _method: str, record: MutableMapping[str, Any]) -> str:
        failures.append(f"{record.get('sink', '')} failed in {record.get('doing', '')}: {record.get('error', '')}")
        return f"penstock: {failures[-1]}"

    if structlog.is_configured():
        yield failures
        return
    processors = [note]
    structlog.configure(processors=processors, logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    try:
        yield failures
    finally:
        structlog.reset_defaults()
