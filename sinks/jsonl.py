"""Items as JSON lines, in a file or a stream."""

from pathlib import Path
from typing import IO, Literal, get_args

from penstock import events, updates, wire
from penstock.sinks.sink import Item, Sink

__all__ = ["JsonlSink"]

_KINDS: dict[str, frozenset[type]] = {
    "events": frozenset(get_args(events.Event)),
    "finals": frozenset(get_args(events.Final)),
    "updates": frozenset(get_args(updates.Update)) - {updates.MessagesChanged},
}


class JsonlSink(Sink):
    """Writes one JSON object a line (`penstock.wire`): `events`, their `finals` alone, or the screen's `updates`.

    Given a path, it appends and opens the file anew for each turn; given a stream, it leaves it open. Each line is
    one write, so what a killed program leaves behind is whole lines.
    """

    def __init__(
        self, target: str | Path | IO[bytes], what: Literal["events", "finals", "updates"] = "events"
    ) -> None:
        self.accepts = _KINDS[what]
        self._what = what
        self._target = target
        self._stream: IO[bytes] | None = None

    def open(self, turn_id: str) -> "JsonlSink":
        opened = JsonlSink(self._target, self._what)
        if isinstance(self._target, str | Path):
            opened._stream = Path(self._target).open("ab", buffering=0)  # noqa: SIM115  # closed with the turn
        else:
            opened._stream = self._target
        return opened

    def on_next(self, item: Item) -> None:
        if self._stream is None:
            raise ValueError("a JsonlSink is opened by its turn; call open() to use it by hand")
        self._stream.write(wire.encode(item) + b"\n")

    def close(self) -> None:
        if self._stream is not None:
            self._stream.flush()
            if self._stream is not self._target:
                self._stream.close()
            self._stream = None
