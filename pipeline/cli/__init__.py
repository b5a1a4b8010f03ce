"""The command line. A command is a file with `add(subparsers)` and `run(arguments)`, and a name in `COMMANDS`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from penstock import __version__
from penstock.errors import PenstockError, UsageError

__all__ = ["main", "make_parser"]

COMMANDS = ("demo", "run", "replay", "record", "chat", "config", "bench", "backends", "completion")
WITH_A_PROGRAM = ("run", "record")
"""Those that take a program and its arguments after `--`."""

EPILOG = """\
examples:
  penstock demo
  claude -p --output-format stream-json --verbose --include-partial-messages "…" | penstock run
  penstock record session.jsonl -- codex exec --json "…"
  penstock replay session.jsonl --speed 10
  penstock config show --profile ci

exit status: 0 done; 1 the stream ended in an error (what had arrived was printed);
             2 wrong usage or configuration; 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives back its exit status."""
    arguments, program = _split(sys.argv[1:] if argv is None else list(argv))
    try:
        parsed = make_parser().parse_args(arguments, argparse.Namespace(program=program))
        status: int = parsed.run(parsed)
        if sys.stdout is not None:
            sys.stdout.flush()
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else 0
    except UsageError as error:
        status = _complain(str(error), 2)
    except PenstockError as error:
        status = _complain(str(error), 1)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:  # whoever read our output has seen enough
        from penstock.cli.ending import BROKEN_PIPE, discard_output

        discard_output()
        status = BROKEN_PIPE
    return status


def _split(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Ours, and what stands after `--`; argparse would look into the program's own options."""
    if "--" in arguments and arguments[0] in WITH_A_PROGRAM:
        at = arguments.index("--")
        return arguments[:at], arguments[at + 1 :]
    return arguments, None


def _complain(message: str, status: int) -> int:
    print(f"penstock: {' '.join(message.split())}", file=sys.stderr)
    return status


class _Format(argparse.RawDescriptionHelpFormatter):
    """Prints examples as they are written, and makes room for the indent of commands, which argparse forgets."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Format, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(_complain(f"{message} (see {self.prog} --help)", 2))


def make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="penstock",
        description="The output of models and coding agents as a calm, exact stream.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"penstock {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        import_module(f"penstock.cli.{command}").add(subparsers)
    return parser
