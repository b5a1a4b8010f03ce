"""Messages made of text, and what became of them: shared by the tests of everything that takes text apart."""

from collections.abc import Iterable, Sequence
from typing import Any

from laws import check_balance, merged, push

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
)
from penstock.operators.stage import Operator

Said = list[tuple[str, ...]]


def text_message(*pieces: str) -> list[Event]:
    """A message of one text block, in these pieces."""
    deltas = [TextDelta(piece, 0, "m") for piece in pieces]
    return [MessageStart("m"), BlockStart("text", 0, "m"), *deltas, BlockStop(0, "m"), MessageStop("m", "stop")]


def said(events: Iterable[Any]) -> Said:
    """What the events say, block by block: `("text", …)`, `("tool", name, arguments)`, `("error", code)` …"""
    out: Said = []
    for event in events:
        match event:
            case BlockStart(kind="tool"):
                out.append(("tool", event.tool_name, ""))
            case BlockStart():
                out.append((event.kind, ""))
            case TextDelta() | ThinkingDelta():
                kind, text = out[-1]
                out[-1] = (kind, event.text if event.replace else text + event.text)
            case ToolInputDelta():
                out[-1] = (*out[-1][:-1], out[-1][-1] + event.json)
            case StreamError():
                out.append(("error", event.code))
            case Text():
                out.append(("final text", event.text))
            case Thinking():
                out.append(("final thinking", event.text))
            case ToolInvocation():
                out.append(("final tool", event.tool_name, event.input))
            case _:
                pass
    return out


def through(operator: Operator[Event, Event], *pieces: str) -> list[Event]:
    """What comes of a message in these pieces; balanced, or the test fails."""
    out = push(operator, text_message(*pieces))
    check_balance(out)
    return merged(out)


def every_way(operator: Operator[Event, Event], text: str, cuts: Sequence[Sequence[str]] = ()) -> Said:
    """What comes of the text, which is the same whole, character by character and in every one of `cuts`."""
    whole = through(operator, text)
    assert through(operator, *text) == whole, "character by character it says something else"
    for cut in cuts:
        assert through(operator, *cut) == whole, f"cut as {cut} it says something else"
    return said(whole)
