"""One turn on standard output, printed as the common options say."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.cli.ending import Ending
from penstock.cli.options import settings_of
from penstock.cli.output import ErrorSink, default_output, printing_sink
from penstock.errors import UsageError
from penstock.pipeline import Pipeline
from penstock.turn import Turn

__all__ = ["show"]


def show(arguments: argparse.Namespace, feed: Callable[[Turn], Coroutine[Any, Any, object]]) -> int:
    """Run a turn that `feed` feeds; gives back the exit status."""
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    with _logs_to_stderr():
        return asyncio.run(_show(arguments, feed))


async def _show(arguments: argparse.Namespace, feed: Callable[[Turn], Coroutine[Any, Any, object]]) -> int:
    output = arguments.output or default_output()
    ending = Ending()
    pipeline = Pipeline(
        settings_of(arguments),
        sinks=[printing_sink(output, ending.output_failed), ErrorSink(waits=output == "terminal")],
        on_backend_chosen=_tell_backend if arguments.verbose else None,
    )
    pipeline.reading()  # wrong settings are wrong usage: say so before anything is shown or started
    async with pipeline.turn() as turn:
        await ending.of(feed(turn), lambda: turn.abort("interrupted"))
    sys.stdout.flush()
    return ending.status or (1 if turn.result.error is not None else 0)


def _tell_backend(name: str) -> None:
    print(f"penstock: recognised {name}", file=sys.stderr)


@contextmanager
def _logs_to_stderr() -> Iterator[None]:
    """A sink that fails is logged; standard output is not the place for it."""
    import structlog

    if structlog.is_configured():
        yield
        return
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    try:
        yield
    finally:
        structlog.reset_defaults()
