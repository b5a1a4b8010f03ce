"""`penstock config` and `penstock completion`, and progress on long work."""

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from penstock.cli import COMMANDS, main
from penstock.cli.completion import SHELLS
from penstock.cli.progress import MIN_BYTES, Progress, progress_of_file
from penstock.config.keys import all_keys


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in list(os.environ):
        if variable.startswith("PENSTOCK_"):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_show_prints_every_value_as_toml_with_its_origin(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "penstock.toml").write_text('profile = "ci"\nmarkup = "qwen"\n')
    monkeypatch.setenv("PENSTOCK_WINDOW_S", "0.2")
    out = printed(capsys, "config", "show")
    assert list(tomllib.loads(out)) == list(all_keys())
    origins = {match[1]: match[2] for match in re.finditer(r"^(\w+) .* # (.+)$", out, re.MULTILINE)}
    assert origins["markup"] == "penstock.toml"
    assert origins["window_s"] == "environment"
    assert origins["redact"] == "profile ci"
    assert origins["deltas"] == "default"
    assert out.startswith("# profile ci; file: ")


def test_show_prints_no_secret(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "penstock.toml").write_text(
        'sinks = [{ type = "my.sinks:Hook", key = "sk-proj-a1b2c3d4e5f6g7h8i9" }]'
    )
    assert 'sinks                    = [{ type = "my.sinks:Hook", key = "[redacted]" }]' in printed(
        capsys, "config", "show"
    )


def test_show_graph_prints_the_chain_as_text_and_mermaid(capsys: pytest.CaptureFixture[str]) -> None:
    text, chart = printed(capsys, "config", "show", "--profile", "gateway", "--graph").split("\n\n")
    labels = text.splitlines()
    assert labels[0] == "read(auto)"
    assert "redact" in labels
    assert labels[-1] == "→ LogSink"
    assert [line.split('"')[1] for line in chart.splitlines()[2:]] == [label.removeprefix("→ ") for label in labels]


def test_check_says_that_it_is_right_and_names_file_and_profile(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert printed(capsys, "config", "check") == "no file, the defaults: right (profile default)\n"
    (folder / "own.toml").write_text('profile = "chat"')
    assert printed(capsys, "config", "check", "--config", "own.toml") == "own.toml: right (profile chat)\n"


def test_schema_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(capsys, "config", "schema"))["title"] == "penstock.toml"


def test_options_win_over_the_file(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "penstock.toml").write_text('output = "none"\nbackend = "anthropic"')
    (folder / "a.txt").write_text("Hello.")
    arguments = ["replay", "a.txt", "--speed", "max", "--backend", "text", "-o", "final"]
    assert printed(capsys, *arguments) == "Hello.\n"


def test_a_configured_sink_works_beside_the_output(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "penstock.toml").write_text('sinks = [{ type = "log", path = "log.jsonl" }]\nbackend = "text"')
    (folder / "a.txt").write_text("Hello.")
    assert printed(capsys, "replay", "a.txt", "--speed", "max") == "Hello.\n"
    names = [json.loads(line)["event"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert names[-1] == "turn_completed"


# ── completion ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_knows_every_command_and_option(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    script = printed(capsys, "completion", shell)
    assert all(re.search(rf"\b{command}\b", script) for command in COMMANDS)
    for word in ("backend", "profile", "speed", "graph", "openai-chat", "gateway", "updates"):
        assert word in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["penstock", "re"], ["replay", "record"]),
        (["penstock", "replay", "--prof"], ["--profile"]),
        (["penstock", "demo", "--profile", "g"], ["gateway"]),
        (["penstock", "config", "s"], ["show", "schema"]),
        (["penstock", "run", "-o", "u"], ["updates"]),
    ],
)
def test_bash_completes(capsys: pytest.CaptureFixture[str], words: list[str], expected: list[str]) -> None:
    script = printed(capsys, "completion", "bash")
    quoted = " ".join(f"'{word}'" for word in words)
    script += f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _penstock; echo ${{COMPREPLY[@]}}\n"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == expected


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    program = "penstock completion bash | head -c 20"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    result = subprocess.run(["bash", "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert (result.stdout, result.stderr) == ("_penstock() {\n    lo", "")


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_one_line_that_leaves_nothing_behind() -> None:
    stream, times = io.StringIO(), iter([0.0, 0.01, 0.5, 1.0])
    progress = Progress(stream, 100_000_000, "big.sse", now=lambda: next(times))
    progress.advance(1_000_000)
    progress.advance(24_000_000)
    progress.advance(75_000_000)
    progress.close()
    shown = stream.getvalue().split("\r")[1:]
    assert shown == [
        "big.sse [######                  ]  25% 50 MB/s\x1b[K",
        "big.sse [########################] 100% 100 MB/s\x1b[K",
        "\x1b[K",
    ]


def test_progress_is_only_shown_where_nothing_else_draws_and_the_work_is_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress_of_file("f", MIN_BYTES, has_display=False) is None
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert progress_of_file("f", MIN_BYTES, has_display=False) is not None
    assert progress_of_file("f", MIN_BYTES, has_display=True) is None
    assert progress_of_file("f", MIN_BYTES - 1, has_display=False) is None
    monkeypatch.setattr(sys, "stdout", _Terminal())
    assert progress_of_file("f", MIN_BYTES, has_display=False) is None


def test_replaying_a_large_file_shows_progress(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("penstock.cli.progress.MIN_BYTES", 1000)
    monkeypatch.setattr("penstock.cli.progress._BETWEEN_S", 0.0)
    errors = _Terminal()
    monkeypatch.setattr(sys, "stderr", errors)
    (folder / "a.txt").write_text("Hello. " * 100_000)
    assert main(["replay", "a.txt", "--speed", "max", "--backend", "text", "-o", "final"]) == 0
    assert "a.txt [" in errors.getvalue()
    assert errors.getvalue().endswith("\r\x1b[K")
