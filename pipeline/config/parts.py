"""Sinks, operators and formatters by name: ours, those that packages bring, and a deployment's own.

A package joins with an entry point in the group `penstock.sinks` or `penstock.operators`; a deployment names its
own as `package.module:name`. What is named is called with the options of its table.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_type_hints

from penstock.config.configuration import Configuration, PartEntry
from penstock.errors import ConfigurationError, UsageError
from penstock.nearest import did_you_mean
from penstock.operators.stage import Operator
from penstock.sinks.sink import Sink
from penstock.sinks.text import TextSink

if TYPE_CHECKING:
    from penstock.compact import Formatter
    from penstock.config.load import Loaded
    from penstock.sinks.log import LogLevel, LogSink

__all__ = [
    "SINKS",
    "formatters_of",
    "log_sink",
    "operators_of",
    "output_sinks_of",
    "sinks_of",
    "terminal_options",
    "text_sink",
]


# ── what comes with penstock ─────────────────────────────────────────────────────────────────────────────


def _jsonl(path: str, what: Literal["events", "finals", "updates"] = "events") -> Sink:
    """Items as JSON lines, appended to the file `path`: every event, their finals alone, or a screen's updates."""
    from penstock.sinks.jsonl import JsonlSink

    return JsonlSink(path, what)


def _log(
    path: str = "",
    level: Literal["", "trace", "info", "warning"] = "",
    format: Literal["", "auto", "json", "console"] = "",
) -> Sink:
    """Log records, appended to the file `path` or on standard error; `level` and `format` are `log_level` and
    `log_format` unless given."""
    raise NotImplementedError("made by log_sink, which knows the configuration")


def _otel() -> Sink:
    """Spans and metrics by the application's OpenTelemetry providers; needs the extra `otel`."""
    from penstock.sinks.otel import OtelSink

    return OtelSink()


SINKS: Mapping[str, Callable[..., Sink]] = {"jsonl": _jsonl, "log": _log, "otel": _otel}


def log_sink(
    configuration: Configuration, target: Any = None, *, level: str = "", format: str = "", path: str = ""
) -> "LogSink":
    """A log sink as configured; `level`, `format` and `path` are its own options."""
    from penstock.sinks.log import LogSink

    chosen: LogLevel = level or configuration.log_level  # type: ignore[assignment]
    looks = format or configuration.log_format
    return LogSink(
        format=None if looks == "auto" else looks,  # type: ignore[arg-type]
        target=path or target,
        level=chosen,
        max_text_chars=configuration.log_max_text_chars,
        redact_patterns=configuration.redact_patterns,
    )


def terminal_options(configuration: Configuration) -> dict[str, Any]:
    """What the configuration says to a `TerminalSink`."""
    return {
        "rounds": configuration.rounds,
        "tools": configuration.show_tools,
        "thinking": configuration.thinking_line and configuration.show_thinking,
    }


def text_sink(configuration: Configuration, stream: TextIO) -> Sink:
    """The visible text where nothing can be overwritten."""
    if configuration.rounds == "replace":
        from penstock.sinks.final import FinalSink

        return FinalSink(stream)
    return TextSink(stream)


def output_sinks_of(configuration: Configuration) -> list[Sink]:
    """The sinks that print what `output` asks for on standard output."""
    output = configuration.output
    if output == "none":
        return []
    if output == "events" or output == "updates":
        from penstock.sinks.jsonl import JsonlSink

        return [JsonlSink(sys.stdout.buffer, output)]
    if output == "log":
        return [log_sink(configuration, sys.stdout.buffer)]
    if output == "final":
        from penstock.sinks.final import FinalSink

        return [FinalSink(sys.stdout)]
    if output == "text":
        return [text_sink(configuration, sys.stdout)]
    from penstock.sinks.choose import output_sinks
    from penstock.sinks.terminal import TerminalSink

    options = terminal_options(configuration)
    if output == "terminal":
        return [TerminalSink(**options)]
    sinks = output_sinks(**options)
    return [text_sink(configuration, sys.stdout) if type(sink) is TextSink else sink for sink in sinks]


# ── what a configuration names ───────────────────────────────────────────────────────────────────────────


