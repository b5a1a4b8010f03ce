"""`penstock demo`: a whole agent turn on this terminal, without a model."""

import argparse
from importlib.resources import as_file, files

from penstock.cli.options import Subparsers, add_command, add_common, add_speed

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock demo
  penstock demo --speed 10
  penstock demo --speed max -o updates
"""


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "demo", run, "show a recorded agent turn: thinking, tools, three rounds, many scripts", EXAMPLES
    )
    add_common(parser, backend="openai-chat")
    add_speed(parser)


def run(arguments: argparse.Namespace) -> int:
    from penstock.cli.show import show
    from penstock.replay import replay

    with as_file(files("penstock") / "demo" / "turn.jsonl") as path:
        return show(arguments, lambda turn: replay(turn, path, speed=arguments.speed))
