"""One way in for everything that yields chunks, and everything is closed when it is left."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import UsageError
from penstock.sources import chunks_of, lines


def collected(runner: asyncio.Runner, source: Any) -> list[Any]:
    async def run() -> list[Any]:
        return [chunk async for chunk in chunks_of(source)]

    return runner.run(run())


def first_of(runner: asyncio.Runner, source: Any) -> Any:
    """The first chunk; then the source is left."""

    async def run() -> Any:
        chunks = chunks_of(source)
        try:
            return await anext(chunks)
        finally:
            await chunks.aclose()

    return runner.run(run())


CHUNKS = [b"%d" % number for number in range(500)]  # more than a reading thread takes ahead


class Response:
    """What an HTTP client gives: bytes to iterate, and a close."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1

    def iter_bytes(self) -> Iterator[bytes]:
        yield from CHUNKS


class AsyncResponse(Response):
    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        for chunk in CHUNKS:
            yield chunk

    async def aclose(self) -> None:
        self.closed += 1


class StreamedResponse(Response):
    """As the openai client's `with_streaming_response`: `iter_bytes` is asynchronous."""

    async def iter_bytes(self) -> AsyncIterator[bytes]:  # type: ignore[override]
        for chunk in CHUNKS:
            yield chunk


class Model:
    def model_dump(self, **options: Any) -> dict[str, Any]:
        return {"a": 1}


@pytest.mark.parametrize(
    ("source", "chunks"),
    [
        (b"bytes", [b"bytes"]),
        ("text", ["text"]),
        ({"a": 1}, [{"a": 1}]),
        ([b"a", "b", {"c": 1}], [b"a", "b", {"c": 1}]),
        ((b"a",), [b"a"]),
        ([bytearray(b"a"), memoryview(b"b")], [b"a", b"b"]),
        ([Model()], [{"a": 1}]),
        ([], []),
    ],
)
def test_what_is_in_memory_comes_as_it_is(run_async: asyncio.Runner, source: Any, chunks: list[Any]) -> None:
    assert collected(run_async, source) == chunks


def test_a_file_comes_in_pieces(run_async: asyncio.Runner, tmp_path: Path) -> None:
    whole = bytes(range(256)) * 1000
    (tmp_path / "file").write_bytes(whole)
    pieces = collected(run_async, tmp_path / "file")
    assert len(pieces) > 1
    assert b"".join(pieces) == whole


@pytest.mark.parametrize("kind", [Response, AsyncResponse, StreamedResponse])
def test_a_response_gives_its_bytes_and_is_closed_also_when_it_is_left(
    run_async: asyncio.Runner, kind: type[Response]
) -> None:
    whole, left = kind(), kind()
    assert collected(run_async, whole) == CHUNKS
    assert first_of(run_async, left) == CHUNKS[0]
    assert left.closed == 1


def test_an_asynchronous_generator_is_closed_when_it_is_left(run_async: asyncio.Runner) -> None:
    closed: list[bool] = []

    async def source() -> AsyncIterator[bytes]:
        try:
            yield b"one"
            yield b"two"
        finally:
            closed.append(True)

    assert first_of(run_async, source()) == b"one"
    assert closed == [True]


def test_a_blocking_source_leaves_the_event_loop_free(run_async: asyncio.Runner) -> None:
    may_go_on = threading.Event()

    def blocking() -> Iterator[bytes]:
        yield b"one"
        assert may_go_on.wait(10), "the event loop was blocked"
        yield b"two"

    async def run() -> list[Any]:
        async def read() -> list[Any]:
            return [chunk async for chunk in chunks_of(blocking())]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        may_go_on.set()  # only a loop that is free gets here
        return await reading

    assert run_async.run(run()) == [b"one", b"two"]


def test_an_error_of_a_blocking_source_comes_after_its_chunks(run_async: asyncio.Runner) -> None:
    seen: list[Any] = []

    def broken() -> Iterator[bytes]:
        yield b"one"
        raise ConnectionError("reset")

    async def run() -> None:
        async for chunk in chunks_of(broken()):
            seen.append(chunk)  # noqa: PERF401  # what came before the error is kept

    with pytest.raises(ConnectionError):
        run_async.run(run())
    assert seen == [b"one"]


def test_many_chunks_in_memory_let_others_run(run_async: asyncio.Runner) -> None:
    async def run() -> int:
        steps = 0

        async def other() -> None:
            nonlocal steps
            while True:
                steps += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async for _ in chunks_of([b"x"] * 300_000):
            pass
        task.cancel()
        await asyncio.wait([task])
        return steps

    assert run_async.run(run()) > 1


@pytest.mark.parametrize(
    ("source", "said"),
    [(3, "cannot read chunks from int"), ([3], "not int"), ([None], "not NoneType")],
)
def test_what_is_no_source_is_told_in_words(run_async: asyncio.Runner, source: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        collected(run_async, source)


def test_lines_get_their_ends_back(run_async: asyncio.Runner) -> None:
    async def run() -> list[Any]:
        return [line async for line in lines([b"a", "b", {"c": 1}])]

    assert run_async.run(run()) == [b"a\n", "b\n", {"c": 1}]
