"""The final message, and nothing else."""

from typing import TextIO

from penstock.sinks.sanitize import sanitize
from penstock.sinks.sink import Item, Sink
from penstock.sinks.text import write_replacing
from penstock.updates import Completed

__all__ = ["FinalSink"]


class FinalSink(Sink):
    """The final message alone, ended by one line feed, when the turn is over."""

    accepts = frozenset({Completed})

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def on_next(self, item: Item) -> None:
        if isinstance(item, Completed) and item.message:
            message = sanitize(item.message)
            write_replacing(self._stream, message if message.endswith("\n") else message + "\n")
            self._stream.flush()
