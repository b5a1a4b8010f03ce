"""Conversations in an SQLite database: many of them, each found at once."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.sinks.store import Record, Store

if TYPE_CHECKING:
    import sqlite3

__all__ = ["SqliteStore"]

_BUSY_S = 30.0


class SqliteStore(Store):
    """One row a record, a batch a transaction, so a reader sees all of a batch or nothing of it.

    Kept in write-ahead mode: readers never wait for the writer. Programs may share a database.
    """

    def __init__(self, path: str | Path, *, window_s: float = 0.15, max_batch_bytes: int = 64 * 1024) -> None:
        super().__init__(window_s=window_s, max_batch_bytes=max_batch_bytes)
        self._path = Path(path)

    def append(self, records: list[Record]) -> None:
        with closing(self._connect()) as database, database:
            database.executemany("INSERT INTO penstock_records(conversation, turn, item) VALUES (?, ?, ?)", records)

    def records(self, conversation_id: str | None = None) -> Iterator[Record]:
        if not self._path.exists():
            return
        which = "" if conversation_id is None else "WHERE conversation = ?"
        with closing(self._connect()) as database:
            yield from database.execute(
                f"SELECT conversation, turn, item FROM penstock_records {which} ORDER BY number",
                () if conversation_id is None else (conversation_id,),
            )

    def _connect(self) -> "sqlite3.Connection":
        import sqlite3  # imported where needed: most programs store nothing

        database = sqlite3.connect(self._path, timeout=_BUSY_S)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(
            """
            CREATE TABLE IF NOT EXISTS penstock_records(
                number INTEGER PRIMARY KEY, conversation TEXT NOT NULL, turn TEXT NOT NULL, item BLOB NOT NULL
            );
            CREATE INDEX IF NOT EXISTS penstock_conversations ON penstock_records(conversation, number);
            """
        )
        return database
