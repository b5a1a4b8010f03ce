"""Layers of configuration, found, checked and laid over one another."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.config.configuration import Configuration
from penstock.config.profiles import PROFILES
from penstock.errors import ConfigurationError
from penstock.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.operators.clock import Clock
    from penstock.pipeline import Pipeline
    from penstock.sinks.sink import Sink

__all__ = ["PREFIX", "Loaded", "is_configured", "load", "load_pipeline"]

PREFIX = "PENSTOCK_"
_FILE_VARIABLE = f"{PREFIX}CONFIG"
_PROFILE_VARIABLE = f"{PREFIX}PROFILE"


class Layer(NamedTuple):
    """Values from one place; `where` is its name to people."""

    where: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration in force, and where each value came from."""

    configuration: Configuration
    origins: Mapping[str, str]
    profile: str
    path: Path | None

    def where(self, key: str) -> str:
        """The layer that set this key, or `default`."""
        return self.origins.get(key, "default")

    def pipeline(
        self,
        sinks: "Sequence[Sink] | None" = None,
        *,
        clock: "Clock | None" = None,
        on_backend_chosen: "Callable[[str], object] | None" = None,
    ) -> "Pipeline":
        """The pipeline that is configured. `sinks` take the place of what `output` asks for."""
        from penstock.config.parts import formatters_of, operators_of, output_sinks_of, sinks_of
        from penstock.pipeline import Pipeline

        printing = output_sinks_of(self.configuration) if sinks is None else sinks
        return Pipeline(
            self.configuration,
            sinks=[*printing, *sinks_of(self)],
            extra_operators=operators_of(self),
            formatters=formatters_of(self) or None,
            clock=clock,
            on_backend_chosen=on_backend_chosen,
        )


def load_pipeline(
    path: str | Path | None = None,
    *,
    profile: str | None = None,
    sinks: "Sequence[Sink] | None" = None,
    **arguments: Any,
) -> "Pipeline":
    """The pipeline this deployment is configured for. `sinks` take the place of what `output` asks for.

    `path` names the file instead of looking for one; `arguments` are keys of `Configuration` and win over all.
    """
    return load(path, profile=profile, **arguments).pipeline(sinks)


def load(path: str | Path | None = None, *, profile: str | None = None, **arguments: Any) -> Loaded:
    """The configuration in force: defaults, file, profile, environment and `arguments`, in this order."""
    from penstock.config.keys import checked, from_environment

    file = _file(path)
    in_file = dict(file.values)
    profiles = _tables(file.where, in_file.pop("profiles", {}))
    named = [
        ("arguments: profile", profile),
        (f"environment: {_PROFILE_VARIABLE}", os.environ.get(_PROFILE_VARIABLE)),
        (f"{file.where}: profile", in_file.pop("profile", None)),
    ]
    where, name = next(((place, chosen) for place, chosen in named if chosen), ("", "default"))
    environment = from_environment(PREFIX, ignored=(_FILE_VARIABLE, _PROFILE_VARIABLE))
    layers = [
        Layer(file.where, checked(file.where, in_file)),
        *_profile_layers(where, name, file.where, profiles),
        Layer("environment", checked("environment", environment, prefix=PREFIX)),
        Layer("arguments", checked("arguments", arguments)),
    ]
    for unused in profiles.keys() - {name}:
        checked(f"{file.where} [profiles.{unused}]", profiles[unused])
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for layer in layers:
        values |= layer.values
        origins |= dict.fromkeys(layer.values, layer.where)
    return Loaded(Configuration(**values), origins, name, file.path)


def is_configured(path: str | Path | None = None, profile: str | None = None) -> bool:
    """Whether anything but arguments says how it is to be; found out without reading and checking it all."""
    has_variables = any(variable.startswith(PREFIX) for variable in os.environ)
    return bool(path or profile or has_variables or _file(None).values)


class _File(NamedTuple):
    where: str
    values: Mapping[str, Any]
    path: Path | None = None


def _file(path: str | Path | None) -> _File:
    named = path or os.environ.get(_FILE_VARIABLE)
    if named:
        return _read(Path(named))
    return next(_nearest(), _File("penstock.toml", {}))


def _nearest() -> Iterator[_File]:
    """Files of configuration in the working directory and above, the nearest first."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return
    for folder in (here, *here.parents):
        if (folder / "penstock.toml").exists():
            yield _read(folder / "penstock.toml")
        if _speaks_of_us(folder / "pyproject.toml"):
            yield _read(folder / "pyproject.toml")


def _speaks_of_us(project: Path) -> bool:
    """Whether to parse a file that is not ours."""
    try:
        return b"tool.penstock" in project.read_bytes()
    except OSError:
        return False


def _read(path: Path) -> _File:
    import tomllib  # where there is no file, it need not be imported

    where = _shown(path)
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{where}: not valid TOML: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{where}: not valid UTF-8") from error
    except OSError as error:
        raise ConfigurationError(f"{where}: cannot be read: {error.strerror or error}") from error
    if path.name == "pyproject.toml":
        return _File(f"{where} [tool.penstock]", values.get("tool", {}).get("penstock", {}), path)
    return _File(where, values, path)


def _shown(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, FileNotFoundError):
        return str(path)


def _tables(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise ConfigurationError(f"{where}: profiles must be tables: [profiles.name]")
    return value


def _profile_layers(where: str, name: Any, file: str, profiles: Mapping[str, Any]) -> Iterator[Layer]:
    from penstock.config.keys import checked

    if not isinstance(name, str) or (name not in PROFILES and name not in profiles):
        names = [*PROFILES, *(own for own in profiles if own not in PROFILES)]
        hint = did_you_mean(name, names) or ";"
        raise ConfigurationError(f"{where}: no profile is called {name!r}{hint} there are: {', '.join(names)}")
    if name in PROFILES:
        yield Layer(f"profile {name}", checked(f"profile {name}", PROFILES[name].values))
    if name in profiles:
        place = f"{file} [profiles.{name}]"
        yield Layer(place, checked(place, profiles[name]))
