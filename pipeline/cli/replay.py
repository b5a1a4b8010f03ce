"""`penstock replay`: a recording, or any file of a stream, once more."""

import argparse

from penstock.cli.options import Subparsers, add_command, add_common, add_speed, readable_file

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock replay session.jsonl                      with the timing it had
  penstock replay session.jsonl --speed 10 -o text
  penstock replay response.sse --backend openai-chat -o events --speed max

A file without timing (raw server-sent events, JSON lines, a JSON array, text) plays at 50 records a second.
"""


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "replay", run, "play a recording, or any file of a stream, once more", EXAMPLES
    )
    parser.add_argument("file", metavar="FILE", help="what `penstock record` wrote, or the raw bytes of a stream")
    add_common(parser)
    add_speed(parser)


def run(arguments: argparse.Namespace) -> int:
    from penstock.cli.progress import progress_of_file
    from penstock.cli.show import show
    from penstock.replay import replay

    path = readable_file(arguments.file)
    has_display = arguments.speed != "max" or arguments.output in (None, "terminal")
    progress = progress_of_file(path.name, path.stat().st_size, has_display=has_display)
    on_chunk = progress.advance if progress else None
    try:
        return show(arguments, lambda turn: replay(turn, path, speed=arguments.speed, on_chunk=on_chunk))
    finally:
        if progress:
            progress.close()
