"""A recorded turn, played into a new one."""

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

from penstock.errors import TurnClosed
from penstock.events import ToolInvocation
from penstock.operators.clock import Clock
from penstock.sources.recordings import Mark, Speed, Step, steps
from penstock.turn import Turn

__all__ = ["replay"]


async def replay(
    turn: Turn,
    path: str | Path,
    *,
    backend: str | None = None,
    speed: Speed = 1.0,
    clock: Clock | None = None,
    on_chunk: Callable[[int], object] | None = None,
) -> None:
    """Play a recording, or any file of a stream (`penstock.sources.recordings`), as the rounds and tools of `turn`.

    The chunks between two marks are one round; what tools did comes from the marks. Ends early when the turn does.
    `on_chunk` is told the size of each chunk in bytes.
    """
    calls: dict[str, ToolInvocation] = {}
    step: Step | None
    async with aclosing(steps(path, speed=speed, clock=clock)) as played:
        step = await anext(played, None) or Step(0.0)  # an empty file is a round without an answer
        try:
            while step is not None:
                if step.mark is None:
                    answer = _Answer(step, played, on_chunk)
                    reply = await turn.round(answer.chunks(), backend=backend)
                    calls |= {call.call_id: call for call in reply.tool_calls}
                    step = answer.following
                else:
                    _run_tool(turn, calls, step.mark)
                    step = await anext(played, None)
        except TurnClosed:
            return


class _Answer:
    """The chunks of one round, and the step that ended them."""

    def __init__(self, first: Step, played: AsyncIterator[Step], on_chunk: Callable[[int], object] | None) -> None:
        self.following: Step | None = None
        self._on_chunk = on_chunk
        self._first = first
        self._played = played

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._first.chunk
        async for step in self._played:
            if step.mark is not None:
                self.following = step
                return
            if self._on_chunk is not None:
                self._on_chunk(len(step.chunk))
            yield step.chunk


def _run_tool(turn: Turn, calls: dict[str, ToolInvocation], mark: Mark) -> None:
    if "tool" not in mark:
        return
    call_id = mark["tool"]
    block = turn.tool(calls.get(call_id) or ToolInvocation(call_id, "", {}, 0))
    if "output" in mark:
        block.result(mark["output"], is_error=mark.get("isError", False))
    else:
        block.progress(mark.get("progress", ""))
