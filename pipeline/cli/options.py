"""The options that commands share, and what they mean for a pipeline."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.config import Loaded
    from penstock.sources.recordings import Speed

__all__ = [
    "OUTPUTS",
    "Subparsers",
    "add_command",
    "add_common",
    "add_configuration",
    "add_speed",
    "configured",
    "readable_file",
]

Subparsers: TypeAlias = "argparse._SubParsersAction[Any]"

OUTPUTS = {
    "terminal": "the live display; the default where standard output is a terminal",
    "text": "exactly the visible text, no escape codes; the default elsewhere",
    "final": "the final message alone, at the end",
    "events": "every normalised event, one JSON object a line",
    "updates": "what a screen needs (thinking, final_message_start, assistant, tool_block, completed), likewise",
    "log": "structured log lines",
}


def add_command(
    subparsers: Subparsers, name: str, run: Any, summary: str, examples: str
) -> argparse.ArgumentParser:
    """A command's parser: `summary` is what it does, in a sentence without a full stop."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", epilog=f"examples:\n{examples}"
    )
    parser.set_defaults(run=run)
    return parser


def add_common(parser: argparse.ArgumentParser, backend: str = "auto") -> None:
    """`--backend`, `--markup`, `-o`, `--config`, `--profile`, `--no-coalesce` and `-v`.

    `backend` is what is read unless the option says otherwise; with `auto`, the configuration decides.
    """
    parser.set_defaults(usual_backend=None if backend == "auto" else backend)
    parser.add_argument(
        "--backend", metavar="NAME", help="whose stream it is: a name of `penstock backends`, or auto (the default)"
    )
    parser.add_argument(
        "--markup", metavar="FAMILY", help="the model family whose markup is taken out of the text; none leaves it"
    )
    parser.add_argument("-o", "--output", choices=OUTPUTS, metavar="OUTPUT", help="what is printed, see below")
    listed = "\n".join(f"  {name:<9} {meaning}" for name, meaning in OUTPUTS.items())
    parser.epilog = f"outputs:\n{listed}\n\n{parser.epilog}"
    add_configuration(parser)
    parser.add_argument(
        "--no-coalesce", action="store_true", help="pass every update on at once, without the 50 ms window"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="say on standard error which backend was recognised"
    )


def add_configuration(parser: argparse.ArgumentParser) -> None:
    """`--config` and `--profile`."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the configuration; else penstock.toml or [tool.penstock] in pyproject.toml, the nearest upwards",
    )
    parser.add_argument(
        "--profile", metavar="NAME", help="the profile in force: default, ci, gateway, verbose, chat, or your own"
    )


def add_speed(parser: argparse.ArgumentParser) -> None:
    """`--speed`."""
    parser.add_argument(
        "--speed",
        type=_speed,
        default=1.0,
        metavar="N|max",
        help="1 as it was (the default), 10 ten times as fast, max at once",
    )


def _speed(text: str) -> "Speed":
    if text == "max":
        return "max"
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 < speed < float("inf"):
        raise argparse.ArgumentTypeError(f"a speed is a number like 1, 10 or 0.5, or max; not {text!r}")
    return speed


def configured(arguments: argparse.Namespace) -> "Loaded":
    """The configuration in force, with what the common options ask for on top."""
    from penstock.config import Configuration, Loaded, is_configured, load

    given: dict[str, Any] = {
        "backend": arguments.backend or arguments.usual_backend,
        "markup": arguments.markup,
        "output": arguments.output,
        "window_s": 0.0 if arguments.no_coalesce else None,
    }
    given = {key: value for key, value in given.items() if value is not None}
    if not is_configured(arguments.config, arguments.profile):
        return Loaded(Configuration(**given), {}, "default", None)  # what checks the rest is slow to import
    loaded = load(arguments.config, profile=arguments.profile, **given)
    if loaded.configuration.log_format == "auto":
        # There is no application around us whose logging could be meant.
        return replace(loaded, configuration=replace(loaded.configuration, log_format="json"))
    return loaded


def readable_file(name: str) -> Path:
    """A file that can be opened, or a `UsageError` that says why not."""
    path = Path(name)
    try:
        path.open("rb").close()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    return path
