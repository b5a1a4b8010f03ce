"""Writing recordings: the bytes of a source with their timing. `penstock.sources.recordings` plays them.

One JSON object a line; `docs/recordings.md` describes the format.

    {"penstock":"recording","version":1}
    {"seq":0,"t":0.412,"data":"data: {\\"id\\":…}\\n\\n"}
    {"seq":1,"t":0.431,"base64":"4pyF8J8="}

A recording of a whole turn also marks where each round begins and what the tools between them did:

    {"seq":2,"t":1.2,"round":2}
    {"seq":3,"t":1.9,"tool":"call_1","progress":"half way"}
    {"seq":4,"t":2.3,"tool":"call_1","output":"42"}
"""

import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import orjson

from penstock.operators.clock import Clock
from penstock.sources.chunks import Source, chunks_of

__all__ = ["HEADER", "Recorder", "record"]

HEADER = {"penstock": "recording", "version": 1}


class Recorder:
    """Writes a recording, each line in one write, so that what a killed program leaves behind is whole lines.

    Given a path, it makes the file anew and `close` closes it; a stream stays open. Times count from the making
    of the recorder, in seconds, to the microsecond.
    """

    def __init__(self, target: str | Path | IO[bytes], clock: Clock | None = None) -> None:
        self._is_own = isinstance(target, str | Path)
        self._stream = open(target, "wb", buffering=0) if isinstance(target, str | Path) else target  # noqa: SIM115
        self._now = time.monotonic if clock is None else clock.now
        self._began_at = self._now()
        self._seq = 0
        self._write_line(HEADER)

    def chunk(self, chunk: bytes) -> None:
        """A chunk arrived."""
        try:
            self._step({"data": chunk.decode()})
        except UnicodeDecodeError:
            self._step({"base64": base64.b64encode(chunk).decode()})

    def round(self, number: int) -> None:
        """A model call begins; the chunks that follow are its answer."""
        self._step({"round": number})

    def tool_progress(self, call_id: str, message: str = "") -> None:
        """The loop runs a tool; the first one says that it began."""
        self._step({"tool": call_id, "progress": message})

    def tool_output(self, call_id: str, output: Any, *, is_error: bool = False) -> None:
        """A tool ended."""
        self._step({"tool": call_id, "output": output, **({"isError": True} if is_error else {})})

    def _step(self, fields: dict[str, Any]) -> None:
        self._write_line({"seq": self._seq, "t": round(self._now() - self._began_at, 6), **fields})
        self._seq += 1

    def _write_line(self, record: dict[str, Any]) -> None:
        self._stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> None:
        """Let go of the file; a stream that was given is only flushed."""
        if self._is_own:
            self._stream.close()
        else:
            self._stream.flush()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def record(
    source: Source, target: str | Path | IO[bytes], *, clock: Clock | None = None
) -> AsyncGenerator[bytes, None]:
    """The chunks of a source, each written to a recording as it passes; text and records become bytes.

    What was written stays whatever happens to the source; its errors go on to the reader.
    """
    with Recorder(target, clock) as recorder:
        async with aclosing(chunks_of(source)) as chunks:
            async for chunk in chunks:
                piece = _as_bytes(chunk)
                recorder.chunk(piece)
                yield piece


def _as_bytes(chunk: bytes | str | dict[str, Any]) -> bytes:
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, str):
        return chunk.encode("utf-8", "surrogatepass")
    return json.dumps(chunk, separators=(",", ":")).encode() + b"\n"  # takes half surrogate pairs, unlike orjson
