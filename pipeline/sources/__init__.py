"""Where chunks come from: anything that yields bytes, text or records. Each is imported when first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.sources.chunks import Chunk, chunks_of, lines
    from penstock.sources.descriptor import standard_input
    from penstock.sources.process import ChildFailed, child_process
    from penstock.sources.recorder import Recorder, record
    from penstock.sources.recordings import recording
    from penstock.sources.retry import Retry, retrying

__all__ = [
    "ChildFailed",
    "Chunk",
    "Recorder",
    "Retry",
    "child_process",
    "chunks_of",
    "lines",
    "record",
    "recording",
    "retrying",
    "standard_input",
]

_HOMES = {
    "ChildFailed": "process",
    "Chunk": "chunks",
    "Recorder": "recorder",
    "Retry": "retry",
    "child_process": "process",
    "chunks_of": "chunks",
    "lines": "chunks",
    "record": "recorder",
    "recording": "recordings",
    "retrying": "retry",
    "standard_input": "descriptor",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
