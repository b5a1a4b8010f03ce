"""`penstock config`: the configuration in force, where each value came from, and whether it is right."""

import argparse
import json
from typing import TYPE_CHECKING

from penstock.cli.options import Subparsers, add_command, add_configuration

if TYPE_CHECKING:
    from penstock.config import Loaded

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock config show
  penstock config show --profile ci --graph
  penstock config check --config deploy/penstock.toml
  penstock config schema > penstock.schema.json
"""

_WHAT = {
    "show": "every value in force, as TOML, and where it came from",
    "check": "whether the configuration is right, everything it names included; runs nothing",
    "schema": "the JSON Schema of penstock.toml",
}
_VALUE_CELLS = 48


def add(subparsers: Subparsers) -> None:
    parser = add_command(subparsers, "config", run, "show or check the configuration in force", EXAMPLES)
    parser.add_argument("what", choices=_WHAT, metavar="show|check|schema", help="what to do, see below")
    listed = "\n".join(f"  {name:<7} {meaning}" for name, meaning in _WHAT.items())
    parser.epilog = f"what:\n{listed}\n\n{parser.epilog}"
    add_configuration(parser)
    parser.add_argument(
        "--graph", action="store_true", help="with show: the operators and sinks in force, as text and as Mermaid"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.what == "schema":
        from penstock.config.keys import json_schema

        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return 0
    from penstock.config import load

    loaded = load(arguments.config, profile=arguments.profile)
    if arguments.what == "check":
        _check(loaded)
    elif arguments.graph:
        pipeline = loaded.pipeline()
        print(f"{pipeline.describe()}\n\n{pipeline.describe('mermaid')}")
    else:
        _show(loaded)
    return 0


def _check(loaded: "Loaded") -> None:
    pipeline = loaded.pipeline()
    pipeline.operator()
    print(f"{loaded.path or 'no file, the defaults'}: right (profile {loaded.profile})")


def _show(loaded: "Loaded") -> None:
    from penstock.config.keys import all_keys
    from penstock.config.toml import as_toml
    from penstock.operators.redact import redact_value
    from penstock.operators.secrets import secret_pattern

    secrets = secret_pattern()  # somebody may have given a sink its key as an option
    values = {name: as_toml(redact_value(getattr(loaded.configuration, name), secrets)) for name in all_keys()}
    column = max(len(name) for name in values) + 1
    print(f"# profile {loaded.profile}; file: {loaded.path or 'none'}")
    for name, value in values.items():
        print(f"{name:<{column}}= {value:<{_VALUE_CELLS}} # {loaded.where(name)}")
