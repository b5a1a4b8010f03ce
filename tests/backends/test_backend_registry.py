"""Backends by name: lazily imported, joined by other packages, wrong names answered helpfully."""

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from laws import push
from reading import said

from penstock.backends import registry
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.registry import BUILT_IN, all_backends, backend_named, backend_names
from penstock.errors import ConfigurationError, UnknownBackend
from penstock.operators.normalize import normalize


class ShoutReader(Reader):
    backend = "shout"

    def read(self, record: Record) -> None:
        if "shout" in record:
            self.writer.text(str(record["shout"]).upper())
        else:
            self.complete("quiet")


SHOUT = Backend("shout", "shouts", 'objects with "shout"', lambda record: "shout" in record, ShoutReader)


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Entry points of another package, as name → object reference."""
    references = {
        "shout": f"{__name__}:SHOUT",
        "broken": f"{__name__}:DEFINED_NOWHERE",
        "wrong": f"{__name__}:__name__",
    }
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])

    def entry_points(*, group: str) -> list[EntryPoint]:
        return [EntryPoint(name, reference, group) for name, reference in references.items()]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry._brought.cache_clear()
    yield references
    registry._brought.cache_clear()


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_backend_is_there_under_its_name(name: str) -> None:
    backend = backend_named(name)
    assert backend.name == name
    assert backend.summary
    assert backend.recognized_by
    assert backend.reader(None).backend == name


def test_looking_up_one_backend_imports_no_other() -> None:
    script = (
        "import sys\n"
        "from penstock.backends.registry import backend_named, backend_names\n"
        "backend_names(), backend_named('ollama')\n"
        "modules = {'openai_chat', 'claude_cli', 'acp', 'gemini_api'}\n"
        "print(sorted(name for name in modules if f'penstock.backends.{name}' in sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("openai_chat", "'openai-chat'"), ("Claude-CLI", "'claude-cli'"), ("olama", "'ollama'"), ("zzz", "")],
)
def test_an_unknown_name_is_answered_with_the_nearest_and_all_there_are(wrong: str, hint: str) -> None:
    with pytest.raises(UnknownBackend) as raised:
        backend_named(wrong)
    message = str(raised.value)
    assert repr(wrong) in message
    assert ("did you mean " + hint in message) if hint else ("did you mean" not in message)
    assert all(name in message for name in BUILT_IN)


def test_an_unknown_name_is_refused_when_the_operator_is_made() -> None:
    with pytest.raises(UnknownBackend):
        normalize("nobody")


def test_a_backend_of_another_package_is_found_by_name_and_by_auto(brought: dict[str, str]) -> None:
    del brought["broken"], brought["wrong"]
    assert backend_names() == (*BUILT_IN, "shout")
    assert backend_named("shout") is SHOUT
    assert SHOUT in list(all_backends())
    for backend in ("shout", "auto"):
        assert said(push(normalize(backend), [{"shout": "hey"}, {}])) == "HEY"


def test_a_backend_of_ones_own_needs_no_registration() -> None:
    assert said(push(normalize(SHOUT), [{"shout": "hey"}, {}])) == "HEY"


def test_a_built_in_name_cannot_be_taken_over(brought: dict[str, str]) -> None:
    brought["openai-chat"] = brought["shout"]
    assert backend_named("openai-chat") is not SHOUT


@pytest.mark.parametrize("name", ["wrong", "broken"])
def test_an_entry_point_that_is_no_backend_is_named_in_the_error(brought: dict[str, Any], name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        backend_named(name)
