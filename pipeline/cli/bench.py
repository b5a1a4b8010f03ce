"""`penstock bench`: what this machine does with this configuration."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli.options import Subparsers, add_command, add_configuration, readable_file
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.bench.report import Extent, Report
    from penstock.pipeline import Pipeline

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock bench                                     made answers: text, thinking, one large tool call
  penstock bench session.jsonl --backend claude-cli  the longest round of a recording
  penstock bench --profile gateway --json > figures.json
  penstock bench --compare openai --plot figures.svg

The settings, operators and formatters in force are measured; of the sinks, a plain callback stands for all.
CPU times are the best of several rounds. Of a file, raw server-sent events or JSON lines will do.
"""


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "bench", run, "measure throughput, delay, memory and growth on this machine", EXAMPLES
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a recording, or the raw bytes of a stream")
    parser.add_argument("--backend", metavar="NAME", help="whose stream FILE is; auto is the default")
    add_configuration(parser)
    parser.add_argument("--chunks", type=_positive, metavar="N", help="chunks of a made answer (20,000)")
    parser.add_argument("--read-bytes", type=_positive, metavar="N", help="the largest read (1,500)")
    parser.add_argument("--compare", choices=["openai"], help="run the openai client over the same bytes, too")
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plot", metavar="FILE.svg", help="also draw the figures")


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number above 0, not {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    from penstock.bench.openai_client import is_installed
    from penstock.bench.recorded import recorded_workload
    from penstock.bench.report import make_report

    extent = _extent(arguments)
    pipeline = _pipeline(arguments)
    recorded = None
    if arguments.file is not None:
        backend = pipeline.settings.backend
        recorded = recorded_workload(readable_file(arguments.file), backend, max_read_bytes=extent.max_read_bytes)
    if arguments.compare and (recorded is not None or not is_installed()):
        why = "it reads made answers only, not FILE" if recorded else "it is not installed"
        raise UsageError(f"cannot compare with the openai client: {why}")
    tell = _tell if sys.stderr.isatty() else _say_nothing
    try:
        report = make_report(pipeline, extent, recorded, compares_openai=bool(arguments.compare), on_step=tell)
    finally:
        tell("")
    _print(report, arguments)
    return 0


def _extent(arguments: argparse.Namespace) -> "Extent":
    from penstock.bench.report import Extent

    quick = Extent(chunks=2000, rounds=2, streams=(1, 10), live_chunks=25, growth=(1000, 10_000))
    usual = quick if arguments.quick else Extent()
    return Extent(
        arguments.chunks or usual.chunks,
        arguments.read_bytes or usual.max_read_bytes,
        usual.rounds,
        usual.streams,
        usual.live_chunks,
        usual.growth,
    )


def _pipeline(arguments: argparse.Namespace) -> "Pipeline":
    from penstock.config import load
    from penstock.config.parts import formatters_of, operators_of
    from penstock.pipeline import Pipeline

    given = {"backend": arguments.backend} if arguments.backend else {}
    loaded = load(arguments.config, profile=arguments.profile, **given)
    return Pipeline(
        loaded.configuration,
        extra_operators=operators_of(loaded),
        formatters=formatters_of(loaded) or None,
    )


def _tell(what: str) -> None:
    sys.stderr.write(f"\r{'measuring ' + what if what else ''}\x1b[K")
    sys.stderr.flush()


def _say_nothing(what: str) -> None:
    pass


def _print(report: "Report", arguments: argparse.Namespace) -> None:
    if arguments.plot is not None:
        from penstock.bench.plot import as_svg

        _write(arguments.plot, lambda: as_svg(report))
    if arguments.json:
        import orjson

        print(orjson.dumps(report, option=orjson.OPT_INDENT_2).decode())
    else:
        from penstock.bench.table import as_text

        print(as_text(report))


def _write(name: str, make: Callable[[], str]) -> None:
    try:
        Path(name).write_text(make(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror or error}") from error
