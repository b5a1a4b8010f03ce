"""Conversations that outlive the program: their finals, written in batches, read back as messages.

A store is a sink. `pipeline.turn(store.conversation("c-7"))` writes a turn into a conversation of that name,
`store.messages("c-7")` reads all its turns back as the same snapshots that the turns had when they ended.

What is kept: finals, and where each message began and stopped (its model, round and stop reason). What streams
never is. What a killed program leaves behind is whole records; what it loses is at most the last `window_s`.
"""

import asyncio
import json
import threading
from collections.abc import Iterable
from typing import Any, TypeAlias, get_args

import orjson

from penstock import wire
from penstock.events import Final, MessageStart, MessageStop, TurnCompleted
from penstock.messages import Messages, MessageState
from penstock.operators.clock import Clock
from penstock.operators.track_messages import track_messages
from penstock.operators.track_tools import track_tools
from penstock.sinks.sink import Item, Sink

__all__ = ["Record", "Store", "decoded"]

Record: TypeAlias = tuple[str, str, bytes]
"""A conversation, a turn, and one item as JSON."""


class Store(Sink):
    """Batches records by time and size, and writes each batch in a thread, so that a stream never waits for a disk.

    A batch is written `window_s` after its first record, or once it has `max_batch_bytes`. The end of a turn waits
    until everything is written. There is nothing to close: between batches a store holds no thread and no file.

    Subclasses write `append` and `records`.
    """

    accepts = frozenset({*get_args(Final), MessageStart, MessageStop})

    def __init__(self, *, window_s: float = 0.15, max_batch_bytes: int = 64 * 1024) -> None:
        self._window_s = window_s
        self._max_batch_bytes = max_batch_bytes
        self._changed = threading.Condition()
        self._held: list[Record] = []
        self._held_bytes = 0
        self._is_hurried = False
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    # ── what a kind of store is ──────────────────────────────────────────────────────────────────────────

    def append(self, records: list[Record]) -> None:
        """Write these, all or none of them visible to a reader. Called from one thread at a time."""
        raise NotImplementedError

    def records(self, conversation_id: str | None = None) -> Iterable[Record]:
        """The whole records of a conversation, or of all, in the order they were written."""
        raise NotImplementedError

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────

    def conversation(self, conversation_id: str) -> Sink:
        """A sink that writes its turns into this conversation."""
        return _Conversation(self, conversation_id)

    def open(self, turn_id: str) -> Sink:
        return _TurnWriter(self, "", turn_id)

    def put(self, record: Record) -> None:
        """Take a record; it is written with the next batch."""
        with self._changed:
            self._held.append(record)
            self._held_bytes += len(record[2])
            if self._thread is None:
                self._start()
            elif self._held_bytes >= self._max_batch_bytes:
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until all that was put is written; raises what kept it from being."""
        with self._changed:
            self._is_hurried = True
            if self._held and self._thread is None:
                self._start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._thread is None)
            self._is_hurried = False
            error, self._error = self._error, None
        if error is not None:
            raise error

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._write, name="penstock store")
        self._thread.start()

    def _write(self) -> None:
        while batch := self._next_batch():
            try:
                self.append(batch)
            except Exception as error:
                with self._changed:
                    self._error = error
                    self._held = batch + self._held  # the next record tries again
                    self._end()
                return

    def _next_batch(self) -> list[Record]:
        with self._changed:
            if self._held:
                self._changed.wait_for(self._is_due, self._window_s)
            else:
                self._end()
            batch, self._held, self._held_bytes = self._held, [], 0
            return batch

    def _end(self) -> None:
        self._thread = None
        self._changed.notify_all()

    def _is_due(self) -> bool:
        return self._is_hurried or self._held_bytes >= self._max_batch_bytes

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────

    def conversations(self) -> list[str]:
        """The names of the conversations, in order of their first record."""
        self.flush()
        return list(dict.fromkeys(conversation for conversation, _, _ in self.records()))

    def messages(self, conversation_id: str = "") -> Messages:
        """The messages of a conversation; a turn that a kill cut off has those of its blocks that were complete."""
        self.flush()
        turns: dict[str, list[Any]] = {}
        for _, turn_id, line in self.records(conversation_id):
            turns.setdefault(turn_id, []).append(decoded(line))
        state = MessageState()
        for items in turns.values():
            _replay(items, state)
        return state.messages


class _Conversation(Sink):
    """One conversation of a store, as a sink."""

    def __init__(self, store: Store, conversation_id: str) -> None:
        self.accepts = store.accepts
        self._store = store
        self._conversation_id = conversation_id

    def open(self, turn_id: str) -> Sink:
        return _TurnWriter(self._store, self._conversation_id, turn_id)


class _TurnWriter(Sink):
    """One turn on its way into a store."""

    def __init__(self, store: Store, conversation_id: str, turn_id: str) -> None:
        self._store = store
        self._conversation_id = conversation_id
        self._turn_id = turn_id

    def on_next(self, item: Item) -> None:
        self._store.put((self._conversation_id, self._turn_id, _encoded(wire.to_json(item))))

    async def close(self) -> None:
        await asyncio.to_thread(self._store.flush)


def _encoded(item: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(item, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return json.dumps(item, default=str).encode()  # half a surrogate pair: escaped, it is JSON


def decoded(line: bytes) -> Any:
    """The value of a line of JSON, half surrogate pairs included; None where it is no JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        try:
            return json.loads(line)
        except ValueError:
            return None


# ── from finals back to messages ─────────────────────────────────────────────────────────────────────────


def _replay(items: list[Any], state: MessageState) -> None:
    """Apply one turn to `state`: its tools get their stages and lines anew, and what a kill left open is closed."""
    chain = (track_tools() | track_messages(state, notifies=False)).chain()
    chain.connect(lambda _: None, _StillClock(), lambda action: action())
    for item in items:
        chain.feed(wire.from_json(item))  # type: ignore[arg-type]  # only events are stored
    if items[-1]["event"] != "turn_completed":
        chain.feed(TurnCompleted("interrupted"))
    chain.finish()
    chain.release()


class _StillClock(Clock):
    """No time passes while the past is read."""

    def now(self) -> float:
        return 0.0

    def call_later(self, delay_s: float, action: Any) -> Any:
        return lambda: None
