"""`penstock record`: raw bytes with their timing, for replay, tests and benchmarks."""

import argparse
import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import IO, TYPE_CHECKING

from penstock.cli.options import Subparsers, add_command, add_common
from penstock.cli.run import source_of
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.sources.chunks import Source

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock record session.jsonl -- codex exec --json "…"
  some-agent | penstock record session.jsonl | penstock run
  penstock record session.jsonl -o terminal -- claude -p --output-format stream-json --verbose "…"

Without -o, the bytes pass through to standard output as they are.
"""


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "record", run, "write the raw bytes of an agent with their timing to a file", EXAMPLES
    )
    parser.usage = "penstock record FILE [options] [-- PROGRAM ARGUMENT…]"
    parser.add_argument("file", metavar="FILE", help="the recording; it must not exist yet")
    parser.add_argument("--overwrite", action="store_true", help="make FILE anew where it exists")
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    from penstock.sources.recorder import record

    source = source_of(arguments.program)
    with _new_file(arguments.file, arguments.overwrite) as file:
        recorded = record(source, file)
        if arguments.output is None:
            return asyncio.run(_pass_on(recorded))
        from penstock.cli.show import show

        return show(arguments, lambda turn: turn.round(recorded))


def _new_file(name: str, overwrites: bool) -> IO[bytes]:
    try:
        return Path(name).open("wb" if overwrites else "xb", buffering=0)
    except FileExistsError as error:
        raise UsageError(f"{name} exists; --overwrite makes it anew") from error
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error


async def _pass_on(source: "Source") -> int:
    from penstock.cli.ending import Ending
    from penstock.cli.output import Guarded

    ending = Ending()
    output = Guarded(sys.stdout.buffer, ending.output_failed)

    async def copy() -> None:
        async with aclosing(source) as chunks:
            async for chunk in chunks:
                output.write(chunk)

    await ending.of(copy())
    output.flush()
    return ending.status
