"""Playing recordings (and plain files) again, with the timing they had, faster, or at once."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import orjson

from penstock.errors import SourceFailed, UsageError
from penstock.operators.clock import Clock
from penstock.sources.pause import clock_or_loop, pause
from penstock.sources.threaded import iterate_in_thread

__all__ = ["PLAIN_RECORDS_PER_S", "Mark", "Speed", "Step", "recording", "steps"]

PLAIN_RECORDS_PER_S = 50.0
"""How fast the records of a file without timing come at speed 1: about as fast as a model writes."""

Speed: TypeAlias = float | Literal["max"]
"""How many times as fast as it was: 1, 10, 0.5; `max` (or 0) does not wait at all."""

_READ_BYTES = 64 * 1024
_HOLD_LOOP_S = 0.01
_FIRST_LINE_BYTES = 4096
_NO_RECORD_OF_ITS_OWN = re.compile(rb"\s*$|event:|id:|retry:|:")


Mark: TypeAlias = dict[str, Any]
"""A line that is no chunk: a round begins, or a tool did something."""


class Step(NamedTuple):
    """What a recording has at one moment: a chunk, or a mark."""

    at_s: float
    chunk: bytes = b""
    mark: Mark | None = None


async def recording(
    path: str | Path, *, speed: Speed = 1.0, clock: Clock | None = None
) -> AsyncGenerator[bytes, None]:
    """The chunks of a recording as they came, byte for byte, on the event loop's clock or on yours.

    Any other file plays too (raw server-sent events, JSON lines, a JSON array, text): record by record, at
    `PLAIN_RECORDS_PER_S` times `speed`. At `max` a recording keeps its chunks; a plain file comes in large reads.
    """
    async with aclosing(steps(path, speed=speed, clock=clock)) as played:
        async for step in played:
            if step.mark is None:
                yield step.chunk


async def steps(path: str | Path, *, speed: Speed = 1.0, clock: Clock | None = None) -> AsyncGenerator[Step, None]:
    """Every step of a recording, marks included, each at its time from the start, so that delays do not add up."""
    rate = _rate(speed)
    clock = clock_or_loop(clock)
    began_at = clock.now()
    since = time.monotonic()
    async with aclosing(iterate_in_thread(_batches(Path(path), is_timed=rate > 0))) as batches:
        async for batch in batches:
            for step in batch:
                if rate:
                    await pause(clock, began_at + step.at_s / rate - clock.now())
                elif time.monotonic() - since > _HOLD_LOOP_S:
                    await asyncio.sleep(0)
                    since = time.monotonic()
                yield step


def _rate(speed: Speed) -> float:
    if speed == "max":
        return 0.0
    if not 0 <= speed < float("inf"):
        raise UsageError(f"a speed is a number like 1, 10 or 0.5, or 'max'; not {speed}")
    return float(speed)


def _batches(path: Path, is_timed: bool) -> Iterator[list[Step]]:
    """The steps in batches, read and parsed off the event loop."""
    with path.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
        version = _version(first)
        if version is None:
            yield from _plain(first, file) if is_timed else _unpaced(first, file)
        elif version == 1:
            yield from _recorded(file, path)
        else:
            raise UsageError(f"{path} is a recording of version {version}; this penstock plays version 1")


def _version(first_line: bytes) -> Any:
    """The version of the recording that begins with this line; None where it is no recording."""
    try:
        header = orjson.loads(first_line)
    except orjson.JSONDecodeError:
        return None
    return header.get("version", 0) if isinstance(header, dict) and header.get("penstock") == "recording" else None


def _recorded(file: IO[bytes], path: Path) -> Iterator[list[Step]]:
    number = 1
    while lines := file.readlines(_READ_BYTES):
        batch = []
        for line in lines:
            number += 1
            try:
                batch.append(_step(orjson.loads(line)))
            except (ValueError, KeyError, TypeError) as error:
                yield batch
                what = f"line {number} of {path.name} is no line of a recording: {line[:60]!r}"
                raise SourceFailed(what) from error
        yield batch


def _step(record: dict[str, Any]) -> Step:
    at_s = float(record["t"])
    if "data" in record:
        return Step(at_s, record["data"].encode())
    if "base64" in record:
        return Step(at_s, base64.b64decode(record["base64"], validate=True))
    if "round" in record or "tool" in record:
        return Step(at_s, mark=record)
    raise KeyError("data")


def _plain(first: bytes, file: IO[bytes]) -> Iterator[list[Step]]:
    records = 0
    line = first
    while line:
        yield [Step(records / PLAIN_RECORDS_PER_S, line)]
        records += not _NO_RECORD_OF_ITS_OWN.match(line)
        line = file.readline(_READ_BYTES)


def _unpaced(first: bytes, file: IO[bytes]) -> Iterator[list[Step]]:
    chunk = first + file.read(_READ_BYTES)
    while chunk:
        yield [Step(0.0, chunk)]
        chunk = file.read(_READ_BYTES)
