"""Backends by name: penstock's own, and those that other packages bring through an entry point.

A package joins with an entry point in the group `penstock.backends`, whose name is the backend's and whose
object is a `Backend`:

    [project.entry-points."penstock.backends"]
    my-agent = "my_package.penstock:BACKEND"

Only the module of the backend that is asked for is imported. A built-in name cannot be taken over.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from penstock.backends.reader import Backend
from penstock.errors import ConfigurationError, UnknownBackend

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUILT_IN", "all_backends", "backend_named", "backend_names"]

BUILT_IN = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "claude-cli",
    "codex-exec",
    "codex-app-server",
    "acp",
    "gemini-cli",
    "gemini-api",
    "ollama",
    "cursor-cli",
    "text",
)

GROUP = "penstock.backends"


def backend_names() -> tuple[str, ...]:
    """The names of all backends, without importing any."""
    return (*BUILT_IN, *_brought())


def backend_named(name: str) -> Backend:
    """The backend of that name; `UnknownBackend` says which there are and which was probably meant."""
    if name in BUILT_IN:
        built_in: Backend = import_module(f"penstock.backends.{name.replace('-', '_')}").BACKEND
        return built_in
    if name not in _brought():
        raise UnknownBackend(_no_such(name))
    return _load(_brought()[name])


def all_backends() -> Iterator[Backend]:
    """Every backend, the built-in ones first, each imported only when its turn comes."""
    return map(backend_named, backend_names())


@cache
def _brought() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


def _load(entry: "EntryPoint") -> Backend:
    try:
        backend = entry.load()
    except Exception as error:
        raise ConfigurationError(f"the backend {entry.name!r} does not load from {entry.value}: {error}") from error
    if not isinstance(backend, Backend):
        raise ConfigurationError(
            f"the backend {entry.name!r} is no Backend: {entry.value} is {type(backend).__name__}"
        )
    return backend


def _no_such(name: str) -> str:
    from difflib import get_close_matches

    names = backend_names()
    near = get_close_matches(name.lower().replace("_", "-"), names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"no backend is called {name!r}; {hint}there are: {', '.join(names)} (or auto)"
