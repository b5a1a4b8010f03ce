"""Sinks, operators and formatters by name: ours, those that packages bring, and a deployment's own.

A package joins with an entry point in the group `penstock.sinks` or `penstock.operators`; a deployment names its
own as `package.module:name`. What is named is a class, or a function annotated with what it returns, and is called
with the options of its table; or the part itself.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TextIO, get_origin, get_type_hints

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
        make = SINKS.get(name) or _named(place, name, "penstock.sinks", Sink)
        options = _checked_options(place, name, make, options)
        if name == "log":
            made.append(log_sink(loaded.configuration, **options))
        else:
            made.append(_made(place, name, make, options))
    return made


def operators_of(loaded: "Loaded") -> list[Operator[Any, Any]]:
    """The operators that the key `operators` names."""
    made: list[Operator[Any, Any]] = []
    for number, entry in enumerate(loaded.configuration.operators):
        place = f"{loaded.where('operators')}: operators[{number}]"
        name, options = _name_and_options(place, entry)
        make = _named(place, name, "penstock.operators", Operator)
        made.append(_made(place, name, make, _checked_options(place, name, make, options)))
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


def _named(place: str, name: str, group: str, kind: type) -> Any:
    """What makes the part of that name, or the part itself: a package's, or a deployment's own."""
    from importlib.metadata import entry_points

    brought = {entry.name: entry.value for entry in entry_points(group=group)}
    if name not in brought and "." not in name and ":" not in name:
        names = [*(SINKS if kind is Sink else ()), *brought]
        hint = did_you_mean(name, names) or ";"
        there_are = ", ".join([*names, "package.module:name"])
        word = kind.__name__.lower()
        raise ConfigurationError(f"{place}: no {word} is called {name!r}{hint} there are: {there_are}")
    found = _imported(place, brought.get(name, name))
    if not isinstance(found, kind) and not _makes(found, kind):
        raise ConfigurationError(
            f"{place}: {name} is no {kind.__name__}, nor a function whose annotation says that it returns one"
        )
    return found


def _imported(place: str, name: str) -> Any:
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    if not module or not attribute:
        raise ConfigurationError(f"{place}: {name!r} is no name like package.module:name")
    try:
        found: Any = import_module(module)
    except Exception as error:
        raise ConfigurationError(f"{place}: cannot import {module}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{place}: {module} has no {attribute!r}{did_you_mean(part, _names(found))}")
        found = getattr(found, part)
    return found


def _names(module: Any) -> list[str]:
    return [*getattr(module, "__all__", ()), *dir(module)]


def _checked_options(place: str, name: str, make: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options that `make` takes, each of the type it wants where that can be told."""
    from penstock.config.keys import checked_value

    if isinstance(make, Sink | Operator):
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


def _makes(make: Any, kind: type) -> bool:
    """Whether calling it is meant to give a `kind`: a file may not have just anything called."""
    made = make if inspect.isclass(make) else _kinds(make).get("return")
    made = get_origin(made) or made
    return inspect.isclass(made) and issubclass(made, kind)


def _made(place: str, name: str, make: Any, options: dict[str, Any]) -> Any:
    try:
        return make if isinstance(make, Sink | Operator) else make(**options)
    except UsageError as error:
        raise ConfigurationError(f"{place} ({name}): {error}") from error
    except Exception as error:
        raise ConfigurationError(f"{place} ({name}) cannot be made: {type(error).__name__}: {error}") from error
