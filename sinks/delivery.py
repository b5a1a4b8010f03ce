"""Getting items to sinks so that no sink can hurt the stream or another sink."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from penstock.sinks.failures import Failures
from penstock.sinks.mailbox import Mailbox, MailboxStatistics
from penstock.sinks.sink import Item, Sink
from penstock.summary import SUMMARIES, Summary

__all__ = ["Delivery"]


class Delivery:
    """One turn's way to its sinks: opens them, routes items by class, closes them once."""

    __slots__ = ("_ends", "_routes")

    def __init__(self, sinks: Sequence[Sink], turn_id: str, *, max_items: int, max_chars: int) -> None:
        self._ends: list[_End] = []
        self._routes: dict[type, Callable[[Any], object]] = {}
        for sink in sinks:
            if inspect.iscoroutinefunction(sink.on_next):
                self._ends.append(_SlowEnd(sink, turn_id, Mailbox(max_items, max_chars)))
            else:
                self._ends.append(_End(sink, turn_id))

    def wants(self, kind: type) -> bool:
        """Whether any sink accepts items of this class."""
        return any(end.wants(kind) for end in self._ends)

    def push(self, item: Item | Summary) -> None:
        """Hand one item to every sink that accepts its class."""
        push = self._routes.get(type(item))
        if push is None:
            push = self._routes[type(item)] = self._route(type(item))
        push(item)

    def _route(self, kind: type) -> Callable[[Any], object]:
        pushes = [end.push for end in self._ends if end.wants(kind)]
        if len(pushes) < 2:
            return pushes[0] if pushes else _ignore

        def push_all(item: Any) -> None:
            for push in pushes:
                push(item)

        return push_all

    def detach(self, sink: Sink) -> None:
        """This sink hears no more; the others and the stream go on."""
        for end in self._ends:
            if end.sink is sink:
                end.detach()

    def statistics(self) -> dict[Sink, MailboxStatistics]:
        """What went through the mailbox of each sink that has one."""
        return {end.sink: end.mailbox.statistics for end in self._ends if isinstance(end, _SlowEnd)}

    async def close(self, timeout_s: float) -> None:
        """Close every sink after everything it was given; a slow one has `timeout_s` to read the rest.

        Cancelled meanwhile, it stops waiting for the slow ones, but still closes them all before it goes.
        """
        closing = asyncio.gather(*(end.close(timeout_s) for end in self._ends))
        is_cancelled = False
        while not closing.done():
            try:
                await asyncio.wait([closing])
            except asyncio.CancelledError:
                is_cancelled = True
                for end in self._ends:
                    end.hurry()
        if is_cancelled:
            raise asyncio.CancelledError


def _ignore(item: Any) -> None:
    """For what nobody wants."""


class _End:
    """A sink that is called directly."""

    __slots__ = ("_closing", "_failures", "_is_open", "_target", "accepts", "sink")

    def __init__(self, sink: Sink, turn_id: str) -> None:
        self.sink = sink
        self.accepts = sink.accepts
        self._failures = Failures(type(sink).__name__)
        self._target = sink
        self._is_open = True
        self._closing: Awaitable[None] | None = None
        try:
            self._target = sink.open(turn_id)
        except Exception as error:
            self._failures.add("open", error)
            self._is_open = False

    def wants(self, kind: type) -> bool:
        """Whether the sink accepts items of this class; a summary is only for those that name it."""
        return kind not in SUMMARIES if self.accepts is None else kind in self.accepts

    def push(self, item: Any) -> None:
        if not self._is_open:
            return
        try:
            self._target.on_next(item)
        except Exception as error:
            if self._failures.add(f"on_next({type(item).__name__})", error):
                self.detach()
        else:
            self._failures.in_a_row = 0

    def detach(self) -> None:
        if self._is_open:
            self._is_open = False
            try:
                self._closing = self._target.close()
            except Exception as error:
                self._failures.add("close", error)

    async def close(self, timeout_s: float) -> None:
        self.detach()
        if self._closing is not None:
            try:
                await asyncio.wait_for(self._closing, timeout_s)
            except Exception as error:
                self._failures.add("close", error)

    def hurry(self) -> None:
        """Do not wait for what is still to be read."""


class _SlowEnd(_End):
    """A sink that reads from its mailbox, in one task a turn."""

    __slots__ = ("_arrived", "_task", "mailbox")

    def __init__(self, sink: Sink, turn_id: str, mailbox: Mailbox) -> None:
        super().__init__(sink, turn_id)
        self.mailbox = mailbox
        self._arrived = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._read(), name=f"sink {type(sink).__name__}")

    def push(self, item: Any) -> None:
        if self._is_open:
            is_over = self.mailbox.put(item)
            self._arrived.set()
            if is_over and self.sink.overflow == "detach":
                self._failures.add("overflow", OverflowError(f"{len(self.mailbox)} items wait: detached"))
                self.detach()

    async def _read(self) -> None:
        while self._is_open or len(self.mailbox):
            await self._arrived.wait()
            self._arrived.clear()
            while len(self.mailbox):
                await self._deliver(self.mailbox.take())

    async def _deliver(self, item: Item) -> None:
        try:
            await _result(self._target.on_next(item))
        except Exception as error:
            if self._failures.add(f"on_next({type(item).__name__})", error):
                self.detach()
        else:
            self._failures.in_a_row = 0

    def detach(self) -> None:
        while len(self.mailbox):
            self.mailbox.take()
        self._end()

    def _end(self) -> None:
        self._is_open = False
        self._arrived.set()

    def hurry(self) -> None:
        self._task.cancel()

    async def close(self, timeout_s: float) -> None:
        self._end()
        await asyncio.wait([self._task], timeout=timeout_s)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._task.cancelled():
            undelivered = f"{len(self.mailbox) + 1} items undelivered after {timeout_s:g} s"
            self._failures.add("close", TimeoutError(undelivered))
        try:
            await asyncio.wait_for(_result(self._target.close()), timeout_s)
        except Exception as error:
            self._failures.add("close", error)


async def _result(returned: Any) -> None:
    if inspect.isawaitable(returned):
        await returned
