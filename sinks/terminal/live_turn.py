"""One turn on a screen: when to draw, what the keys do, how the terminal is left."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from penstock.events import StreamError
from penstock.operators.clock import clock_of
from penstock.operators.gate import Gate
from penstock.operators.view_gate import View, ViewGate
from penstock.sinks.sink import Item, Sink
from penstock.sinks.terminal.display import Display
from penstock.sinks.terminal.expanded import Expanded
from penstock.sinks.terminal.guard import Guard
from penstock.sinks.terminal.keys import KeyReader
from penstock.sinks.terminal.marks import ASCII_MARKS, SPINNER_STEP_S, UNICODE_MARKS
from penstock.sinks.terminal.screen import LiveScreen, PlainScreen, size_of
from penstock.updates import Completed, MessagesChanged, ToolBlockUpdate

if TYPE_CHECKING:
    from penstock.sinks.terminal.sink import TerminalSink

__all__ = ["FRAME_S", "LiveTurn"]

FRAME_S = 0.05
"""At most one frame in this time."""

_HINT = "ctrl-o expand · ? keys"
_HELP = ["ctrl-o  expanded view and back", "?       these keys", "q       stop, as ctrl-C does"]


class LiveTurn(Sink):
    """What a `TerminalSink` makes for a turn.

    Something new is drawn at once if the last frame is `FRAME_S` ago, else when it is; the spinner moves in
    between. A turn `beside` another has no region of its own and draws only what stays, above the other's.
    """

    def __init__(self, sink: "TerminalSink", stream: TextIO, beside: "LiveTurn | None" = None) -> None:
        look = sink.look
        self.is_closed = False
        self._sink = sink
        self._clock = sink.clock or clock_of(None)
        self._size = sink.size or (lambda: size_of(stream))
        self._has_region = look.is_live and beside is None
        self._gate = Gate()
        self._next_frame_at = float("-inf")
        self._is_paused = False
        self._is_wished = False
        """Whether a frame is coming for news."""
        self._alarm_at = float("inf")
        self._cancel_alarm: Callable[[], object] | None = None
        self._last_size = self._size()
        self._marks = UNICODE_MARKS if look.has_unicode else ASCII_MARKS
        self._display = Display(
            rounds=sink.rounds,
            tools=sink.tools,
            thinking=sink.thinking,
            has_unicode=look.has_unicode,
            now=self._clock.now(),
        )
        self._display.hides_for_text = look.status == "until_text"
        self._screen: LiveScreen | PlainScreen = PlainScreen(stream, look.has_color)
        if beside is not None:
            self._screen = beside._screen
        elif look.is_live:
            self._screen = LiveScreen(stream, look.has_color, look.is_synchronized)
        self._view = View()
        self._view_gate = ViewGate(self._view, self._take, lambda error: None)
        self._expanded: Expanded | None = None
        self._keys = KeyReader(lambda key: self._gate.run(self._press, key))
        self._guard = Guard(self._leave, self._enter)
        self._takers: dict[type, Callable[[Any], object]] = {
            MessagesChanged: lambda item: self._display.take_messages(item.messages),
            ToolBlockUpdate: self._display.take_tool,
            StreamError: self._display.take_error,
            Completed: self._display.take_completed,
        }
        if self._has_region:
            self._guard.raise_up()
            self._enter()

    def on_next(self, item: Item) -> None:
        if self._is_wished and type(item) is MessagesChanged:
            self._display.take_messages(item.messages)  # the frame that is coming will show it
        else:
            self._gate.run(self._hear, item)

    def close(self) -> None:
        self._gate.run(self._close)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to somebody else for a while."""
        self._gate.run(self._pause)
        try:
            yield
        finally:
            self._gate.run(self._resume)

    async def until_collapsed(self) -> None:
        """Wait until the view is collapsed."""
        while self._view.is_expanded and not self.is_closed:
            collapsed = asyncio.Event()
            stop_listening = self._view.listen(collapsed.set)
            try:
                await collapsed.wait()
            finally:
                stop_listening()

    # ── news ─────────────────────────────────────────────────────────────────────────────────────────────

    def _hear(self, item: Item) -> None:
        if isinstance(item, ToolBlockUpdate):
            self._display.hear_tool(item, self._clock.now())
        self._view_gate.feed(item)

    def _take(self, item: Item) -> None:
        take = self._takers.get(type(item))
        if take is not None:
            take(item)
            self._wish()

    def _close(self) -> None:
        if self.is_closed:
            return
        if self._view.is_expanded:
            self._collapse()
        self._view_gate.release()
        self._display.finish()
        self._draw()
        self.is_closed = True
        self._stop_alarm()
        self._keys.stop()
        if self._has_region:
            self._screen.close()
            self._guard.take_down()

    # ── when to draw ─────────────────────────────────────────────────────────────────────────────────────

    def _wish(self) -> None:
        """There is something new to draw."""
        if not self.is_closed and not self._is_paused and not self._view.is_expanded:
            wait = self._next_frame_at - self._clock.now()
            if wait <= 0:
                self._draw()
            else:
                self._set_alarm(wait)
                self._is_wished = True

    def _set_alarm(self, wait: float) -> None:
        at = self._clock.now() + wait
        if at < self._alarm_at:
            self._stop_alarm()
            self._alarm_at = at
            self._cancel_alarm = self._clock.call_later(wait, lambda: self._gate.run(self._alarm))

    def _stop_alarm(self) -> None:
        self._alarm_at = float("inf")
        if self._cancel_alarm is not None:
            self._cancel_alarm()
            self._cancel_alarm = None

    def _alarm(self) -> None:
        self._alarm_at = float("inf")
        self._cancel_alarm = None
        if not self.is_closed and not self._is_paused:
            self._draw()

    def _draw(self) -> None:
        size = self._size()
        is_resized = size != self._last_size
        self._last_size = size
        self._is_wished = False
        now = self._clock.now()
        columns, lines = size
        # One column stays free: in the last one terminals differ about where the cursor is.
        self._display.width = max(columns - 1, 1)
        if self._expanded is not None:
            if is_resized:
                self._draw_expanded()
        else:
            staying = self._display.staying()
            region = self._display.region(now, lines - 1) if self._has_region else None
            self._screen.draw(staying, region, is_resized)
        self._next_frame_at = now + FRAME_S
        if self._has_region and not self._display.is_over:
            self._set_alarm(SPINNER_STEP_S)

    # ── the expanded view ────────────────────────────────────────────────────────────────────────────────

    def _press(self, key: str) -> None:
        if self.is_closed:
            return
        if self._expanded is not None:
            if key in ("ctrl-o", "escape", "q"):
                self._collapse()
            else:
                self._expanded.press(key, self._last_size[1])
                self._draw_expanded()
        elif key == "ctrl-o":
            self._expand()
        elif key == "?":
            self._display.help = [] if self._display.help else _HELP
            self._wish()
        elif key == "q":
            self._stop()

    def _stop(self) -> None:
        if self._sink.on_stop is not None:
            self._sink.on_stop()
        else:
            signal.raise_signal(signal.SIGINT)

    def _expand(self) -> None:
        assert isinstance(self._screen, LiveScreen)
        self._view.expand()
        self._is_wished = False
        self._expanded = Expanded(
            self._display.messages,
            thinking=self._sink.thinking,
            has_unicode=self._sink.look.has_unicode,
            marks=self._marks,
        )
        self._screen.cover()
        self._draw_expanded()

    def _draw_expanded(self) -> None:
        assert isinstance(self._screen, LiveScreen)
        assert self._expanded is not None
        columns, lines = self._last_size
        self._screen.show_covering(self._expanded.screen(max(columns - 1, 1), lines))

    def _collapse(self) -> None:
        assert isinstance(self._screen, LiveScreen)
        self._expanded = None
        self._screen.uncover()
        self._view.collapse()
        self._draw()

    # ── how the terminal is left ─────────────────────────────────────────────────────────────────────────

    def _leave(self) -> None:
        """The program ends or is suspended."""
        self._screen.abandon()
        self._keys.stop()

    def _pause(self) -> None:
        if not self.is_closed:
            if self._view.is_expanded:
                self._collapse()
            self._draw()
            self._is_paused = True
            self._stop_alarm()
            self._keys.stop()
            self._screen.close()

    def _resume(self) -> None:
        if not self.is_closed and self._is_paused:
            self._is_paused = False
            self._enter()

    def _enter(self) -> None:
        """The turn begins, or the program goes on."""
        if self._is_paused:
            return
        if self._sink.keys and self._has_region:
            self._keys.start()
            if self._keys.is_reading and self._sink.look.has_unicode:
                self._display.hint = _HINT
        self._gate.run(self._draw)
