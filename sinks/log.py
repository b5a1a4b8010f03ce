"""Finals, lifecycle and counters as structured log lines."""

from typing import Any

from penstock import wire
from penstock.events import (
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    TurnCompleted,
    Unknown,
    Usage,
)
from penstock.sinks.sink import Item, Sink

__all__ = ["LogSink"]

_COUNTED = {TextDelta: "text_deltas", ThinkingDelta: "thinking_deltas", ToolInputDelta: "tool_input_deltas"}


class LogSink(Sink):
    """One record per message, block, tool and turn through structlog; deltas are only counted.

    `logger` is yours or `structlog.get_logger("penstock")`, so it fits an application that has configured
    structlog. Records are named as on the wire (`text`, `tool_invocation`, `turn_completed`, …) with its fields in
    snake_case. Trouble is logged as a warning, or as an error where it is fatal.
    """

    accepts = frozenset(
        {
            MessageStart,
            MessageStop,
            Text,
            Thinking,
            ToolInvocation,
            ToolCompletion,
            Usage,
            TurnCompleted,
            StreamError,
        }
        | {Unknown, *_COUNTED}
    )

    def __init__(self, logger: Any = None, max_text_chars: int = 2000) -> None:
        self._logger = logger
        self._max_text_chars = max_text_chars
        self._counts: dict[str, int] = {}

    def open(self, turn_id: str) -> "LogSink":
        import structlog  # imported where needed: it is slow to import

        logger = self._logger or structlog.get_logger("penstock")
        opened = LogSink(logger.bind(turn_id=turn_id), self._max_text_chars)
        opened._logger.info("turn_started")
        return opened

    def on_next(self, item: Item) -> None:
        kind = type(item)
        count = _COUNTED.get(kind)
        if count is not None:
            self._counts[count] = self._counts.get(count, 0) + 1
            return
        record = wire.to_json(item)
        name = record.pop("event")
        name = record.pop("kind", name) if name == "stream_delta" else name
        fields = {_snake(key): self._shortened(value) for key, value in record.items() if key != "turnId"}
        if isinstance(item, StreamError):
            (self._logger.error if item.is_fatal else self._logger.warning)(name, **fields)
        elif kind is TurnCompleted:
            self._logger.info(name, **fields, **self._counts)
        else:
            self._logger.info(name, **fields)

    def _shortened(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > self._max_text_chars:
            return f"{value[: self._max_text_chars]}… ({len(value)} characters)"
        return value


def _snake(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
