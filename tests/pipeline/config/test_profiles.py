"""One recording under every profile: the documented differences, and the same final message."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli import main
from penstock.config import load
from penstock.config.profiles import PROFILES
from penstock.events import TextDelta
from penstock.replay import replay
from penstock.testing import RecordingSink
from penstock.updates import (
    AssistantStreamingToolCall,
    AssistantUpdate,
    Completed,
    FinalMessageStart,
    ThinkingUpdate,
    ToolBlockUpdate,
)

DEMO = Path(penstock.__file__).parent / "demo" / "turn.jsonl"
FIRST_ROUND = "I look at the notes"
FINAL = "## What a penstock does"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in list(os.environ):
        if variable.startswith("PENSTOCK_"):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)


def played(run_async: asyncio.Runner, profile: str) -> RecordingSink:
    """What a screen sees of the demo under a profile."""
    screen = RecordingSink()
    pipeline = load(profile=profile, backend="openai-chat", output="none").pipeline([screen])

    async def play() -> None:
        async with pipeline.turn() as turn:
            await replay(turn, DEMO, speed="max")

    run_async.run(play())
    return screen


def printed(capsys: pytest.CaptureFixture[str], profile: str) -> tuple[str, str]:
    assert main(["demo", "--speed", "max", "--profile", profile]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


@pytest.mark.usefixtures("capsys")
def test_the_final_message_is_the_same_under_every_profile(run_async: asyncio.Runner) -> None:
    messages = {profile: played(run_async, profile).of(Completed)[0].message for profile in PROFILES}
    assert len(set(messages.values())) == 1
    assert messages["default"].startswith(FINAL)
    assert set(messages) == {"default", "ci", "gateway", "verbose", "chat"}


def test_default_prints_every_round_and_logs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "default")
    assert out.startswith(FIRST_ROUND)
    assert FINAL in out
    assert err == ""


def test_ci_prints_the_same_and_logs_errors_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert printed(capsys, "ci") == (printed(capsys, "default")[0], "")
    (tmp_path / "torn.sse").write_bytes(b'data: {"error":{"code":"overloaded","message":"later"}}\n\n')
    assert main(["replay", "torn.sse", "--backend", "openai-chat", "--speed", "max", "--profile", "ci"]) == 1
    records = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    assert [record["code"] for record in records] == ["overloaded"]


def test_gateway_prints_nothing_and_logs_every_turn_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "gateway")
    assert out == ""
    names = [json.loads(line)["event"] for line in err.splitlines()]
    assert (names[0], names[-1], names.count("round_completed")) == ("turn_started", "turn_completed", 3)
    assert not [name for name in names if "delta" in name]


def test_verbose_prints_the_text_and_logs_every_delta(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "verbose")
    assert out == printed(capsys, "default")[0]
    kinds: dict[str, int] = {}
    for line in err.splitlines():
        name = line.split()[2]
        kinds[name] = kinds.get(name, 0) + 1
    assert kinds["text_delta"] > 10
    assert kinds["turn_completed"] == 1


def test_chat_prints_the_final_message_alone(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "chat")
    assert out.startswith(FINAL)
    assert FIRST_ROUND not in out
    assert err == ""


@pytest.mark.usefixtures("capsys")
def test_chat_shows_no_thinking_and_no_tools_and_rounds_overwrite_each_other(run_async: asyncio.Runner) -> None:
    """The visibility rules of replace-then-append, SC1 to SC4 of its final message."""
    screen = played(run_async, "chat")
    hidden: tuple[type[Any], ...] = (ThinkingUpdate, ToolBlockUpdate, AssistantStreamingToolCall)
    assert [screen.of(kind) for kind in hidden] == [[], [], []]
    assert len(screen.of(FinalMessageStart)) == 1
    rounds = [update for update in screen.of(AssistantUpdate) if update.is_new]
    assert [update.content.split()[0] for update in rounds] == ["I", "Both", "##"]
    (completed,) = screen.of(Completed)
    assert FIRST_ROUND not in completed.message
    configuration = load(profile="chat").configuration
    assert (configuration.rounds, configuration.show_tools, configuration.show_thinking) == (
        "replace",
        False,
        False,
    )


@pytest.mark.usefixtures("capsys")
def test_the_screens_of_the_profiles_differ_as_documented(run_async: asyncio.Runner) -> None:
    screens = {profile: played(run_async, profile) for profile in PROFILES}
    assert {profile: bool(screen.of(ThinkingUpdate)) for profile, screen in screens.items()} == {
        "default": True,
        "ci": True,
        "gateway": True,
        "verbose": True,
        "chat": False,
    }
    assert {profile for profile, screen in screens.items() if screen.of(AssistantStreamingToolCall)} == {
        "gateway",
        "verbose",
    }
    assert len(screens["verbose"].of(TextDelta)) > 10 * len(screens["default"].of(TextDelta))
