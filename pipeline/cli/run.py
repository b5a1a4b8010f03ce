"""`penstock run`: a CLI agent's output, live."""

import argparse
import sys
from typing import TYPE_CHECKING

from penstock.cli.options import Subparsers, add_command, add_common
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.sources.chunks import Source

__all__ = ["add", "run", "source_of"]

EXAMPLES = """\
  penstock run -- claude -p --output-format stream-json --verbose --include-partial-messages "…"
  penstock run --backend codex-exec -o final -- codex exec --json "…"
  curl -sN https://…/v1/chat/completions -d @request.json | penstock run

The program's standard input is this one's, unless that is a terminal. Its standard error is kept apart,
and the end of it told where the program fails. An interrupt ends the program; what it had said is kept.
"""


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers,
        "run",
        run,
        "show the output of an agent, from its program or from standard input, live",
        EXAMPLES,
    )
    parser.usage = "penstock run [options] [-- PROGRAM ARGUMENT…]"
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    from penstock.cli.show import show

    source = source_of(arguments.program)
    return show(arguments, lambda turn: turn.round(source))


def source_of(program: list[str] | None) -> "Source":
    """The output of a program, or standard input where there is none."""
    from penstock.sources.descriptor import standard_input
    from penstock.sources.process import child_process

    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if program is None:
        if is_terminal:
            raise UsageError("nothing to read: give a program after --, or pipe an agent's output into this")
        return standard_input()
    if not program:
        raise UsageError("there is no program after --")
    return child_process(program, shares_stdin=not is_terminal)
