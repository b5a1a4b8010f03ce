"""What a round and a turn cost and came to, in figures: for logs and metrics.

Sinks that name `RoundSummary` or `TurnSummary` in `accepts` get one as the last item of each; no other sink does,
and where no sink asks, nothing is measured.
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from penstock.events import (
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolInputDelta,
    ToolInvocation,
    Usage,
)

__all__ = ["GAP_BOUNDS_S", "SUMMARIES", "Figures", "RoundSummary", "Summary", "TurnSummary"]

GAP_BOUNDS_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""The upper bounds of the classes in which the times between chunks are counted."""


class _Figures(Struct, frozen=True, kw_only=True):
    """What rounds and turns have in common. Times are in seconds; None where there is none."""

    turn_id: str
    stop_reason: str
    duration_s: float
    first_chunk_s: float | None
    """From when the round was opened to its first chunk; of a turn, that of its first round."""
    chunks: int
    bytes: int
    deltas: int
    """How many deltas reached the sinks."""
    characters: int
    thinking_characters: int
    tool_calls: int
    errors: int
    stalls: int
    usage: Usage

    @property
    def coalescing_ratio(self) -> float:
        """How many chunks one delta at the sinks stands for."""
        return round(self.chunks / self.deltas, 2) if self.deltas else 0.0


class RoundSummary(_Figures, frozen=True, kw_only=True):
    """One model call in figures."""

    round: int
    backend: str
    model: str
    mean_gap_s: float | None
    longest_gap_s: float | None
    gaps: tuple[tuple[int, float], ...] = ()
    """The times between chunks by class (`GAP_BOUNDS_S`, and one for the longer): how many, and their sum."""


class TurnSummary(_Figures, frozen=True, kw_only=True):
    """A whole turn in figures: the sums over its rounds, and how it ended."""

    rounds: int


Summary: TypeAlias = RoundSummary | TurnSummary
SUMMARIES = frozenset({RoundSummary, TurnSummary})


class Measure:
    """Counts one round: chunks as they arrive, and what of them reaches the sinks. Constant cost and memory."""

    def __init__(self, now: float) -> None:
        self._began_at = now
        self._first_at: float | None = None
        self._last_at = now
        self._bytes = 0
        self._chunks = 0
        self._longest_gap_s = 0.0
        self._counts = [0] * (len(GAP_BOUNDS_S) + 1)
        self._sums = [0.0] * (len(GAP_BOUNDS_S) + 1)
        self._tally = dict.fromkeys((*_DELTAS, Text, Thinking, ToolInvocation, StreamError), 0)
        self._stalls = 0
        self._stop_reason = ""

    def chunk(self, chunk: Any, now: float) -> None:
        """A chunk arrived. Records that came parsed have no bytes."""
        self._chunks += 1
        if type(chunk) is not dict:
            self._bytes += len(chunk)
        if self._first_at is None:
            self._first_at = now
        else:
            gap_s = now - self._last_at
            place = bisect_left(GAP_BOUNDS_S, gap_s)
            self._counts[place] += 1
            self._sums[place] += gap_s
            if gap_s > self._longest_gap_s:
                self._longest_gap_s = gap_s
        self._last_at = now

    def item(self, item: Any) -> None:
        """An item goes to the sinks."""
        kind = type(item)
        if kind in _DELTAS or kind is ToolInvocation:
            self._tally[kind] += 1
        elif kind is Text or kind is Thinking:
            self._tally[kind] += len(item.text)
        elif kind is MessageStop:
            if not item.parent_call_id:
                self._stop_reason = item.stop_reason
        elif kind is StreamError:
            self._tally[StreamError] += 1
            self._stalls += item.code == "stalled"

    def summary(
        self, *, turn_id: str, number: int, backend: str, model: str, stop_reason: str, usage: Usage, now: float
    ) -> RoundSummary:
        """The round is over; `stop_reason` is the turn's word, where the backend has none."""
        tally, gaps = self._tally, self._chunks - 1
        return RoundSummary(
            turn_id=turn_id,
            round=number,
            backend=backend,
            model=model,
            stop_reason=self._stop_reason or stop_reason,
            duration_s=now - self._began_at,
            first_chunk_s=None if self._first_at is None else self._first_at - self._began_at,
            mean_gap_s=sum(self._sums) / gaps if gaps > 0 else None,
            longest_gap_s=self._longest_gap_s if gaps > 0 else None,
            chunks=self._chunks,
            bytes=self._bytes,
            deltas=sum(tally[kind] for kind in _DELTAS),
            characters=tally[Text],
            thinking_characters=tally[Thinking],
            tool_calls=tally[ToolInvocation],
            errors=tally[StreamError],
            stalls=self._stalls,
            usage=usage,
            gaps=tuple(zip(self._counts, self._sums, strict=True)),
        )


_DELTAS: tuple[type, ...] = (TextDelta, ThinkingDelta, ToolInputDelta)


class Figures:
    """The figures of a turn: a `Measure` for each round, and their sum. Items count for the round opened last."""

    def __init__(self, turn_id: str, now: Callable[[], float]) -> None:
        self._turn_id = turn_id
        self._now = now
        self._began_at = now()
        self._measures: dict[int, Measure] = {}
        self._latest: Measure | None = None
        self._rounds: list[RoundSummary] = []

    def open_round(self, number: int) -> Callable[[Any], None]:
        """A round begins; gives back what is to be told each of its chunks."""
        measure = self._measures[number] = self._latest = Measure(self._now())
        now = self._now
        return lambda chunk: measure.chunk(chunk, now())

    def item(self, item: Any) -> None:
        """An item goes to the sinks."""
        if self._latest is not None:
            self._latest.item(item)

    def of_round(self, number: int, *, backend: str, model: str, stop_reason: str, usage: Usage) -> RoundSummary:
        """The round is over."""
        measure = self._measures.pop(number)
        summary = measure.summary(
            turn_id=self._turn_id,
            number=number,
            backend=backend,
            model=model,
            stop_reason=stop_reason,
            usage=usage,
            now=self._now(),
        )
        self._rounds.append(summary)
        return summary

    def of_turn(self, stop_reason: str, usage: Usage) -> TurnSummary:
        """The turn is over: its rounds, added up."""
        rounds = self._rounds
        return TurnSummary(
            turn_id=self._turn_id,
            stop_reason=stop_reason,
            duration_s=self._now() - self._began_at,
            first_chunk_s=rounds[0].first_chunk_s if rounds else None,
            rounds=len(rounds),
            usage=usage,
            **{name: sum(getattr(summary, name) for summary in rounds) for name in _ADDED},
        )


_ADDED = (
    "chunks", "bytes", "deltas", "characters", "thinking_characters", "tool_calls", "errors", "stalls",
)  # fmt: skip
