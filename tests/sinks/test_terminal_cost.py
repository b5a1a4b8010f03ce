"""What a long answer costs: little more than rendering it once, and in proportion (issue 6; USERS 2)."""

import io
import time
from collections.abc import Callable

import pytest
from laws import check_takes
from rich.console import Console
from terminals import LIVE, answer, pieces_of

from penstock.events import BlockStart, MessageStart, TextDelta
from penstock.messages import MessageState
from penstock.sinks.terminal import TerminalSink
from penstock.sinks.terminal.round_text import RoundText
from penstock.sinks.terminal.screen import LiveScreen
from penstock.updates import MessagesChanged


class WorkClock:
    """The time this process has worked: frames come as often as on a machine that does nothing else."""

    def __init__(self) -> None:
        self.now = time.process_time
        self._alarms: list[tuple[float, Callable[[], object]]] = []

    def call_later(self, delay_s: float, action: Callable[[], object]) -> Callable[[], object]:
        alarm = (self.now() + delay_s, action)
        self._alarms.append(alarm)
        return lambda: self._alarms.remove(alarm) if alarm in self._alarms else None

    def ring(self) -> None:
        now = self.now()
        for alarm in [alarm for alarm in self._alarms if alarm[0] <= now]:
            self._alarms.remove(alarm)
            alarm[1]()


def once(text: str) -> None:
    round_text = RoundText(Console(file=io.StringIO()), has_unicode=True)
    round_text.feed(text)
    LiveScreen(io.StringIO()).draw(round_text.finish(79), ())


def streamed(text: str) -> None:
    clock = WorkClock()
    sink = TerminalSink(io.StringIO(), look=LIVE, clock=clock, size=lambda: (80, 24), keys=False)
    state = MessageState()
    state.apply(MessageStart("m"))
    state.apply(BlockStart("text", 0, "m"))
    turn = sink.open("t")
    for piece in pieces_of(text, 4):
        state.apply(TextDelta(piece, 0, "m"))
        turn.on_next(MessagesChanged(state.messages))
        clock.ring()
    turn.close()


def test_streaming_in_chunks_of_four_costs_at_most_three_times_rendering_once() -> None:
    text = answer(150)
    check_takes(lambda: streamed(text), lambda: once(text), at_most=3, rounds=2)


@pytest.mark.slow
def test_a_megabyte_in_chunks_of_four_costs_at_most_three_times_rendering_it_once() -> None:
    text = answer(2000)
    assert len(text) > 1_000_000
    check_takes(lambda: streamed(text), lambda: once(text), at_most=3, rounds=1)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(answer(1), id="all kinds"),
        pytest.param("word and more ", id="one paragraph"),
        pytest.param("- item with *some* text\n", id="one list"),
        pytest.param("  more of it\n", id="one item"),
        pytest.param("x = f(1)  # comment\n", id="one fence"),
        pytest.param("> quoted\n", id="one quote"),
        pytest.param("| 1 | two |\n", id="one table"),
        pytest.param("[a*b_`", id="nothing closed"),
    ],
)
def test_the_cost_grows_with_the_text_and_no_faster(text: str, request: pytest.FixtureRequest) -> None:
    openings = {"one fence": "```python\n", "one item": "- item\n", "one table": "| a | b |\n|---|---|\n"}
    opening = next((opening for name, opening in openings.items() if name in request.node.name), "")
    small, large = (opening + text * (size // len(text)) for size in (8_000, 40_000))
    check_takes(lambda: streamed(large), lambda: streamed(small), at_most=7.5, rounds=2)
