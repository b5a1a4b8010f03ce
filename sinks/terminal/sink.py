"""The terminal sink: what can be chosen about it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from penstock.events import StreamError
from penstock.operators.clock import Clock
from penstock.sinks.choose import Look, Place, choose
from penstock.sinks.sink import Sink
from penstock.sinks.text import TextSink
from penstock.updates import Completed, MessagesChanged, ToolBlockUpdate

if TYPE_CHECKING:
    from penstock.sinks.terminal.live_turn import LiveTurn

__all__ = ["TerminalSink"]


class TerminalSink(Sink):
    """The turn, live: finished text is rendered once and never touched again, and below it stands what is going on.

    What it shows is the message state (`MessagesChanged`), so that the screen always says what the state says.

    * `rounds="keep"` (the default): every block of text stays as soon as it is closed, every tool leaves one line.
      A text becomes the final message only in hindsight, so earlier rounds' texts stay above it, each once.
    * `rounds="replace"`: the text of a round overwrites the one before, in a region that is always smaller than the
      screen; when the turn is over the region is cleared and the final message alone remains. With `tools=False`,
      nothing of the tools is ever shown.
    * `rounds="none"`: no text, only tools and status while they last: for standard error.

    `thinking=True` shows the latest line of the thinking while it lasts. `keys` are read only where standard input
    is a terminal too: ctrl-o switches to the expanded view and back, `?` shows the keys, `q` calls `on_stop` (by
    default it interrupts the program, as ctrl-C does).

    Where the stream is not a terminal, exactly the visible text is written, as by `TextSink`. The look is chosen
    from the environment (`penstock.sinks.choose`) unless it is given; so are the `clock` and the `size` (columns,
    lines). One turn at a time is live; one that opens meanwhile on the same sink adds what it has to say above it.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        rounds: Literal["keep", "replace", "none"] = "keep",
        tools: bool = True,
        thinking: bool = False,
        keys: bool = True,
        on_stop: Callable[[], object] | None = None,
        look: Look | None = None,
        clock: Clock | None = None,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self.look = look or choose(Place.of(stream or sys.stdout, sys.stderr))
        self.rounds = rounds
        self.tools = tools
        self.thinking = thinking
        self.keys = keys
        self.on_stop = on_stop
        self.clock = clock
        self.size = size
        self._stream = stream
        self._live: LiveTurn | None = None
        if self.look.form == "terminal":
            self.accepts = frozenset({MessagesChanged, ToolBlockUpdate, StreamError, Completed})
        else:
            self.accepts = TextSink.accepts

    def open(self, turn_id: str) -> Sink:
        stream = self._stream or sys.stdout
        if self.look.form == "text":
            return TextSink(stream).open(turn_id)
        from penstock.sinks.terminal.live_turn import LiveTurn

        if self._live is not None and not self._live.is_closed:
            return LiveTurn(self, stream, beside=self._live)
        self._live = LiveTurn(self, stream)
        return self._live

    @contextmanager
    def paused(self) -> Iterator[None]:
        """`with sink.paused():` around a question to the user, or whatever else needs the terminal for itself.

        The status goes, the cursor and the keys are as ever, and what arrives meanwhile is shown afterwards.
        """
        if self._live is None:
            yield
        else:
            with self._live.paused():
                yield

    async def until_collapsed(self) -> None:
        """Wait while somebody reads the expanded view, which the end of the turn would take away."""
        if self._live is not None:
            await self._live.until_collapsed()
