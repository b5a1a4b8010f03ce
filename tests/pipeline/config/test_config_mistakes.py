"""Wrong configurations: one line each that names the place, the key, and what was probably meant."""

import os
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigurationError, load_pipeline
from penstock.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in list(os.environ):
        if variable.startswith("PENSTOCK_"):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return tmp_path


IN_THE_FILE = {
    "windw_s = 0.1": "there is no key 'windw_s'; did you mean 'window_s'?",
    "colour = true": "there is no key 'colour'; penstock config show lists them all",
    'window_s = "fast"': 'window_s must be a number of seconds, 0 or more, not "fast"',
    'window_s = "0.1"': 'window_s must be a number of seconds, 0 or more, not "0.1"',
    "window_s = -0.1": "window_s must be a number of seconds, 0 or more, not -0.1",
    "window_s = inf": "window_s must be a number of seconds, 0 or more, not inf",
    "max_record_bytes = 1.5": "max_record_bytes must be a whole number of bytes, 0 or more, not 1.5",
    "redact = 1": "redact must be true or false, not 1",
    'extra_tags = "think"': 'extra_tags must be a list of texts, not "think"',
    'tool_engine = "tag"': "tool_engine must be one of native, tags, structured, not \"tag\"; did you mean 'tags'?",
    'backend = "openai-caht"': "backend: there is no 'openai-caht'; did you mean 'openai-chat'?",
    'backend = "zzz"': "backend: there is no 'zzz'; penstock backends lists them",
    'markup = "qwn"': "markup: there is no 'qwn'; did you mean 'qwen'?",
    'redact_patterns = ["(open"]': (
        'redact_patterns: "(open" is no regular expression: missing ), unterminated subpattern at position 0'
    ),
    'profile = "gatway"': (
        "profile: no profile is called 'gatway'; did you mean 'gateway'? there are: default, ci, gateway, verbose, "
        "chat"
    ),
    "profiles = 1": "profiles must be tables: [profiles.name]",
    'sinks = ["jsnl"]': "sinks[0]: no sink is called 'jsnl'; did you mean 'jsonl'? there are: jsonl, log, otel, "
    "package.module:name",
    '[[sinks]]\ntype = "jsonl"\npth = "x"': "sinks[0] (jsonl) has no option 'pth'; did you mean 'path'?",
    '[[sinks]]\ntype = "jsonl"': "sinks[0] (jsonl) needs the option 'path'",
    '[[sinks]]\ntype = "jsonl"\npath = "x"\nwhat = "final"': (
        "sinks[0]: what must be one of events, finals, updates, not \"final\"; did you mean 'finals'?"
    ),
    '[[sinks]]\ntype = "jsonl"\npath = 7': "sinks[0]: path must be a text, not 7",
    '[[sinks]]\npath = "x"': "sinks[0] needs a type: the name of what it is",
    "sinks = [1]": "sinks must be a list of names and tables, not [1]",
    'sinks = ["no_such_package.sinks:Audit"]': (
        "sinks[0]: cannot import no_such_package.sinks: No module named 'no_such_package'"
    ),
    'sinks = ["penstock.sinks:LogSnik"]': "sinks[0]: penstock.sinks has no 'LogSnik'; did you mean 'LogSink'?",
    'sinks = ["penstock.operators:coalesce"]': (
        "sinks[0]: penstock.operators:coalesce is no Sink, nor a function whose annotation says that it returns one"
    ),
    '[[sinks]]\ntype = "os:system"\ncommand = "touch called"': (
        "sinks[0]: os:system is no Sink, nor a function whose annotation says that it returns one"
    ),
    'operators = ["shout"]': "operators[0]: no operator is called 'shout'; there are: package.module:name",
    "[formatters]\ndeploy = 1": 'formatters must be a table of texts, not {"deploy":1}',
    '[formatters]\ndeploy = "nowhere"': "formatters.deploy: 'nowhere' is no name like package.module:name",
    "window_s = = 1": "not valid TOML: Invalid value (at line 1, column 12)",
}


@pytest.mark.parametrize("text", IN_THE_FILE)
def test_a_mistake_in_the_file_is_one_line_that_names_file_key_and_what_was_meant(
    folder: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "penstock.toml").write_text(text)
    with pytest.raises(ConfigurationError) as raised:
        load_pipeline()
    assert str(raised.value) == f"penstock.toml: {IN_THE_FILE[text]}"
    assert main(["config", "check"]) == 2
    assert capsys.readouterr().err == f"penstock: {raised.value}\n"


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("PENSTOCK_WINDOW", "1", "there is no key 'PENSTOCK_WINDOW'; did you mean 'PENSTOCK_WINDOW_S'?"),
        ("PENSTOCK_WINDOW_S", "fast", 'PENSTOCK_WINDOW_S must be a number of seconds, 0 or more, not "fast"'),
        ("PENSTOCK_REDACT", "maybe", 'PENSTOCK_REDACT must be true or false, not "maybe"'),
        ("PENSTOCK_SINKS", "[{", 'PENSTOCK_SINKS must be a list of names and tables, not "[{"'),
        ("PENSTOCK_BACKEND", "olama", "PENSTOCK_BACKEND: there is no 'olama'; did you mean 'ollama'?"),
        (
            "PENSTOCK_PROFILE",
            "cli",
            "PENSTOCK_PROFILE: no profile is called 'cli'; did you mean 'ci'? there are: default, ci, gateway, "
            "verbose, chat",
        ),
    ],
)
def test_a_mistake_in_the_environment_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, complaint: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError) as raised:
        load_pipeline()
    assert str(raised.value) == f"environment: {complaint}"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"windw_s": 1}, "arguments: there is no key 'windw_s'; did you mean 'window_s'?"),
        ({"redact": "yes"}, 'arguments: redact must be true or false, not "yes"'),
        ({"path": "nowhere.toml"}, "nowhere.toml: cannot be read: No such file or directory"),
        (
            {"profile": "x"},
            "arguments: profile: no profile is called 'x'; there are: default, ci, gateway, verbose, chat",
        ),
    ],
)
def test_a_mistake_in_the_arguments_says_so(arguments: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        load_pipeline(**arguments)
    assert str(raised.value) == complaint


def test_a_profile_that_is_not_in_force_is_checked_too(folder: Path) -> None:
    (folder / "penstock.toml").write_text("[profiles.night]\nwindow = 1.0")
    with pytest.raises(ConfigurationError) as raised:
        load_pipeline()
    assert str(raised.value) == (
        "penstock.toml [profiles.night]: there is no key 'window'; did you mean 'window_s'?"
    )


def test_a_mistake_in_pyproject_names_its_table(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.penstock]\nmarkupp = 'qwen'")
    with pytest.raises(ConfigurationError) as raised:
        load_pipeline()
    assert str(raised.value) == (
        "pyproject.toml [tool.penstock]: there is no key 'markupp'; did you mean 'markup'?"
    )


def test_a_command_with_a_wrong_configuration_starts_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "penstock.toml").write_text("windw_s = 1")
    assert main(["demo", "--speed", "max"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "penstock: penstock.toml: there is no key 'windw_s'; did you mean 'window_s'?\n"
