"""Conversations in a file of JSON lines: to be read by people and by every tool."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson

from penstock.sinks.store import Record, Store, decoded

try:
    import fcntl
except ImportError:  # no such locks on this system: then one program at a time writes
    fcntl = None  # type: ignore[assignment]

__all__ = ["JsonlStore"]

_TAIL_BYTES = 64 * 1024


class JsonlStore(Store):
    """One record a line: `{"conversation":"c-7","turn":"…","item":{"event":"text",…}}`, each batch in one write.

    A line that a kill tore off at the end is left out by readers and cut away by the next write, so the file never
    has a broken line in its middle. Programs may share a file: each batch is written under a lock.

    Reading one conversation reads the file; for many conversations, take `SqliteStore`.
    """

    def __init__(self, path: str | Path, *, window_s: float = 0.15, max_batch_bytes: int = 64 * 1024) -> None:
        super().__init__(window_s=window_s, max_batch_bytes=max_batch_bytes)
        self._path = Path(path)

    def append(self, records: list[Record]) -> None:
        lines = b"".join(_line(record) for record in records)
        with self._path.open("a+b", buffering=0) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            whole = _whole_bytes(file)
            file.truncate(whole)
            try:
                _write_all(file, lines)
            except OSError:
                file.truncate(whole)  # a full disk: all of the batch or none
                raise

    def records(self, conversation_id: str | None = None) -> Iterator[Record]:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            for line in file:
                record = decoded(line) if line.endswith(b"\n") else None
                if isinstance(record, dict) and {"conversation", "turn", "item"} <= record.keys():
                    conversation = record["conversation"]
                    if conversation_id is None or conversation == conversation_id:
                        start = line.index(b'"item":') + len(b'"item":')
                        yield conversation, record["turn"], line[start:].rstrip()[:-1]


def _line(record: Record) -> bytes:
    conversation, turn, item = record
    return b'{"conversation":%b,"turn":%b,"item":%b}\n' % (orjson.dumps(conversation), orjson.dumps(turn), item)


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _whole_bytes(file: IO[bytes]) -> int:
    """How long the file is up to the end of its last whole line."""
    end = file.seek(0, 2)
    while end:
        start = max(0, end - _TAIL_BYTES)
        file.seek(start)
        at = file.read(end - start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0
