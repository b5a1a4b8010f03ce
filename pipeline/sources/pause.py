"""Waiting on any clock: the event loop's, or a virtual one that a test turns by hand."""

import asyncio

from penstock.operators.clock import Clock, loop_clock

__all__ = ["clock_or_loop", "pause"]


def clock_or_loop(clock: Clock | None) -> Clock:
    """`clock`, or that of the running event loop where there is none."""
    return clock or loop_clock()


async def pause(clock: Clock, delay_s: float) -> None:
    """Wait until `delay_s` have passed on `clock`; not at all where nothing is left to wait for."""
    if delay_s <= 0:
        return
    passed = asyncio.Event()
    cancel = clock.call_later(delay_s, passed.set)
    try:
        await passed.wait()
    finally:
        cancel()
