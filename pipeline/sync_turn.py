"""The turn for a synchronous loop: the same turn, on an event loop of its own that runs while a round does."""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.events import Event, ToolInvocation
from penstock.messages import Messages
from penstock.reply import Reply, TurnResult
from penstock.sources.chunks import Source
from penstock.tool_block import ToolBlock

if TYPE_CHECKING:
    from penstock.turn import Turn

__all__ = ["SyncTurn"]


class SyncTurn:
    """`with pipeline.sync_turn() as turn:` around a synchronous agent loop.

    Sinks are called in the caller's thread. Time passes for the turn only while `round` runs: that is when there is
    something to show. (A tool's heartbeat therefore rests while the loop runs the tool.)
    """

    def __init__(self, turn: "Turn") -> None:
        self._turn = turn
        self._runner = asyncio.Runner()

    def round(self, source: Source, *, backend: str | None = None) -> Reply:
        """Read one model call to its end (or its break) and return what it said."""
        return self._runner.run(self._turn.round(source, backend=backend))

    def tool(self, call: ToolInvocation) -> ToolBlock:
        """A context around the execution of a call: it runs, it ends, exactly once."""
        return self._turn.tool(call)

    def push(self, event: Event) -> None:
        """Put an event of one's own into the turn's stream."""
        self._turn.push(event)

    def complete(self, message: str) -> None:
        """End with this message instead of the last round's text."""
        self._turn.complete(message)

    def abort(self, reason: str = "aborted") -> None:
        """End the turn now; what has arrived is kept."""
        self._turn.abort(reason)

    def stop(self) -> None:
        """End the round under way; its partial reply is returned and the turn goes on."""
        self._turn.stop()

    @property
    def messages(self) -> Messages:
        """The conversation as it is now."""
        return self._turn.messages

    @property
    def final_message(self) -> str:
        """The final message once the turn is over; until then, the latest text."""
        return self._turn.final_message

    @property
    def result(self) -> TurnResult:
        """What the turn came to."""
        return self._turn.result

    def __enter__(self) -> "SyncTurn":
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._runner.run(self._turn.__aenter__())
            return self
        raise UsageError("an event loop is running here: use `async with pipeline.turn()`")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._runner:
            self._runner.run(self._turn.__aexit__(kind, error, trace))
