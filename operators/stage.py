"""How an operator is written, how it becomes an Rx operator, and how neighbours fuse.

A **stage** is a state machine. It is made anew for every subscription and hears three things:

* `feed(item)`: one item arrived. Pass on what follows from it by calling `self.emit(...)`, any number of times.
* `settle()`: the chunk that brought the latest items is through. Emit what was only held to merge it
  (many deltas of one network read become one). Optional.
* `finish()`: the input is over, whether it completed, failed or was aborted. Emit everything still held. Optional.

A stage that only passes on deltas of text and thinking may say so (`ignores_text`); they then go by it.

A timed stage also has `self.clock` (`penstock.operators.clock`); it is told when to `start` and to `release`
its timers.

    class Shout(Stage[str, str]):
        def feed(self, item: str) -> None:
            self.emit(item.upper())

    def shout() -> Operator[str, str]:
        return Operator("shout", Shout)

An **operator** is a recipe for a stage. Given an Observable it is an ordinary Rx operator, so it composes with
all of `reactivex`; next to another of its kind it **fuses**: `source.pipe(a(), b(), c())` and
`source.pipe(a() | b() | c())` both build one Observable in which `a` calls `b` and `b` calls `c` directly. Rx is
paid for once, not once per operator. (`|` also has no limit; the typing of `pipe` ends at seven.)

How endings travel, for every operator:

* completion: each stage's `finish`, in order, then `on_completed`;
* error of the source: the same, then `on_error`: what was held arrives before the error does;
* an exception in a stage: the source is disposed, the stages finish as far as they can, then `on_error`;
* an exception in the subscriber's own `on_next`: the source is disposed and the exception goes back to
  whoever pushed, as everywhere in Rx;
* disposal: timers are released and nothing is emitted any more, because Rx forbids it. To stop and keep what
  is held, end the source instead (`take_until`), or use a `Turn`, whose abort does so.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, Disposable, SingleAssignmentDisposable

from penstock.operators.clock import Clock, clock_of
from penstock.operators.gate import Gate

__all__ = ["Chain", "Operator", "Stage"]

In = TypeVar("In")
Out = TypeVar("Out")
Next = TypeVar("Next")
Taken = TypeVar("Taken", contravariant=True)
Given = TypeVar("Given", covariant=True)


class Stage(Generic[In, Out]):
    """A state machine between an input and an output; see the module's docstring."""

    __slots__ = ("clock", "emit", "emit_text")

    emit: Callable[[Out], object]
    emit_text: Callable[[Out], object]
    """The same, for what is known to be a delta of text or thinking: stages that ignore those are passed by."""
    clock: Clock

    ignores_text = False
    """Whether this stage only passes on deltas of text and thinking, so that they need not go through it."""

    def start(self) -> None:
        """The subscription begins; `emit` and `clock` are there."""

    def feed(self, item: In) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        """The chunk is through; emit what was held only to be merged."""

    def finish(self) -> None:
        """The input is over; emit all that is held. Called once, and nothing is fed afterwards."""

    def release(self) -> None:
        """Nobody listens any more; let go of timers. May come without `finish`, or after it."""


class Chain(Stage[In, Out]):
    """Neighbouring stages joined by plain calls; itself a stage."""

    __slots__ = ("_finishers", "feed", "settlers", "stages")

    def __init__(self, stages: Sequence[Stage[Any, Any]]) -> None:
        self.stages = stages
        for stage, following in pairwise(stages):
            stage.emit = following.feed
        self.feed: Callable[[In], None] = stages[0].feed  # type: ignore[assignment]  # a call less per item
        self.settlers = [s.settle for s in stages if type(s).settle is not Stage.settle]
        self._finishers = [s.finish for s in stages if type(s).finish is not Stage.finish]

    def connect(
        self,
        emit: Callable[[Out], object],
        clock: Clock,
        run: Callable[[Callable[[], object]], object],
    ) -> "Chain[In, Out]":
        """Join the end to `emit`, and give every stage a clock whose alarms are run by `run`."""
        self.stages[-1].emit = emit
        take_text = emit
        for stage in reversed(self.stages):
            stage.emit_text = take_text
            if not stage.ignores_text:
                take_text = stage.feed
        for stage in self.stages:
            stage.clock = _GuardedClock(clock, run)
        for stage in self.stages:
            stage.start()
        return self

    def settle(self) -> None:
        for settle in self.settlers:
            settle()

    def finish(self) -> None:
        for finish in self._finishers:
            finish()

    def release(self) -> None:
        for stage in self.stages:
            stage.release()


