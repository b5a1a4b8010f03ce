"""Where chunks come from: anything that yields bytes, text or records. Each is imported when first asked for."""

from typing import TYPE_CHECKING

from penstock.on_demand import names_on_demand

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

__getattr__ = names_on_demand(
    __name__,
    {
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
    },
)
