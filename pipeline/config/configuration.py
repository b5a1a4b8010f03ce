"""Everything a deployment can set: the settings of the pipeline, and what stands around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from penstock.settings import Settings

__all__ = ["Configuration", "OutputName", "PartEntry"]

OutputName: TypeAlias = Literal["auto", "terminal", "text", "final", "events", "updates", "log", "none"]
PartEntry: TypeAlias = str | Mapping[str, Any]
"""A part by its name, or a table of its `type` and options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration(Settings):
    """The settings of a pipeline, and the sinks, operators and formatters around it."""

    output: OutputName = "auto"
    """What is printed on standard output; `auto` is what suits the place, `none` is nothing."""

    rounds: Literal["keep", "replace"] = "keep"
    """Every round's text stays, or each takes the place of the one before and the final message alone remains.
    Where nothing can be overwritten, as in a pipe, `replace` prints the final message alone."""

    thinking_line: bool = False
    """On a terminal: show the latest line of the thinking while it lasts."""

    sinks: tuple[PartEntry, ...] = ()
    """Further sinks, as names or tables of `type` and options: `jsonl`, `log`, `otel`, a name that a package brings
    (entry points `penstock.sinks`), or one's own as `package.module:Name`."""

    operators: tuple[PartEntry, ...] = ()
    """Operators of one's own, in order, after `finalize`: `package.module:name`, or a name that a package brings
    (entry points `penstock.operators`)."""

    formatters: Mapping[str, str] = field(default_factory=dict)
    """Functions that make the compact line of a tool call, by tool name, as `package.module:function`."""

    log_level: Literal["trace", "info", "warning"] = "info"
    """What is logged: `warning` errors alone, `info` also finals, lifecycle and figures, `trace` also deltas."""

    log_format: Literal["auto", "json", "console"] = "auto"
    """How log records look; `auto` is for what the application has set up (structlog, logging), else JSON."""

    log_max_text_chars: int = 2000
    """Longer texts are cut in the log; 0 logs no text, only its length."""