class _GuardedClock:
    """A clock whose alarms wait for the delivery that is under way."""

    __slots__ = ("_clock", "_run", "now")

    def __init__(self, clock: Clock, run: Callable[[Callable[[], object]], object]) -> None:
        self._clock = clock
        self._run = run
        self.now = clock.now

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        return self._clock.call_later(delay_s, lambda: self._run(action))


class Operator(Generic[Taken, Given]):
    """A recipe for stages: call it with an Observable, or join it to another with `|`."""

    def __init__(self, label: str, *make: Callable[[], Stage[Any, Any]], labels: Sequence[str] = ()) -> None:
        self.make = make
        self.labels = tuple(labels) or (label,)

    def __call__(self, source: Observable[Taken]) -> Observable[Given]:
        if isinstance(source, _Staged):
            return _Staged(source.origin, source.make + self.make)
        return _Staged(source, self.make)

    def __or__(self, following: "Operator[Given, Next]") -> "Operator[Taken, Next]":
        return Operator("", *self.make, *following.make, labels=self.labels + following.labels)

    def chain(self) -> Chain[Taken, Given]:
        """Fresh stages, joined: what a subscription gets, for those who push by hand."""
        return Chain([make() for make in self.make])

    def __repr__(self) -> str:
        return " | ".join(self.labels)


class _Staged(Observable[Any]):
    """An Observable that runs a chain of stages over `origin`, one chain a subscription."""

    def __init__(self, origin: Observable[Any], make: tuple[Callable[[], Stage[Any, Any]], ...]) -> None:
        super().__init__()
        self.origin = origin
        self.make = make

    def _subscribe_core(
        self, observer: abc.ObserverBase[Any], scheduler: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        run = _Run([make() for make in self.make], observer, clock_of(scheduler))
        run.upstream.disposable = self.origin.subscribe(
            lambda item: run.gate.run(run.feed, item),
            lambda error: run.gate.run(run.end, error),
            lambda: run.gate.run(run.end, None),
            scheduler=scheduler,
        )
        return CompositeDisposable(run.upstream, Disposable(run.release))


class _Run:
    """One subscription: a chain, its gate, and the rules for how it ends."""

    def __init__(self, stages: list[Stage[Any, Any]], observer: abc.ObserverBase[Any], clock: Clock) -> None:
        self.gate = Gate()
        self.upstream = SingleAssignmentDisposable()
        self._observer = observer
        self._over = False
        self._subscriber_raised = False
        self._chain: Chain[Any, Any] = Chain(stages)
        self._chain.connect(self._deliver, clock, lambda action: self.gate.run(self._alarm, action))

    def _deliver(self, item: Any) -> None:
        if self._over:
            return
        try:
            self._observer.on_next(item)
        except BaseException:
            self._subscriber_raised = True
            raise

    def feed(self, item: Any) -> None:
        if self._over:
            return
        try:
            self._chain.feed(item)
            self._chain.settle()
        except Exception as error:
            self._fail(error)

    def _alarm(self, action: Callable[[], object]) -> None:
        if self._over:
            return
        try:
            action()
            self._chain.settle()
        except Exception as error:
            self._fail(error)

    def end(self, error: Exception | None) -> None:
        if self._over:
            return
        try:
            self._chain.finish()
        except Exception as broken:
            self._fail(broken)
            return
        self.release()
        if error is None:
            self._observer.on_completed()
        else:
            self._observer.on_error(error)

    def _fail(self, error: Exception) -> None:
        if not self._subscriber_raised:
            for stage in self._chain.stages:
                try:
                    stage.finish()
                except Exception:  # the first error is the one to report
                    continue
        self.release()
        self.upstream.dispose()
        if self._subscriber_raised:
            raise error
        self._observer.on_error(error)

    def release(self) -> None:
        self._over = True
        self._chain.release()
