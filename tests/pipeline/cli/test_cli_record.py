"""`penstock record`: bytes pass through unchanged, and come back from the file."""

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from chat_stream import answer, event

from penstock.cli import main

PENSTOCK = [sys.executable, "-c", "import sys; from penstock.cli import main; sys.exit(main())"]
STREAM = answer("Grüße ", "🌊") + b"\xff\xfe no UTF-8\n"


def writing(content: bytes, then: str = "") -> list[str]:
    return [
        sys.executable,
        "-c",
        f"import sys, time\nsys.stdout.buffer.write({content!r}); sys.stdout.flush()\n{then}",
    ]


def recorded_bytes(path: Path) -> bytes:
    content = b""
    for line in path.read_text().splitlines()[1:]:
        record = json.loads(line)
        content += record["data"].encode() if "data" in record else base64.b64decode(record["base64"])
    return content


def test_the_bytes_pass_through_and_are_recorded(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    assert main(["record", str(path), "--", *writing(STREAM)]) == 0
    assert capfdbinary.readouterr() == (STREAM, b"")
    assert recorded_bytes(path) == STREAM


def test_it_stands_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    result = subprocess.run([*PENSTOCK, "record", str(path)], input=STREAM, capture_output=True, check=True)
    assert (result.stdout, recorded_bytes(path)) == (STREAM, STREAM)


def test_recording_a_replay_gives_the_same_bytes(capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    """Issue 3, through the program: what a recording's source gives, recorded again."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    main(["record", str(first), "--", *writing(STREAM)])
    program = (
        "import asyncio, sys; from penstock.sources.recordings import recording\n"
        "async def main():\n"
        f"    async for chunk in recording({str(first)!r}): sys.stdout.buffer.write(chunk)\n"
        "asyncio.run(main())"
    )
    assert main(["record", str(second), "--", sys.executable, "-c", program]) == 0
    assert recorded_bytes(second) == recorded_bytes(first) == STREAM


def test_with_an_output_it_shows_what_it_records(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    stream = answer("Hello.")
    assert main(["record", str(path), "-o", "text", "--", *writing(stream)]) == 0
    assert capfd.readouterr().out == "Hello.\n"
    assert recorded_bytes(path) == stream
    assert main(["replay", str(path), "-o", "final"]) == 0
    assert capfd.readouterr().out == "Hello.\n"


def test_a_child_that_fails_is_status_1_and_what_it_said_is_recorded(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    assert main(["record", str(path), "--", *writing(b"partial", "sys.exit('no key')")]) == 1
    out, err = capfd.readouterr()
    assert out == "partial"
    assert err.startswith("penstock: python")
    assert "exited with status 1: no key" in err
    assert recorded_bytes(path) == b"partial"


def test_an_interrupt_ends_the_child_and_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    content = event({"content": "kept"})
    command = [*PENSTOCK, "record", str(path), "--", *writing(content, "time.sleep(60)")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 4096) == content
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert recorded_bytes(path) == content


def test_a_file_that_exists_is_kept_unless_told_otherwise(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("precious")
    assert main(["record", str(path), "--", *writing(b"x")]) == 2
    assert path.read_text() == "precious"
    assert main(["record", str(path), "--overwrite", "--", *writing(b"x")]) == 0
    assert recorded_bytes(path) == b"x"
