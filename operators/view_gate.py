"""Live or frozen: a consumer's view of a stream, switched by its reader at any time."""

from collections.abc import Callable
from typing import Any

from reactivex import Observable, abc, create
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from penstock.operators.conflate import Waiting
from penstock.operators.gate import Gate

__all__ = ["View", "ViewGate", "view_gate"]


class View:
    """Which way somebody looks at a stream: `collapsed`, live; or `expanded`, frozen, to be read in peace."""

    def __init__(self) -> None:
        self.is_expanded = False
        self._listeners: list[Callable[[], object]] = []

    def expand(self) -> None:
        """Freeze what is shown."""
        self._switch(True)

    def collapse(self) -> None:
        """Go on live, with the current state at once."""
        self._switch(False)

    def toggle(self) -> None:
        """The other way."""
        self._switch(not self.is_expanded)

    def listen(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` after every switch, until what is returned is called."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def _switch(self, is_expanded: bool) -> None:
        if is_expanded != self.is_expanded:
            self.is_expanded = is_expanded
            for listener in list(self._listeners):
                listener()


class ViewGate:
    """Lets items through while the view is collapsed; keeps them while it is expanded.

        view    collapsed ──────── expanded ─────────────── collapsed ─────
        in      a ── b ── c ────── d ── e ── f ── end ─────────────────────
        out     a ── b ── c ─────────────────────────────── def ── end ────

    While the view is expanded its consumer hears nothing, so what it shows stays the snapshot of the moment of
    switching, also when the stream completes or fails. What arrives meanwhile waits, merged
    (`penstock.operators.conflate`): of every state the newest, of deltas their joined text, finals and lifecycle
    items each. Back to collapsed, it is delivered at once, and the end after it. Nothing is lost; constant cost an
    item.
    """

    def __init__(
        self, view: View, emit: Callable[[Any], object], end: Callable[[Exception | None], object]
    ) -> None:
        self._view = view
        self._emit = emit
        self._end = end
        self._waiting = Waiting()
        self._ending: tuple[Exception | None] | None = None
        self._gate = Gate()
        self.release = view.listen(lambda: self._gate.run(self._flush))
        """Stop listening to the view."""

    def feed(self, item: Any) -> None:
        """One item arrived."""
        self._gate.run(self._take, item)

    def finish(self, error: Exception | None = None) -> None:
        """The stream is over."""
        self._gate.run(self._finish, error)

    def _take(self, item: Any) -> None:
        if self._view.is_expanded or len(self._waiting):
            self._waiting.put(item)
        else:
            self._emit(item)

    def _finish(self, error: Exception | None) -> None:
        self._ending = (error,)
        self._flush()

    def _flush(self) -> None:
        while len(self._waiting) and not self._view.is_expanded:
            self._emit(self._waiting.take())
        if self._ending is not None and not self._view.is_expanded:
            (error,), self._ending = self._ending, None
            self.release()
            self._end(error)


def view_gate(view: View) -> Callable[[Observable[Any]], Observable[Any]]:
    """The items of a stream as `view` wants them; one `View` a consumer. See `ViewGate` for what it promises.

    Not a stage: the end of the stream waits for the reader, and a stage must end with its input. Disposal drops
    what waits.
    """

    def gated(source: Observable[Any]) -> Observable[Any]:
        def subscribe(
            observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
        ) -> abc.DisposableBase:
            def end(error: Exception | None) -> None:
                if error is None:
                    observer.on_completed()
                else:
                    observer.on_error(error)

            gate = ViewGate(view, observer.on_next, end)
            upstream = SingleAssignmentDisposable()
            upstream.disposable = source.subscribe(gate.feed, gate.finish, gate.finish, scheduler=scheduler)
            return CompositeDisposable(upstream, Disposable(gate.release))

        return create(subscribe)

    return gated
