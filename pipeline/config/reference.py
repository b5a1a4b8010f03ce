"""The configuration reference, written from the code itself."""

import inspect
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from penstock.config.keys import Key, all_keys
from penstock.config.parts import SINKS
from penstock.config.profiles import PROFILES
from penstock.config.toml import as_toml

__all__ = ["reference"]

_HEAD = """\
# Configuration

<!-- Made by scripts/make_configuration_reference from the code; changes here are lost. -->

The same code runs on a laptop, in a job and behind a gateway, with another file:

```python
from penstock.config import load_pipeline

pipeline = load_pipeline()
```

Later layers win:

1. the built-in defaults;
2. the file: `penstock.toml`, or `[tool.penstock]` in `pyproject.toml`, the nearest upwards from the working
   directory; `--config FILE` or `PENSTOCK_CONFIG` name another;
3. the profile: `--profile NAME`, `PENSTOCK_PROFILE`, or `profile = "…"` in the file;
4. the environment: `PENSTOCK_` and the key in capitals; lists are JSON or `a,b`, tables are JSON;
5. arguments: options of the command, keywords of `load_pipeline`.

`penstock config show` prints every value and where it came from, `show --graph` the operators in force, `check`
says whether everything is right without running anything, `schema` prints the JSON Schema for editors. A mistake is
one line that names the file, the key, and the key that was probably meant.

```toml
backend = "openai-chat"
markup = "qwen"
window_s = 0.1
profile = "gateway"

[[sinks]]
type = "jsonl"
path = "turns.jsonl"
what = "finals"

[[sinks]]
type = "my_company.penstock:AuditSink"
region = "eu"

[formatters]
deploy = "my_company.penstock:deploy_line"

[profiles.gateway]          # changes the profile of that name, or makes a new one
between_chunks_timeout_s = 30.0
```
"""


def reference() -> str:
    """`docs/configuration.md`."""
    keys = "\n".join(_row(key) for key in all_keys().values())
    sections = [
        _HEAD,
        "## Keys\n\nA number counts what its name ends in: seconds (`_s`), bytes, characters (`_chars`), items.\n\n"
        f"| key | type | default | meaning |\n| --- | --- | --- | --- |\n{keys}\n",
        "## Profiles\n\n" + "\n".join(_profile(name) for name in PROFILES),
        "## Sinks\n\n" + "\n".join(_sink(name) for name in SINKS),
    ]
    return "\n".join(sections)


def _row(key: Key) -> str:
    kind = _words(key.kind) + (f", {key.unit}" if key.unit else "")
    return f"| `{key.name}` | {kind} | `{as_toml(key.default)}` | {key.meaning.replace('|', '&#124;')} |"


def _words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind) if choice)
    names = {bool: "boolean", int: "integer", float: "number", str: "string", tuple[str, ...]: "list of strings"}
    return names.get(kind) or ("table of strings" if kind == Mapping[str, str] else "list of names and tables")


def _profile(name: str) -> str:
    profile = PROFILES[name]
    values = "\n".join(f"{key} = {as_toml(value)}" for key, value in profile.values.items())
    return f"### `{name}`\n\n{profile.summary}\n" + (f"\n```toml\n{values}\n```\n" if values else "")


def _sink(name: str) -> str:
    make = SINKS[name]
    kinds = get_type_hints(make)
    options = "\n".join(
        f"- `{option}`: {_words(kinds[option])}" + ("; needed" if parameter.default is parameter.empty else "")
        for option, parameter in inspect.signature(make).parameters.items()
    )
    text = " ".join((make.__doc__ or "").split())
    return f"### `{name}`\n\n{text}\n" + (f"\n{options}\n" if options else "")
