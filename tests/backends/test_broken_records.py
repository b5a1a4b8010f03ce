"""Bad input is data: records with anything in them, in any order, cut anywhere, never raise and always balance."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_balance, push

from penstock.backends.registry import BUILT_IN
from penstock.events import Event, TurnCompleted
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize

OURS = Path(__file__).resolve().parents[1] / "recordings"
BACKENDS = [name for name in BUILT_IN if name != "text" and (OURS / name).is_dir()]
JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    2.5,
    10**30,
    "",
    "x",
    "\ud800",
    [],
    [None],
    [[]],
    {},
    {"type": "text"},
    [{}],
)


def records(backend: str) -> list[dict[str, Any]]:
    found = []
    for file in sorted((OURS / backend).glob("*.*")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            line = line.removeprefix("data:").strip()
            if line.startswith("{") and line.endswith("}"):
                found.append(json.loads(line))
    return found


def spoil(value: Any, dice: random.Random) -> Any:
    """The same value with something in it lost or replaced by junk."""
    if dice.random() < 0.15:
        return dice.choice(JUNK)
    if isinstance(value, dict):
        kept = [key for key in value if dice.random() > 0.05]
        at = dice.choice(kept) if kept else None
        return {key: spoil(value[key], dice) if key == at else value[key] for key in kept}
    if isinstance(value, list) and value:
        return [spoil(part, dice) for part in value]
    return dice.choice(JUNK)


@pytest.mark.parametrize("backend", BACKENDS)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_spoiled_records_never_raise_and_always_balance(backend: str, seed: int) -> None:
    dice = random.Random(seed)
    good = records(backend)
    start = dice.randrange(len(good))
    chosen = [
        spoil(record, dice) if dice.random() < 0.4 else record
        for record in good[start : start + dice.randint(1, 40)]
    ]
    if dice.random() < 0.3:
        dice.shuffle(chosen)
    events: list[Event] = push(normalize(backend), [json.dumps(record) for record in chosen])
    check_balance(events)
    assert isinstance(events[-1], TurnCompleted) or TurnCompleted in map(type, events)
    push(normalize(backend) | finalize(), [json.dumps(record) for record in chosen])


@pytest.mark.parametrize("backend", BACKENDS)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_a_stream_that_ends_anywhere_is_closed_in_balance(backend: str, data: st.DataObject) -> None:
    # G7
    file = data.draw(st.sampled_from(sorted((OURS / backend).glob("*.*"))))
    whole = file.read_bytes()
    torn = whole[: data.draw(st.integers(0, len(whole)))]
    events: list[Event] = push(frame() | normalize(backend), [torn])
    check_balance(events)
    assert sum(isinstance(event, TurnCompleted) for event in events) == 1
