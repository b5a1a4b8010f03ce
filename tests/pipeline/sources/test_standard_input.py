"""Standard input as a source, whatever stands behind it."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from penstock.sources.descriptor import Descriptor, standard_input


async def everything(number: int) -> bytes:
    async with aclosing(standard_input(number)) as chunks:
        return b"".join([chunk async for chunk in chunks])


def test_a_pipe_is_read_to_its_end(run_async: asyncio.Runner) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo")
    os.close(writing)
    assert run_async.run(everything(reading)) == b"one\ntwo"
    os.close(reading)


def test_a_file_is_read_to_its_end(run_async: asyncio.Runner, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 200_000)
    with path.open("rb") as file:
        assert run_async.run(everything(file.fileno())) == b"x" * 200_000


def test_chunks_come_as_they_are_written_and_leaving_needs_no_more_input(run_async: asyncio.Runner) -> None:
    reading, writing = os.pipe()

    async def read_two() -> list[bytes]:
        async with aclosing(standard_input(reading)) as chunks:
            os.write(writing, b"first")
            first = await anext(chunks)
            os.write(writing, b"second")
            return [first, await anext(chunks)]

    assert run_async.run(read_two()) == [b"first", b"second"]
    os.close(reading)
    os.close(writing)


def test_the_descriptor_keeps_its_flags(run_async: asyncio.Runner) -> None:
    """A terminal shares them with standard output."""
    reading, writing = os.pipe()
    os.close(writing)
    run_async.run(everything(reading))
    assert os.get_blocking(reading)
    os.close(reading)


def test_a_wait_that_is_cancelled_leaves_nothing_behind(run_async: asyncio.Runner) -> None:
    reading, writing = os.pipe()

    async def cancel() -> None:
        descriptor = Descriptor(reading)
        waiting = asyncio.create_task(descriptor.read())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert not asyncio.get_running_loop().remove_reader(reading)

    run_async.run(cancel())
    os.close(reading)
    os.close(writing)


def test_silence_counts_as_the_end_once_that_was_said(run_async: asyncio.Runner) -> None:
    reading, writing = os.pipe()

    async def read() -> bytes:
        descriptor = Descriptor(reading)
        waiting = asyncio.create_task(descriptor.read())
        await asyncio.sleep(0)
        descriptor.end_after_silence(0.0)
        return await waiting

    assert run_async.run(read()) == b""
    os.close(reading)
    os.close(writing)
