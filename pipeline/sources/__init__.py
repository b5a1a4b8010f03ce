"""Where chunks come from: anything that yields bytes, text or records, asynchronously or not."""

from penstock.sources.chunks import Chunk, chunks_of, lines
from penstock.sources.descriptor import standard_input
from penstock.sources.process import ChildFailed, child_process
from penstock.sources.recorder import Recorder, record
from penstock.sources.recording import recording
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
