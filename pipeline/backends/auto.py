"""The reader for `backend="auto"`: finds the backend from the first payloads, then stands for its reader."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from penstock.backends.reader import Backend, Payload, Reader
from penstock.backends.registry import all_backends, backend_names
from penstock.events import StreamError

__all__ = ["AutoReader"]

MAX_PAYLOADS = 1_000
MAX_BYTES = 1_048_576
"""How much may come before a payload that gives the backend away."""


class AutoReader(Reader):
    """Asks every backend about each payload until only one can be meant, and passes everything on to its reader.

    What no backend knows (log lines, banners) is held until then, within bounds, and read by the one chosen.
    `chosen` is its name, empty before; `on_chosen` is called with it. Input that nobody recognises, or several
    backends to the end, is a `StreamError` of code `unknown_format` that names the candidates. Plain prose is
    such an input: any text could be an answer or an error page, so `text` has to be asked for.

    Costs one call a payload once it has chosen.
    """

    backend = "auto"

    def __init__(
        self,
        message_ids: Iterator[str] | None = None,
        on_chosen: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__(message_ids)
        self.chosen = ""
        self._on_chosen = on_chosen
        self._reader: Reader | None = None
        self._held: list[Payload] = []
        self._held_bytes = 0
        self._candidates: list[Backend] = []

    def feed(self, item: Payload) -> None:
        if self._reader is not None:
            self._reader.feed(item)
        elif isinstance(item, StreamError):
            super().feed(item)
        elif not self.is_completed:
            self._consider(item)

    def _consider(self, item: Payload) -> None:
        self._held.append(item)
        for record in _records(item):
            claims = [backend for backend in self._candidates or all_backends() if backend.recognize(record)]
            if len(claims) == 1:
                self._choose(claims[0])
                return
            self._candidates = claims or self._candidates
        self._held_bytes += len(item) if isinstance(item, bytes | str) else 0
        if len(self._held) >= MAX_PAYLOADS or self._held_bytes >= MAX_BYTES:
            self._give_up()

    def _choose(self, backend: Backend) -> None:
        reader = backend.reader(self.message_ids)
        reader.emit = self.emit
        reader.start()
        self.chosen = backend.name
        self._reader = reader
        if self._on_chosen is not None:
            self._on_chosen(backend.name)
        held, self._held = self._held, []
        for item in held:
            reader.feed(item)

    def _give_up(self) -> None:
        if self._candidates:
            names = ", ".join([backend.name for backend in self._candidates])
            message = f"the input could come from several backends ({names}); name the one it is"
        else:
            names = ", ".join(backend_names())
            message = (
                f"no backend recognises the input, which begins {_glimpse(self._held)}; "
                f"name the one it is: {names} (text, if it is plain text)"
            )
        self._held.clear()
        self.fail(StreamError("unknown_format", message))

    def repeats(self, payload: bytes) -> tuple[int, int, Callable[[str], object]] | None:
        return None if self._reader is None else self._reader.repeats(payload)

    def settle(self) -> None:
        if self._reader is not None:
            self._reader.settle()

    def finish(self) -> None:
        if self._reader is not None:
            self._reader.is_stopped = self.is_stopped
            self._reader.finish()
        elif self._held and not self.is_stopped:
            self._give_up()
        else:
            super().finish()


def _records(item: Payload) -> list[dict[str, Any]]:
    value: Any = item
    if isinstance(item, bytes | str):
        try:
            value = orjson.loads(item)
        except orjson.JSONDecodeError:
            return []
    return [record for record in (value if isinstance(value, list) else [value]) if isinstance(record, dict)]


def _glimpse(held: list[Payload]) -> str:
    first = held[0]
    shown = first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)
    return repr(shown[:60] + "…" if len(shown) > 60 else shown)
