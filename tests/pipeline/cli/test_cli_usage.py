"""The command line itself: help, versions, and wrong usage in one clear line."""

import subprocess
import sys
from pathlib import Path

import pytest

from penstock import __version__
from penstock.backends.registry import backend_names
from penstock.cli import COMMANDS, main
from penstock.cli.options import OUTPUTS


def test_the_help_names_every_command_and_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n    {command} " in out for command in COMMANDS)
    assert "exit status: 0 done; 1 " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"examples:\n  penstock {command}" in out
    if "--output" in out:
        assert all(f"\n  {output} " in out for output in OUTPUTS)


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"penstock {__version__}\n"


def test_help_is_fast_because_nothing_heavy_is_imported() -> None:
    program = (
        "import sys; from penstock.cli import main; main(['--help']);"
        "print(sorted({'openai', 'rich', 'structlog', 'pydantic'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "required: COMMAND"),
        (["repla"], "invalid choice: 'repla'"),
        (["replay"], "required: FILE"),
        (["replay", "no-such-file"], "cannot read no-such-file: No such file or directory"),
        (["replay", "."], "cannot read .: Is a directory"),
        (["replay", __file__, "--backend", "openai-caht"], "did you mean 'openai-chat'?"),
        (["replay", __file__, "--markup", "nobody"], "no markup family is called 'nobody'"),
        (["replay", __file__, "-o", "json"], "invalid choice: 'json'"),
        (["replay", __file__, "--speed", "fast"], "a speed is a number like 1, 10 or 0.5, or max; not 'fast'"),
        (["replay", __file__, "--speed", "-1"], "a speed is a number"),
        (["demo", "extra"], "unrecognized arguments: extra"),
        (["run", "claude"], "unrecognized arguments: claude"),
        (["run", "--"], "there is no program after --"),
        (["run", "--", "no-such-program"], "cannot start 'no-such-program': No such file or directory"),
        (["run", "--backend", "nobody", "--", "true"], "no backend is called 'nobody'"),
        (["record", "no/such/folder/file", "--", "true"], "cannot write no/such/folder/file"),
        (["record", __file__, "--", "true"], "exists; --overwrite makes it anew"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("penstock: ")
    assert complaint in captured.err


def test_a_later_recording_is_wrong_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    path.write_text('{"penstock":"recording","version":9}\n')
    assert main(["replay", str(path)]) == 2
    assert "is a recording of version 9" in capsys.readouterr().err


def test_backends_lists_each_with_how_it_is_recognised(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backends"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{out}" for name in backend_names())
    assert out.count("recognised by: ") == len(backend_names())
    assert main(["backends", "--names"]) == 0
    assert capsys.readouterr().out.split() == list(backend_names())
