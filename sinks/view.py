"""A sink that its reader can freeze, and thaw again."""

import inspect
from collections.abc import Awaitable

from penstock.errors import UsageError
from penstock.operators.view_gate import View, ViewGate
from penstock.sinks.sink import Item, Sink

__all__ = ["ViewSink"]


class ViewSink(Sink):
    """Gives another sink what it should show: everything while `view` is collapsed, nothing while it is expanded.

    Frozen, the sink keeps what it showed at the moment of switching, also when the turn ends. Collapsed again, it
    gets at once what came meanwhile (merged, no final lost), and its close if the turn is over by then. The stream,
    the state and the other sinks go on all the while. One `View` may freeze several sinks, and several turns.
    """

    def __init__(self, sink: Sink, view: View) -> None:
        if inspect.iscoroutinefunction(sink.on_next):
            raise UsageError("a sink with an asynchronous on_next cannot be frozen: give it plain functions")
        self.accepts = sink.accepts
        self._sink = sink
        self._view = view

    def open(self, turn_id: str) -> Sink:
        return _Frozen(self._sink.open(turn_id), self._view)


class _Frozen(Sink):
    """One turn's way through the gate."""

    def __init__(self, target: Sink, view: View) -> None:
        self._target = target
        self._gate = ViewGate(view, target.on_next, self._end)
        self._closing: Awaitable[None] | None = None

    def _end(self, error: Exception | None) -> None:
        self._closing = self._target.close()

    def on_next(self, item: Item) -> None:
        self._gate.feed(item)

    def close(self) -> Awaitable[None] | None:
        self._gate.finish()
        return self._closing
