"""The keys of the configuration: their types, what they mean, and whether values are right.

`Configuration` is the one source: types and defaults are its fields, the meaning is the text below each field.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import orjson
from pydantic import Field, TypeAdapter, ValidationError, create_model
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from penstock.backends.registry import backend_names
from penstock.config.configuration import Configuration
from penstock.errors import ConfigurationError
from penstock.nearest import did_you_mean
from penstock.operators.markup_families import FAMILIES

__all__ = ["Key", "all_keys", "checked", "checked_value", "expected", "from_environment", "json_schema"]

_UNITS = {"_s": "seconds", "_bytes": "bytes", "_chars": "characters", "_items": "items"}


class Key(NamedTuple):
    """One key of the configuration."""

    name: str
    kind: Any
    default: Any
    meaning: str

    @property
    def unit(self) -> str:
        """What its number counts, empty where it is none."""
        suffix = next((suffix for suffix in _UNITS if self.name.endswith(suffix)), "")
        return _UNITS[suffix] if suffix and self.kind in (int, float) else ""


@cache
def all_keys() -> Mapping[str, Key]:
    """Every key, in the order of the documentation."""
    kinds = get_type_hints(Configuration)
    meanings = {name: text for kind in reversed(Configuration.__mro__[:-1]) for name, text in _meanings(kind)}
    default = Configuration()
    return {
        field.name: Key(field.name, kinds[field.name], getattr(default, field.name), meanings.get(field.name, ""))
        for field in fields(Configuration)
    }


def _meanings(kind: type) -> list[tuple[str, str]]:
    """The strings below the fields of a class; none where it was installed without its source."""
    try:
        source = inspect.getsource(kind)
    except OSError:
        return []
    (body,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(body, ast.ClassDef)
    return [
        (field.target.id, " ".join(text.value.value.split()))
        for field, text in zip(body.body, body.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    ]


# ── checking ─────────────────────────────────────────────────────────────────────────────────────────────


def checked(where: str, values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values as their types want them, or a `ConfigurationError`. `prefix` marks environment variables."""
    keys = all_keys()
    right: dict[str, Any] = {}
    for name, value in values.items():
        if name not in keys:
            shown = [f"{prefix}{key.upper()}" if prefix else key for key in keys]
            written = f"{prefix}{name.upper()}" if prefix else name
            hint = did_you_mean(written, shown) or "; penstock config show lists them all"
            raise ConfigurationError(f"{where}: there is no key {written!r}{hint}")
        label = f"{prefix}{name.upper()}" if prefix else name
        right[name] = checked_value(
            where, label, keys[name].kind, value, is_text=bool(prefix), unit=keys[name].unit
        )
        _check_meaning(where, label, name, right[name])
    return right


def checked_value(where: str, label: str, kind: Any, value: Any, *, is_text: bool = False, unit: str = "") -> Any:
    """The value as `kind` wants it. Text of the environment is read leniently, all else must have the type."""
    adapter = _adapter(kind)
    try:
        if is_text:
            return adapter.validate_python(value)
        return adapter.validate_json(orjson.dumps(value, default=str), strict=True)
    except (ValidationError, TypeError) as error:
        hint = did_you_mean(value, get_args(kind)) if get_origin(kind) is Literal else ""
        raise ConfigurationError(
            f"{where}: {label} must be {expected(kind, unit)}, not {_shown(value)}{hint}"
        ) from error


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    if kind is float:
        return TypeAdapter(Annotated[float, Field(ge=0, allow_inf_nan=False)])
    return TypeAdapter(_annotated(kind))


def expected(kind: Any, unit: str = "") -> str:
    """A type in words."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    of = f" of {unit}" if unit else ""
    words = {
        bool: "true or false",
        float: f"a number{of}, 0 or more",
        int: f"a whole number{of}, 0 or more",
        str: "a text",
        tuple[str, ...]: "a list of texts",
        Mapping[str, str]: "a table of texts",
    }
    return words.get(kind, "a list of names and tables")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    try:
        text = orjson.dumps(value, default=str).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _check_meaning(where: str, label: str, name: str, value: Any) -> None:
    """What a type cannot say."""
    if name == "backend" and value not in (names := ("auto", *backend_names())):
        raise _no_such(where, label, value, names, "penstock backends lists them")
    if name == "markup" and value not in (families := (*FAMILIES, "none")):
        raise _no_such(where, label, value, families, f"there are: {', '.join(sorted({*families}))}")
    if name == "redact_patterns":
        for pattern in value:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ConfigurationError(
                    f"{where}: {label}: {_shown(pattern)} is no regular expression: {error}"
                ) from error


def _no_such(where: str, label: str, value: str, names: Sequence[str], otherwise: str) -> ConfigurationError:
    hint = did_you_mean(value, names) or f"; {otherwise}"
    return ConfigurationError(f"{where}: {label}: there is no {value!r}{hint}")


# ── other forms ──────────────────────────────────────────────────────────────────────────────────────────


@cache
def _model() -> type[BaseSettings]:
    model: type[BaseSettings] = create_model(
        "Configuration",
        __base__=_Model,
        **{  # type: ignore[call-overload]
            key.name: (_annotated(key.kind), Field(default=key.default, description=key.meaning))
            for key in all_keys().values()
        },
    )
    return model


class _Model(BaseSettings):
    model_config = SettingsConfigDict(extra="forbid", title="penstock.toml")


def _annotated(kind: Any) -> Any:
    return Annotated[kind, Field(ge=0)] if kind in (int, float) else kind


class _Environment(EnvSettingsSource):
    """Lists may be written `a,b` besides JSON."""

    def decode_complex_value(self, field_name: str, field: Any, value: Any) -> Any:
        text = str(value).strip()
        if text[:1] not in ("[", "{"):
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text


def from_environment(prefix: str, ignored: Sequence[str] = ()) -> dict[str, Any]:
    """What the environment says, by key; also of keys that there are none of."""
    import os

    given: dict[str, Any] = _Environment(_model(), env_prefix=prefix)()
    keys = all_keys()
    for variable, value in os.environ.items():
        name = variable.removeprefix(prefix).lower()
        if variable.startswith(prefix) and variable not in ignored and name not in keys:
            given[name] = value
    return given


def json_schema() -> dict[str, Any]:
    """The JSON Schema of `penstock.toml`."""
    schema = _model().model_json_schema()
    keys = dict(schema["properties"])
    schema["properties"] |= {
        "profile": {"type": "string", "default": "default", "description": "The profile in force."},
        "profiles": {
            "type": "object",
            "description": "Profiles of one's own, and changes to those that come with penstock.",
            "additionalProperties": {"type": "object", "properties": keys, "additionalProperties": False},
        },
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
