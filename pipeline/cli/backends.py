"""`penstock backends`: what it can read, and how each is recognised."""

import argparse
import textwrap

from penstock.cli.options import Subparsers, add_command

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock backends
  penstock backends --names
"""

_WIDTH = 100


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "backends", run, "list what can be read, and how each is recognised", EXAMPLES)
    parser.add_argument("--names", action="store_true", help="the names alone, one a line")


def run(arguments: argparse.Namespace) -> int:
    from penstock.backends.registry import all_backends, backend_names

    if arguments.names:
        print("\n".join(backend_names()))
        return 0
    backends = list(all_backends())
    column = max(len(backend.name) for backend in backends) + 2
    for backend in backends:
        print(_entry(backend.name.ljust(column), backend.summary, column))
        print(_entry(" " * column, f"recognised by: {backend.recognized_by}", column))
    return 0


def _entry(first: str, text: str, column: int) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=" " * column)
