"""The guarded entry: one delivery at a time, whoever pushes and from wherever."""

from collections import deque
from collections.abc import Callable
from typing import Any

__all__ = ["Gate"]


class Gate:
    """Runs actions one after another: re-entrant ones and other threads' ones wait their turn in a queue.

    Rx itself promises neither: a re-entrant `on_next` is delivered depth-first, so a second subscriber sees
    items backwards, and two threads interleave inside an operator. Whoever finds the gate free runs what is
    queued until the queue is empty; whoever finds it taken leaves the action behind and goes on.

    An action that raises loses nothing: the error reaches the pusher that was running it, the rest of the
    queue runs with the next push.
    """

    __slots__ = ("_key", "_queue")

    def __init__(self) -> None:
        self._queue: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._key = [None]
        """Empty while somebody is inside. Taking it out is one step for all threads, at half the cost of a lock."""

    def run(self, action: Callable[..., object], *arguments: Any) -> None:
        """Run `action(*arguments)` now if nothing is running, else right after what is."""
        queue, key = self._queue, self._key
        if key and not queue:
            try:
                key.pop()
            except IndexError:  # another thread was quicker
                queue.append((action, arguments))
            else:
                try:
                    action(*arguments)
                finally:
                    key.append(None)
        else:
            queue.append((action, arguments))
        # Look at the queue after letting go: a pusher may have found the gate taken, and left its action behind.
        while queue and key:
            try:
                key.pop()
            except IndexError:
                return
            try:
                while queue:
                    action, arguments = queue.popleft()
                    action(*arguments)
            finally:
                key.append(None)
