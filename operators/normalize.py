"""Payloads of one backend to events: where every backend becomes the same."""

from collections.abc import Callable, Iterator

from penstock.backends.auto import AutoReader
from penstock.backends.reader import Backend, Payload
from penstock.backends.registry import backend_named
from penstock.events import Event
from penstock.operators.stage import Operator

__all__ = ["normalize"]


def normalize(
    backend: str | Backend = "auto",
    message_ids: Iterator[str] | None = None,
    *,
    on_chosen: Callable[[str], object] | None = None,
) -> Operator[Payload, Event]:
    """Framed payloads of a backend to events.

    `backend` is a name, a `Backend` of one's own, or `auto`, which finds out from the first payloads and tells
    `on_chosen` the name. An unknown name raises `UnknownBackend`, here and not in the stream. `message_ids` are for
    messages whose backend gives none; all subscriptions draw from it, so that ids stay apart across turns (without
    it, each subscription counts `message-1`, `message-2`, …).

    Bad payloads are events (`StreamError`, `Unknown`), never exceptions. Deltas of one block within one chunk leave
    as one. Completion and error: what is open is closed in balance, after a `StreamError` of code `truncated` where
    the backend's end marker is missing. Cost: one decoding of each payload.
    """
    if isinstance(backend, str):
        if backend == "auto":
            return Operator("normalize(auto)", lambda: AutoReader(message_ids, on_chosen))
        backend = backend_named(backend)
    reader, name = backend.reader, backend.name
    if on_chosen is not None:
        on_chosen(name)
    return Operator(f"normalize({name})", lambda: reader(message_ids))