def sinks_of(loaded: "Loaded") -> list[Sink]:
    """The sinks that the key `sinks` names."""
    made: list[Sink] = []
    for number, entry in enumerate(loaded.configuration.sinks):
        place = f"{loaded.where('sinks')}: sinks[{number}]"
        name, options = _name_and_options(place, entry)
        make = SINKS.get(name) or _named(place, name, "penstock.sinks", SINKS)
        options = _checked_options(place, name, make, options)
        if name == "log":
            made.append(log_sink(loaded.configuration, **options))
        else:
            made.append(_made(place, name, make, options, Sink))
    return made


def operators_of(loaded: "Loaded") -> list[Operator[Any, Any]]:
    """The operators that the key `operators` names."""
    made: list[Operator[Any, Any]] = []
    for number, entry in enumerate(loaded.configuration.operators):
        place = f"{loaded.where('operators')}: operators[{number}]"
        name, options = _name_and_options(place, entry)
        make = _named(place, name, "penstock.operators", ())
        made.append(_made(place, name, make, _checked_options(place, name, make, options), Operator))
    return made


def formatters_of(loaded: "Loaded") -> "dict[str, Formatter]":
    """The formatters that the key `formatters` names, by tool."""
    place = loaded.where("formatters")
    return {
        tool: _imported(f"{place}: formatters.{tool}", name)
        for tool, name in loaded.configuration.formatters.items()
    }


def _name_and_options(place: str, entry: PartEntry) -> tuple[str, dict[str, Any]]:
    if isinstance(entry, str):
        return entry, {}
    options = dict(entry)
    name = options.pop("type", None)
    if not isinstance(name, str):
        raise ConfigurationError(f"{place} needs a type: the name of what it is")
    return name, options


def _named(place: str, name: str, group: str, ours: Any) -> Any:
    from importlib.metadata import entry_points

    brought = {entry.name: entry for entry in entry_points(group=group)}
    if name in brought:
        try:
            return brought[name].load()
        except Exception as error:
            raise ConfigurationError(f"{place}: {name} does not load: {error}") from error
    if "." in name or ":" in name:
        return _imported(place, name)
    names = [*ours, *brought]
    kind = group.rpartition(".")[2]
    there_are = f"there are: {', '.join([*names, 'package.module:name'])}"
    raise ConfigurationError(f"{place}: no {kind[:-1]} is called {name!r}{did_you_mean(name, names)}; {there_are}")


def _imported(place: str, name: str) -> Any:
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    if not module or not attribute:
        raise ConfigurationError(f"{place}: {name!r} is no name like package.module:name")
    try:
        found = import_module(module)
    except Exception as error:
        raise ConfigurationError(f"{place}: cannot import {module}: {error}") from error
    if not hasattr(found, attribute):
        raise ConfigurationError(f"{place}: {module} has no {attribute!r}{did_you_mean(attribute, dir(found))}")
    return getattr(found, attribute)


def _checked_options(place: str, name: str, make: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that `make` takes, each of the type it wants where that can be told."""
    from penstock.config.keys import checked_value

    if isinstance(make, Operator):
        parameters: Mapping[str, inspect.Parameter] = {}
    else:
        parameters = inspect.signature(make).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    kinds = _kinds(make)
    right = {}
    for option, value in options.items():
        if option not in parameters and not takes_any:
            raise ConfigurationError(f"{place} ({name}) has no option {option!r}{did_you_mean(option, parameters)}")
        kind = kinds.get(option)
        is_plain = kind in (str, int, float, bool) or "Literal" in str(kind)
        right[option] = checked_value(place, option, kind, value) if is_plain else value
    for option, parameter in parameters.items():
        is_needed = parameter.default is parameter.empty and parameter.kind in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        )
        if is_needed and option not in options:
            raise ConfigurationError(f"{place} ({name}) needs the option {option!r}")
    return right


def _kinds(make: Any) -> dict[str, Any]:
    try:
        return get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except Exception:  # a name that only exists for type checkers: the options are then not checked by type
        return {}


def _made(place: str, name: str, make: Any, options: dict[str, Any], kind: type) -> Any:
    if isinstance(make, kind) and not options:
        return make
    try:
        made = make(**options)
    except UsageError as error:
        raise ConfigurationError(f"{place} ({name}): {error}") from error
    except Exception as error:
        raise ConfigurationError(f"{place} ({name}) cannot be made: {type(error).__name__}: {error}") from error
    if not isinstance(made, kind):
        raise ConfigurationError(f"{place}: {name} gives a {type(made).__name__}, not a {kind.__name__}")
    return made
