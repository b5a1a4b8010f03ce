"""The demo: its recording is made by its script, says what is true, and shows what penstock is for."""

import asyncio
import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jumping_clock import JumpingClock
from laws import check_balance

from penstock import wire
from penstock.cli import main
from penstock.events import Event
from penstock.sources.recordings import recording

ROOT = Path(__file__).resolve().parents[3]
DEMO = Path(str(files("penstock"))) / "demo" / "turn.jsonl"


def demo(capsys: pytest.CaptureFixture[str], output: str) -> str:
    assert main(["demo", "--speed", "max", "-o", output]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_its_script_makes_the_recording_byte_for_byte(tmp_path: Path) -> None:
    made = tmp_path / "turn.jsonl"
    subprocess.run([sys.executable, ROOT / "scripts" / "make_demo", made], check=True, capture_output=True)
    assert made.read_bytes() == DEMO.read_bytes()


def test_it_takes_between_15_and_25_seconds_at_normal_speed(run_async: asyncio.Runner) -> None:
    clock = JumpingClock()

    async def play() -> None:
        async for _ in recording(DEMO, clock=clock):
            pass

    run_async.run(play())
    assert 15 < clock.time < 25


def test_its_reads_cut_characters_and_tags(run_async: asyncio.Runner) -> None:
    async def chunks() -> list[bytes]:
        return [chunk async for chunk in recording(DEMO, speed="max")]

    reads = run_async.run(chunks())
    torn = [read for read in reads if 0x80 <= read[0] < 0xC0]
    assert len(torn) >= 10, "reads that begin inside a character"
    contents = [wire_delta.get("content", "") for wire_delta in deltas(b"".join(reads))]
    assert {"<th", "ink>", "</thi", "nk>"} <= set(contents)


def deltas(stream: bytes) -> list[dict[str, Any]]:
    payloads = [line[6:] for line in stream.splitlines() if line.startswith(b"data: {")]
    return [choice["delta"] for payload in payloads for choice in json.loads(payload)["choices"]]


def test_it_is_a_turn_of_three_rounds_in_balance(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Event] = [wire.decode(line) for line in demo(capsys, "events").splitlines()]  # type: ignore[misc]
    check_balance(told)
    lines = [wire.to_json(event) for event in told]
    assert [line["round"] for line in lines if line.get("kind") == "message_start"] == [1, 2, 3]
    assert len([line for line in lines if line["event"] == "thinking"]) == 2
    calls = [line for line in lines if line["event"] == "tool_invocation"]
    assert [call["toolName"] for call in calls] == ["read_file", "write_file", "run_command"]
    assert calls[0]["messageId"] == calls[1]["messageId"], "two calls of one round"
    assert len(calls[1]["input"]["content"].splitlines()) >= 40
    assert not [line for line in lines if line["event"] in ("error", "unknown")]


def test_the_program_it_writes_prints_what_the_demo_says(capsys: pytest.CaptureFixture[str]) -> None:
    lines = json_lines(demo(capsys, "events"))
    program = next(
        line["input"]["content"] for line in lines if line.get("toolName") == "write_file" and "input" in line
    )
    claimed = next(
        line["output"] for line in lines if line["event"] == "tool_completion" and line["callId"] == "call_run"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    assert printed.stdout.decode() == claimed


def test_its_text_is_many_scripts_and_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    text = demo(capsys, "text")
    assert "think" not in text
    for expected in (
        "fließt",
        "水門",
        "闸门",
        "수문",
        "البوابة",
        "👩🏽‍🔧",
        "👨‍👩‍👧‍👦",
        "🏞️",
        "```python",
        "| minute |",
        "\n1. ",
    ):
        assert expected in text
    final = demo(capsys, "final")
    assert final.startswith("## What a penstock does")
    assert text.endswith(final)


def test_every_tool_lives_from_start_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    updates = json_lines(demo(capsys, "updates"))
    for call_id in ("call_read", "call_write", "call_run"):
        stages = [update["stage"] for update in updates if update.get("id") == call_id]
        assert list(dict.fromkeys(stages)) == ["start", "streaming", "running", "end"]
        assert stages.count("end") == 1
