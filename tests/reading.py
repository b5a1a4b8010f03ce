"""What the tests of backends read with, and what they look for in what comes out."""

import random
from collections.abc import Iterable
from typing import Any, TypeVar

import orjson
from laws import check_balance, merged, push

from penstock.backends.reader import Backend
from penstock.events import (
    Event,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
    Usage,
)
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize

Kind = TypeVar("Kind")


def read(backend: str | Backend, *payloads: Any) -> list[Event]:
    """The events of these payloads (records or raw), each its own chunk; they balance, and one turn ends them."""
    raw = [payload if isinstance(payload, bytes | str) else orjson.dumps(payload) for payload in payloads]
    events: list[Event] = push(normalize(backend), raw)
    check_balance(events)
    assert isinstance(events[-1], TurnCompleted), f"the last event is {events[-1]}"
    return events


def read_bytes(backend: str, chunks: Iterable[bytes]) -> list[Event]:
    """The events of a stream of bytes, framed first."""
    events: list[Event] = push(frame() | normalize(backend), chunks)
    check_balance(events)
    return events


def finalized(backend: str | Backend, *payloads: Any) -> list[Event]:
    """The events of these payloads after `finalize`: each block's truth once."""
    raw = [payload if isinstance(payload, bytes | str) else orjson.dumps(payload) for payload in payloads]
    events: list[Event] = push(normalize(backend) | finalize(), raw)
    return events


def only(kind: type[Kind], events: Iterable[object]) -> list[Kind]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[Kind], events: Iterable[object]) -> Kind:
    """The only event of a kind."""
    (event,) = only(kind, events)
    return event


def said(events: Iterable[Event], parent_call_id: str = "") -> str:
    """The visible text of a conversation: its deltas, and the texts that were never streamed."""
    return _joined(events, TextDelta, Text, parent_call_id)


def thought(events: Iterable[Event], parent_call_id: str = "") -> str:
    """The thinking of a conversation, likewise."""
    return _joined(events, ThinkingDelta, Thinking, parent_call_id)


def _joined(events: Iterable[Event], delta: Any, final: Any, parent_call_id: str) -> str:
    event: Any
    pieces = []
    streamed = set()
    for event in only(delta | final, events):
        if event.parent_call_id == parent_call_id:
            block = (event.message_id, event.block_index)
            if type(event) is delta:
                streamed.add(block)
            if type(event) is delta or block not in streamed:
                pieces.append(event.text)
    return "".join(pieces)


def arguments(events: Iterable[Event]) -> dict[str, str]:
    """The joined argument text of each streamed tool call."""
    joined: dict[str, str] = {}
    for delta in only(ToolInputDelta, events):
        joined[delta.call_id] = joined.get(delta.call_id, "") + delta.json
    return joined


def calls(events: Iterable[Event]) -> list[tuple[str, str, Any]]:
    """Tool calls as (call id, name, input)."""
    return [(call.call_id, call.tool_name, call.input) for call in only(ToolInvocation, events)]


def errors(events: Iterable[Event]) -> list[str]:
    """The codes of the errors, in order."""
    return [error.code for error in only(StreamError, events)]


def tokens(events: Iterable[Event]) -> tuple[int, int, int, int, int]:
    """The counts of the only `Usage`: input, output, cached, cache writes, reasoning."""
    usage = one(Usage, events)
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def rechunked(whole: bytes, seed: int, size: int) -> list[bytes]:
    """`whole`, cut at random into pieces of about `size` bytes."""
    dice = random.Random(seed)
    pieces = []
    at = 0
    while at < len(whole):
        step = dice.randint(1, 2 * size)
        pieces.append(whole[at : at + step])
        at += step
    return pieces


def same_however_cut(backend: str, whole: bytes) -> list[Event]:
    """The events of `whole`, after checking that cutting it anywhere gives the same."""
    expected = merged(read_bytes(backend, [whole]))
    for seed, size in enumerate((3, 40, 1000)):
        assert merged(read_bytes(backend, rechunked(whole, seed, size))) == expected, f"cut into about {size} bytes"
    return expected
