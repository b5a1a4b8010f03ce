"""One way in for everything that yields chunks."""

import asyncio
import inspect
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeAlias

from penstock.errors import UsageError
from penstock.sources.threaded import iterate_in_thread

__all__ = ["Chunk", "Source", "chunks_of", "lines"]

Chunk: TypeAlias = bytes | str | dict[str, Any]
"""Raw bytes or text to be framed, or a record that is parsed already."""

Source: TypeAlias = Any
"""What `chunks_of` takes; see there."""

_READ_BYTES = 64 * 1024
_HOLD_LOOP_S = 0.01


async def chunks_of(source: Source) -> AsyncGenerator[Chunk, None]:
    """The chunks of a source, whatever it is; leaving early closes it.

    * `bytes` or `str`: one chunk. A `Path`: the file's bytes.
    * an HTTP response with `aiter_bytes`/`iter_bytes` (httpx, the openai client's `with_streaming_response`): its
      raw bytes;
    * the openai client's streams (of `create(stream=True)` and of its `stream` helpers): the raw bytes of the
      response underneath, which skips the client's own per-chunk objects and is far cheaper; its objects
      where somebody has begun to read them;
    * any asynchronous iterable;
    * a list or tuple: in place; any other iterable may block and runs in a thread, off the event loop.

    Objects with `model_dump` (the chunk objects of SDKs) become records.
    """
    async with aclosing(_open(source)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, bytes | str | dict):
                yield chunk
            elif hasattr(chunk, "model_dump"):
                yield chunk.model_dump(mode="json", exclude_unset=True)
            elif isinstance(chunk, bytearray | memoryview):
                yield bytes(chunk)
            else:
                raise UsageError(
                    f"a source yields bytes, text, dicts or SDK objects, not {type(chunk).__name__}: {chunk!r:.60}"
                )


def _open(source: Source) -> AsyncGenerator[Any, None]:
    if isinstance(source, bytes | str | dict):
        return _in_place([source])
    if isinstance(source, Path):
        return iterate_in_thread(_read_file(source))
    raw = _raw_bytes(source)
    if raw is not None:
        return raw
    if isinstance(source, AsyncIterable):
        return _async_chunks(source)
    if isinstance(source, list | tuple):
        return _in_place(source)
    if isinstance(source, Iterable):
        return iterate_in_thread(source)
    if inspect.isawaitable(source):
        raise UsageError("the source is a coroutine: await it first, then pass its result")
    raise UsageError(
        f"cannot read chunks from {type(source).__name__}; pass bytes, a path, an HTTP response, "
        "a stream of the openai client, or any (async) iterable of bytes, text or dicts"
    )


def _raw_bytes(source: Any) -> AsyncGenerator[Any, None] | None:
    # The openai client's streams have the httpx response underneath; read past the objects if nobody has yet.
    response = getattr(source, "response", None) or getattr(source, "_response", None)
    if response is not None and hasattr(response, "is_stream_consumed"):
        if isinstance(source, AsyncIterable):
            return None if response.is_stream_consumed else _async_chunks(response.aiter_bytes(), source)
        items = source if response.is_stream_consumed else response.iter_bytes()
        return iterate_in_thread(items, _BlockingResponse(source, response))
    if hasattr(source, "aiter_bytes"):
        return _async_chunks(source.aiter_bytes(), source)
    if hasattr(source, "iter_bytes"):
        pieces = source.iter_bytes()
        if isinstance(pieces, AsyncIterable):
            return _async_chunks(pieces, source)
        return iterate_in_thread(pieces, _BlockingResponse(source, getattr(source, "http_response", source)))
    return None


class _BlockingResponse:
    """Closes a response that another thread may be reading: a close alone would not wake that thread."""

    def __init__(self, source: Any, response: Any) -> None:
        self._source = source
        self._extensions = getattr(response, "extensions", {})

    def close(self) -> None:
        network_stream = self._extensions.get("network_stream")
        connection = network_stream.get_extra_info("socket") if network_stream is not None else None
        if isinstance(connection, socket.socket):
            try:
                # Past a TLS socket's own shutdown, which would take its state away from under the reader.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already
        self._source.close()


async def _async_chunks(chunks: AsyncIterable[Any], owner: Any = None) -> AsyncGenerator[Any, None]:
    try:
        async for chunk in chunks:
            yield chunk
    finally:
        await _close(chunks)
        await _close(owner)


async def _close(owner: Any) -> None:
    for name in ("aclose", "close"):
        close = getattr(owner, name, None)
        if close is not None:
            closing = close()
            if inspect.isawaitable(closing):
                await closing
            return


async def _in_place(chunks: Iterable[Any]) -> AsyncGenerator[Any, None]:
    """Chunks in memory: no thread, but the loop gets its turn now and then."""
    since = time.monotonic()
    for chunk in chunks:
        yield chunk
        if time.monotonic() - since > _HOLD_LOOP_S:
            await asyncio.sleep(0)
            since = time.monotonic()


def _read_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            yield piece


async def lines(source: Source) -> AsyncGenerator[Chunk, None]:
    """A source that yields lines without their ends (`iter_lines`, `splitlines`), with the ends put back."""
    async with aclosing(chunks_of(source)) as chunks:
        async for chunk in chunks:
            yield chunk + b"\n" if isinstance(chunk, bytes) else chunk + "\n" if isinstance(chunk, str) else chunk
