"""Recording bytes with their timing, and playing them again."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from chat_stream import answer
from hypothesis import given, settings
from hypothesis import strategies as st
from jumping_clock import JumpingClock
from reactivex.testing import TestScheduler

from penstock.errors import SourceFailed, UsageError
from penstock.operators.clock import SchedulerClock
from penstock.sources.pause import pause
from penstock.sources.recorder import Recorder, record
from penstock.sources.recordings import PLAIN_RECORDS_PER_S, Speed, recording

STREAM = [b"data: one\n\n", b"data: zw", "ö".encode()[:1], "ö".encode()[1:] + b"lf\n\n", b"", b"\xff\x00"]


async def timed(chunks: Iterable[bytes], clock: JumpingClock, gap_s: float) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await pause(clock, gap_s)
        yield chunk


async def recorded(chunks: Iterable[bytes], gap_s: float = 0.25) -> bytes:
    clock, file = JumpingClock(), io.BytesIO()
    passed = [chunk async for chunk in record(timed(chunks, clock, gap_s), file, clock=clock)]
    assert passed == list(chunks), "recording changes nothing of what passes"
    return file.getvalue()


async def played(path: Path, clock: JumpingClock | None = None, speed: Speed = 1.0) -> list[bytes]:
    return [chunk async for chunk in recording(path, speed=speed, clock=clock or JumpingClock())]


def lines_of(file: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.splitlines()]


def test_a_recording_is_a_header_and_a_line_a_chunk(run_async: asyncio.Runner) -> None:
    assert lines_of(run_async.run(recorded(STREAM))) == [
        {"penstock": "recording", "version": 1},
        {"seq": 0, "t": 0.25, "data": "data: one\n\n"},
        {"seq": 1, "t": 0.5, "data": "data: zw"},
        {"seq": 2, "t": 0.75, "base64": "ww=="},
        {"seq": 3, "t": 1.0, "base64": "tmxmCgo="},
        {"seq": 4, "t": 1.25, "data": ""},
        {"seq": 5, "t": 1.5, "base64": "/wA="},
    ]


def test_recording_a_replay_gives_the_same_bytes(run_async: asyncio.Runner, tmp_path: Path) -> None:
    """Issue 3: byte for byte, times included."""
    first = run_async.run(recorded(STREAM))
    path = tmp_path / "first.jsonl"
    path.write_bytes(first)

    async def record_again() -> bytes:
        clock, file = JumpingClock(), io.BytesIO()
        async for _ in record(recording(path, clock=clock), file, clock=clock):
            pass
        return file.getvalue()

    assert run_async.run(record_again()) == first


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=20), max_size=12), st.sampled_from([1.0, 10.0, 0.3, "max", 0]))
def test_any_chunks_come_back_as_they_were_at_any_speed(chunks: list[bytes], speed: Speed) -> None:
    with asyncio.Runner() as runner:
        file = runner.run(recorded(chunks))
        with TemporaryDirectory() as folder:
            path = Path(folder) / "recording.jsonl"
            path.write_bytes(file)
            assert runner.run(played(path, speed=speed)) == chunks


@pytest.mark.parametrize(("speed", "seconds"), [(1, 1.5), (10, 0.15), (0.5, 3.0), ("max", 0.0), (0, 0.0)])
def test_a_recording_takes_the_time_it_took_divided_by_the_speed(
    run_async: asyncio.Runner, tmp_path: Path, speed: Speed, seconds: float
) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(run_async.run(recorded(STREAM)))
    clock = JumpingClock()
    assert run_async.run(played(path, clock, speed)) == STREAM
    assert clock.time == pytest.approx(seconds)


def test_a_slow_reader_does_not_stretch_a_recording(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(run_async.run(recorded(STREAM)))
    clock = JumpingClock()

    async def read_slowly() -> None:
        async for _ in recording(path, clock=clock):
            clock.time += 0.2

    run_async.run(read_slowly())
    assert clock.time == pytest.approx(1.5 + 0.2)


def test_a_recording_plays_on_the_virtual_time_of_rx(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(run_async.run(recorded(STREAM[:2])))
    scheduler = TestScheduler()
    seen: list[bytes] = []

    async def play() -> None:
        async def read() -> None:
            seen.extend([chunk async for chunk in recording(path, clock=SchedulerClock(scheduler))])

        reading = asyncio.create_task(read())
        while not reading.done():
            if len(scheduler._queue):
                scheduler.advance_by(0.05)
            await asyncio.sleep(0)

    run_async.run(play())
    assert seen == STREAM[:2]
    assert scheduler.to_seconds(scheduler.now) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("content", "records"),
    [
        (answer("a", "b", "c"), 5),
        (b"event: x\ndata: {}\n\n: comment\n\nevent: y\ndata: {}\n\n", 2),
        (b'{"a":1}\n{"b":2}\n{"c":3}', 3),
        (b'[{"a":1},\n{"b":2}]', 2),
        (b"", 0),
        ("käse".encode()[:2], 1),
    ],
)
def test_a_plain_file_plays_record_by_record_at_a_steady_pace(
    run_async: asyncio.Runner, tmp_path: Path, content: bytes, records: int
) -> None:
    path = tmp_path / "plain.txt"
    path.write_bytes(content)
    clock = JumpingClock()
    assert b"".join(run_async.run(played(path, clock))) == content
    assert clock.time <= records / PLAIN_RECORDS_PER_S
    assert len(clock.waits) >= records - 1
    assert b"".join(run_async.run(played(path, speed="max"))) == content


def test_a_line_of_any_length_plays_in_bounded_pieces(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"a":"' + b"x" * 1_000_000 + b'"}\n')
    pieces = run_async.run(played(path))
    assert b"".join(pieces) == path.read_bytes()
    assert max(map(len, pieces)) <= 64 * 1024


@pytest.mark.parametrize(
    "line", [b"torn", b"{}", b'{"t":"x","data":"y"}', b'{"t":1,"base64":"?"}', b"[1]", b'{"t":1}']
)
def test_a_broken_line_is_a_failure_in_its_place(run_async: asyncio.Runner, tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(b'{"penstock":"recording","version":1}\n{"seq":0,"t":0,"data":"whole"}\n' + line + b"\n")
    seen: list[bytes] = []

    async def play() -> None:
        async for chunk in recording(path, speed="max"):
            seen.append(chunk)  # noqa: PERF401  # what comes before the failure counts

    with pytest.raises(SourceFailed, match=r"line 3 of broken\.jsonl is no line of a recording"):
        run_async.run(play())
    assert seen == [b"whole"]


def test_a_recording_of_a_later_version_is_refused(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "later.jsonl"
    path.write_bytes(b'{"penstock":"recording","version":2}\n')
    with pytest.raises(UsageError, match="version 2; this penstock plays version 1"):
        run_async.run(played(path))


@pytest.mark.parametrize("speed", [-1.0, float("nan"), float("inf")])
def test_a_speed_that_is_none_is_refused(run_async: asyncio.Runner, tmp_path: Path, speed: float) -> None:
    with pytest.raises(UsageError, match="a speed is a number"):
        run_async.run(played(tmp_path / "any", speed=speed))


def test_text_and_records_are_recorded_as_bytes(run_async: asyncio.Runner) -> None:
    async def record_all() -> list[bytes]:
        source = ["zwölf", {"a": "\ud83d"}, bytearray(b"x")]
        return [chunk async for chunk in record(source, io.BytesIO())]

    assert run_async.run(record_all()) == ["zwölf".encode(), b'{"a":"\\ud83d"}\n', b"x"]


def test_what_was_recorded_stays_when_the_source_breaks_or_the_reader_leaves(
    run_async: asyncio.Runner, tmp_path: Path
) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"one"
        raise ConnectionError("lost")

    async def read_all() -> None:
        async for _ in record(breaking(), tmp_path / "broken.jsonl"):
            pass

    async def leave() -> None:
        async with aclosing(record([b"one", b"two"], tmp_path / "left.jsonl")) as chunks:
            await anext(chunks)

    with pytest.raises(ConnectionError, match="lost"):
        run_async.run(read_all())
    run_async.run(leave())
    for name in ("broken.jsonl", "left.jsonl"):
        assert [line.get("data") for line in lines_of((tmp_path / name).read_bytes())] == [None, "one"]


def test_a_whole_turn_can_be_recorded_with_its_rounds_and_tools() -> None:
    clock, file = JumpingClock(), io.BytesIO()
    with Recorder(file, clock) as recorder:
        recorder.round(1)
        clock.time = 0.1234567
        recorder.tool_progress("call-1", "half way")
        recorder.tool_output("call-1", {"n": 1}, is_error=True)
    assert lines_of(file.getvalue())[1:] == [
        {"seq": 0, "t": 0.0, "round": 1},
        {"seq": 1, "t": 0.123457, "tool": "call-1", "progress": "half way"},
        {"seq": 2, "t": 0.123457, "tool": "call-1", "output": {"n": 1}, "isError": True},
    ]
