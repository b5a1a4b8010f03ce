"""What each `-o` prints, and the exit status that goes with it."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_stream import answer, error, event

from penstock.cli import main

CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": '{"path":"a.py"}'}}
STREAM = b"".join(
    [
        event({"reasoning_content": "hm, "}),
        event({"reasoning_content": "well"}),
        event({"content": "<think>aside</think>Hel"}),
        event({"content": "lo 🌊"}),
        answer("."),
    ]
)


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.sse"
    path.write_bytes(STREAM)
    return path


def run(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> tuple[int, str, str]:
    status = main(["replay", str(path), "--speed", "max", *options])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("options", [(), ("-o", "text"), ("-o", "final"), ("--backend", "openai-chat")])
def test_text_and_final_are_exactly_the_visible_text(
    capsys: pytest.CaptureFixture[str], stream: Path, options: tuple[str, ...]
) -> None:
    assert run(capsys, stream, *options) == (0, "Hello 🌊.\n", "")


def test_events_are_every_event_a_line(capsys: pytest.CaptureFixture[str], stream: Path) -> None:
    status, out, err = run(capsys, stream, "-o", "events")
    assert (status, err) == (0, "")
    told = [(line["event"], line.get("kind"), line.get("textDelta", line.get("text"))) for line in json_lines(out)]
    assert told == [
        ("stream_delta", "message_start", None),
        ("stream_delta", "block_start", None),
        ("stream_delta", "thinking", "hm, well"),
        ("stream_delta", "block_stop", None),
        ("thinking", None, "hm, well"),
        ("stream_delta", "block_start", None),
        ("stream_delta", "thinking", "aside"),
        ("stream_delta", "block_stop", None),
        ("thinking", None, "aside"),
        ("stream_delta", "block_start", None),
        ("stream_delta", "text", "Hello 🌊."),
        ("stream_delta", "block_stop", None),
        ("text", None, "Hello 🌊."),
        ("stream_delta", "message_stop", None),
        ("turn_completed", None, None),
    ]


def test_updates_are_what_a_screen_needs(capsys: pytest.CaptureFixture[str], stream: Path) -> None:
    status, out, _ = run(capsys, stream, "-o", "updates")
    shown = [(line["type"], line.get("content", line.get("message"))) for line in json_lines(out)]
    assert status == 0
    assert shown == [
        ("thinking", "hm, well"),
        ("thinking", "aside"),
        ("final_message_start", None),
        ("assistant", "Hello 🌊."),
        ("completed", "Hello 🌊."),
    ]


def test_log_is_a_json_record_a_line_without_deltas(capsys: pytest.CaptureFixture[str], stream: Path) -> None:
    status, out, _ = run(capsys, stream, "-o", "log")
    records = json_lines(out)
    assert status == 0
    assert [record["event"] for record in records][:2] == ["turn_started", "message_start"]
    assert records[-1]["event"] == "turn_completed"
    assert {record["level"] for record in records} == {"info"}
    assert all(record["timestamp"] for record in records)


def test_without_the_window_every_chunk_is_an_update(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    lines = [{"penstock": "recording", "version": 1}]
    lines += [{"seq": n, "t": 0, "data": event({"content": str(n)}).decode()} for n in range(5)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    _, out, _ = run(capsys, path, "-o", "updates", "--no-coalesce")
    assert [line["content"] for line in json_lines(out) if line["type"] == "assistant"] == [
        "0",
        "01",
        "012",
        "0123",
        "01234",
    ]


def test_markup_none_leaves_the_text_as_it_is(capsys: pytest.CaptureFixture[str], stream: Path) -> None:
    _, out, _ = run(capsys, stream, "--markup", "none", "-o", "text")
    assert out == "<think>aside</think>Hello 🌊.\n"


def test_verbose_says_which_backend_was_recognised(capsys: pytest.CaptureFixture[str], stream: Path) -> None:
    assert run(capsys, stream, "-v")[2] == "penstock: recognised openai-chat\n"


@pytest.mark.parametrize("output", ["text", "final"])
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (event({"content": "partial"}) + error("rate_limit_exceeded", "slow\ndown"), "rate_limited: slow⏎down"),
        (event({"content": "partial"}), "truncated: "),
    ],
)
def test_a_stream_that_ends_in_an_error_prints_what_there_was_and_is_status_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, output: str, content: bytes, code: str
) -> None:
    path = tmp_path / "broken.sse"
    path.write_bytes(content)
    status, out, err = run(capsys, path, "-o", output)
    assert (status, out) == (1, "partial\n")
    assert err.startswith(f"penstock: {code}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b'{"penstock":"recording","version":1}\n'])
def test_an_empty_stream_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty"
    path.write_bytes(content)
    status, out, err = run(capsys, path)
    assert (status, out) == (1, "")
    assert err.startswith("penstock: truncated: ")


def test_input_nobody_recognises_is_an_error_that_names_the_candidates(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "prose.txt"
    path.write_text("Once upon a time\nthere was a river.\n")
    status, out, err = run(capsys, path)
    assert (status, out) == (1, "")
    assert "openai-chat" in err
    assert run(capsys, path, "--backend", "text") == (0, "Once upon a time\nthere was a river.\n", "")


def test_trouble_that_the_stream_survives_is_told_and_is_status_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "noisy.sse"
    path.write_bytes(b"data: {broken\n\n" * 30 + answer("fine"))
    status, out, err = run(capsys, path, "--backend", "openai-chat")
    assert (status, out) == (0, "fine\n")
    assert err.startswith("penstock: bad_json: ")
    assert err.splitlines()[-1] == "penstock: … and 10 more like these"
    assert err.count("\n") == 21


def test_what_a_model_says_reaches_no_terminal_as_a_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "evil.sse"
    path.write_bytes(answer("a\x1b]52;c;aGk=\x07b\x9b2Jc"))
    for output in ("text", "final"):
        assert run(capsys, path, "-o", output)[1] == "abc\n"
    path.write_bytes(error("x", "\x1b[2Jy"))
    assert "\x1b" not in run(capsys, path, "--backend", "openai-chat")[2]


def test_a_tool_call_lives_from_start_to_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tool.jsonl"
    lines: list[dict[str, Any]] = [
        {"penstock": "recording", "version": 1},
        {"seq": 0, "t": 0, "round": 1},
        {"seq": 1, "t": 0, "data": (event({"tool_calls": [CALL]}) + answer(finish_reason="tool_calls")).decode()},
        {"seq": 2, "t": 0, "tool": "call-1", "progress": "looking"},
        {"seq": 3, "t": 0, "tool": "call-1", "output": "no such file", "isError": True},
        {"seq": 4, "t": 0, "round": 2},
        {"seq": 5, "t": 0, "data": answer("Not there.").decode()},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, _ = run(capsys, path, "-o", "updates")
    blocks = [line for line in json_lines(out) if line["type"] == "tool_block"]
    stages = [block["stage"] for block in blocks]
    assert status == 0
    assert (stages[0], stages[-2], stages[-1]) == ("start", "running", "end")
    assert blocks[-1]["success"] is False
    assert json_lines(out)[-1]["message"] == "Not there."
