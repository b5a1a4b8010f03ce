"""Which look suits which place: a pure decision (USERS 9, 10)."""

import io
from typing import Any

import pytest
from terminals import LIVE

from penstock.sinks.choose import Look, Place, choose, output_sinks
from penstock.sinks.terminal import TerminalSink
from penstock.sinks.text import TextSink


def look(is_terminal: bool = True, term: str = "xterm-256color", **facts: Any) -> Look:
    environment = {"TERM": term, **facts.pop("environment", {})}
    return choose(Place(is_terminal=is_terminal, environment=environment, **facts))


def test_a_terminal_is_live_coloured_and_synchronized() -> None:
    assert look() == LIVE


def test_what_is_not_a_terminal_gets_plain_text() -> None:
    assert look(is_terminal=False).form == "text"


@pytest.mark.parametrize(
    ("is_file", "status_is_terminal", "environment", "status"),
    [
        (True, True, {}, "all_along"),
        (False, True, {}, "until_text"),
        (True, False, {}, "none"),
        (True, True, {"TERM": "dumb"}, "none"),
        (True, True, {"CI": "true"}, "none"),
    ],
)
def test_status_goes_to_standard_error_only_where_that_is_a_terminal(
    is_file: bool, status_is_terminal: bool, environment: dict[str, str], status: str
) -> None:
    chosen = look(False, is_file=is_file, status_is_terminal=status_is_terminal, environment=environment)
    assert (chosen.form, chosen.status) == ("text", status)


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_terminal_without_cursor_movements_is_only_appended_to_without_any_escape(term: str) -> None:
    chosen = look(term=term)
    assert (chosen.form, chosen.is_live, chosen.has_color, chosen.is_synchronized) == (
        "terminal",
        False,
        False,
        False,
    )


def test_ci_is_only_appended_to() -> None:
    assert not look(environment={"CI": "1"}).is_live


def test_no_color_takes_the_colours_and_force_color_insists_on_them() -> None:
    assert not look(environment={"NO_COLOR": "1"}).has_color
    assert look(environment={"NO_COLOR": ""}).has_color
    assert look(environment={"NO_COLOR": "1", "FORCE_COLOR": "1"}).has_color
    assert not look(environment={"FORCE_COLOR": "0"}).has_color
    forced = look(is_terminal=False, environment={"FORCE_COLOR": "1"})
    assert (forced.form, forced.is_live, forced.has_color) == ("terminal", False, True)


def test_old_consoles_and_terminals_that_do_not_know_frames() -> None:
    assert not look(is_windows=True, is_legacy_windows=True).is_live
    assert choose(Place(is_terminal=True, is_windows=True, environment={})).is_live
    assert not look(term="linux").is_synchronized
    assert not look(environment={"TERM_PROGRAM": "Apple_Terminal"}).is_synchronized


@pytest.mark.parametrize(
    ("encoding", "has_unicode"), [("utf-8", True), ("cp1252", False), ("ascii", False), ("no-such", False)]
)
def test_signs_that_an_encoding_lacks_are_not_used(encoding: str, has_unicode: bool) -> None:
    assert look(encoding=encoding).has_unicode is has_unicode


class Fake(io.StringIO):
    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def test_the_sinks_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    assert [type(sink) for sink in output_sinks(Fake(True), Fake(True))] == [TerminalSink]
    assert [type(sink) for sink in output_sinks(Fake(False), Fake(False))] == [TextSink]
    text, status = output_sinks(Fake(False), Fake(True))
    assert (type(text), type(status)) == (TextSink, TerminalSink)


def test_a_terminal_sink_that_is_not_on_a_terminal_writes_exactly_the_visible_text() -> None:
    sink = TerminalSink(Fake(False), look=Look(form="text"))
    assert isinstance(sink.open("t"), TextSink)
    assert sink.accepts == TextSink.accepts
