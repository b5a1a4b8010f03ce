"""Finals, lifecycle, errors and figures as structured log records."""

from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from msgspec import structs

from penstock import wire
from penstock.events import (
    Event,
    MessageStart,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    Unknown,
    Usage,
)
from penstock.operators.redact import redact
from penstock.operators.stage import Stage
from penstock.sinks.log_output import LogFormat, Output
from penstock.sinks.sink import Item, Sink
from penstock.summary import SUMMARIES, RoundSummary, Summary

__all__ = ["LogLevel", "LogSink"]

LogLevel: TypeAlias = Literal["trace", "info", "warning"]

_TROUBLE = frozenset({StreamError})
_FINALS = _TROUBLE | {MessageStart, Text, Thinking, ToolInvocation, ToolCompletion, Unknown, *SUMMARIES}
_DELTAS = {TextDelta: "text_delta", ThinkingDelta: "thinking_delta", ToolInputDelta: "tool_input_delta"}
_ACCEPTED: dict[LogLevel, frozenset[type]] = {
    "trace": _FINALS | {*_DELTAS, ToolProgress},
    "info": _FINALS,
    "warning": _TROUBLE,
}
_DIGITS = 6
_IDS = ("message_id", "parent_call_id")


class LogSink(Sink):
    """One record for each message, block, tool and error, and one with the figures of each round and turn.

    Records are named as on the wire (`text`, `tool_invocation`, `error`, …) with its fields in snake_case; the
    figures (`penstock.summary`) are `round_completed` and `turn_completed`. Deltas are records at level `trace`
    only; at `warning`, errors alone are. Secrets are masked, also those split across chunks, unless `redact=False`.

    Where it goes: to `logger` (a structlog one), or as `format` says, `json` or `console`, to `target`, a path or a
    binary stream (standard error, if none is given). With neither, to what the application has set up: its
    structlog configuration, else the handlers of its `logging`. Where nothing is set up, to standard error: as
    JSON, or, if that is a terminal, errors and warnings alone.
    """

    def __init__(
        self,
        logger: Any = None,
        *,
        format: LogFormat | None = None,
        target: str | Path | BinaryIO | None = None,
        level: LogLevel = "info",
        max_text_chars: int = 2000,
        redact: bool = True,
        redact_patterns: tuple[str, ...] = (),
    ) -> None:
        self.accepts: frozenset[type] = _ACCEPTED[level]
        self._output = Output(logger, format, target)
        self._max_text_chars = max_text_chars
        self._redacts = redact
        self._patterns = redact_patterns

    def open(self, turn_id: str) -> "Sink":
        operator = redact(self._patterns) if self._redacts else None
        stage: Stage[Event, Event] | None = operator.make[0]() if operator else None
        opened = self._output.open()
        if MessageStart in self.accepts:
            opened.logger.info("turn_started", turn_id=turn_id)
        return _TurnLog(opened, turn_id, stage, self._max_text_chars)


class _TurnLog(Sink):
    """The log of one turn."""

    def __init__(
        self, output: Output, turn_id: str, redacted: Stage[Event, Event] | None, max_text_chars: int
    ) -> None:
        self._output = output
        self._logger = output.logger.bind(turn_id=turn_id)
        self._max_text_chars = max_text_chars
        self._redacted = redacted
        if redacted is not None:
            redacted.emit = self._write

    def on_next(self, item: Item | Summary) -> None:
        if type(item) in SUMMARIES:
            self._summarize(item)  # type: ignore[arg-type]
        elif self._redacted is not None:
            self._redacted.feed(item)  # type: ignore[arg-type]
        else:
            self._write(item)  # type: ignore[arg-type]

    def _write(self, item: Event) -> None:
        record = wire.to_json(item)
        name = record.pop("event")
        kind = record.pop("kind", name)
        name = _DELTAS.get(type(item)) or kind
        fields = {_snake(key): self._shortened(value) for key, value in record.items() if key != "turnId"}
        if type(item) is StreamError:
            (self._logger.error if item.is_fatal else self._logger.warning)(name, **fields)
        else:
            self._logger.info(name, **fields)

    def _summarize(self, summary: Summary) -> None:
        fields = structs.asdict(summary)
        fields.pop("gaps", None)
        del fields["turn_id"]
        usage: Usage = fields.pop("usage")
        fields |= {key: value for key, value in structs.asdict(usage).items() if value and key not in _IDS}
        fields["coalescing_ratio"] = summary.coalescing_ratio
        fields = {
            key: round(value, _DIGITS) if isinstance(value, float) else value for key, value in fields.items()
        }
        self._logger.info("round_completed" if type(summary) is RoundSummary else "turn_completed", **fields)

    def _shortened(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > self._max_text_chars:
            return f"{value[: self._max_text_chars]}… ({len(value)} characters)"
        if isinstance(value, dict):
            return {key: self._shortened(member) for key, member in value.items()}
        return [self._shortened(member) for member in value] if isinstance(value, list) else value

    def close(self) -> None:
        if self._redacted is not None:
            self._redacted.finish()
        self._output.close()


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
