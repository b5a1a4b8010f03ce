"""Secrets leave the stream before anybody can show or write them."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from penstock.errors import ConfigurationError
from penstock.events import (
    BlockStop,
    Event,
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
    ToolProgress,
    TurnCompleted,
    Unknown,
)
from penstock.operators.secrets import MASK, Redactor, secret_pattern
from penstock.operators.stage import Operator, Stage

__all__ = ["MASK", "redact", "redact_value"]

Key: TypeAlias = tuple[str, str, int]
Piece: TypeAlias = TextDelta | ThinkingDelta | ToolInputDelta


class Redact(Stage[Event, Event]):
    """Replaces secrets by `[redacted]`: in deltas, however they are cut, and in finals, outputs and errors.

        in    the key is sk-a b12… c34… and more
        out   the key is ──────────────[redacted] and more

    Held back is the last word of a block, for as long as it may still be a secret; it leaves with what follows it,
    at the end of its block or message, and on completion and error of the source. Linear; a word longer than the
    limit (`penstock.operators.secrets`) is let go as it comes.
    """

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._open: dict[Key, tuple[Redactor, Piece]] = {}
        self._handlers: dict[type, Any] = {
            BlockStop: self._block_stop,
            MessageStart: self._message,
            MessageStop: self._message,
            Text: lambda final: self.emit(replace(final, text=self._clean(final.text))),
            Thinking: lambda final: self.emit(replace(final, text=self._clean(final.text))),
            ToolInvocation: lambda call: self.emit(replace(call, input=self._clean(call.input))),
            ToolCompletion: lambda completion: self.emit(
                replace(completion, output=self._clean(completion.output))
            ),
            ToolProgress: lambda progress: self.emit(replace(progress, message=self._clean(progress.message))),
            StreamError: lambda error: self.emit(replace(error, message=self._clean(error.message))),
            Unknown: lambda unknown: self.emit(replace(unknown, payload=self._clean(unknown.payload))),
            TurnCompleted: self._turn_completed,
        }

    def feed(self, item: Event) -> None:
        kind = type(item)
        if kind is TextDelta or kind is ThinkingDelta or kind is ToolInputDelta:
            self._delta(item)  # type: ignore[arg-type]
        else:
            self._handlers.get(kind, self.emit)(item)

    def _delta(self, delta: Piece) -> None:
        key = (delta.parent_call_id, delta.message_id, delta.block_index)
        held = self._open.get(key)
        is_new = getattr(delta, "replace", False)
        redactor = Redactor(self._pattern) if held is None or is_new else held[0]
        self._open[key] = (redactor, delta)
        text = redactor.feed(_text_of(delta))
        if text or is_new:
            self.emit(_with_text(delta, text))

    def _block_stop(self, stop: BlockStop) -> None:
        self._release((stop.parent_call_id, stop.message_id, stop.block_index))
        self.emit(stop)

    def _message(self, event: MessageStart | MessageStop) -> None:
        self._release_all(event.parent_call_id)
        self.emit(event)

    def _turn_completed(self, event: TurnCompleted) -> None:
        self.finish()
        self.emit(replace(event, final_message=self._clean(event.final_message)))

    def _clean(self, value: Any) -> Any:
        return redact_value(value, self._pattern)

    def _release(self, key: Key) -> None:
        redactor, delta = self._open.pop(key, (None, None))
        if redactor is not None and delta is not None and (text := redactor.end()):
            if getattr(delta, "replace", False):
                delta = replace(delta, replace=False)
            self.emit(_with_text(delta, text))

    def _release_all(self, parent_call_id: str) -> None:
        for key in [key for key in self._open if key[0] == parent_call_id]:
            self._release(key)

    def finish(self) -> None:
        for key in list(self._open):
            self._release(key)


def _text_of(delta: Piece) -> str:
    return delta.json if type(delta) is ToolInputDelta else delta.text  # type: ignore[union-attr]


def _with_text(delta: Piece, text: str) -> Piece:
    if text == _text_of(delta):
        return delta
    return replace(delta, json=text) if type(delta) is ToolInputDelta else replace(delta, text=text)


def redact_value(value: Any, pattern: re.Pattern[str]) -> Any:
    """The value without secrets: texts, and what lists and objects hold."""
    if isinstance(value, str):
        redactor = Redactor(pattern)
        return redactor.feed(value) + redactor.end()
    if isinstance(value, dict):
        return {redact_value(key, pattern): redact_value(member, pattern) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [redact_value(member, pattern) for member in value]
    return value


def redact(patterns: Iterable[str] = ()) -> Operator[Event, Event]:
    """Replace API keys of known shapes, bearer tokens and what matches `patterns` by `[redacted]`.

    A pattern is a regular expression that is looked for within a word: a run of the characters keys are made of,
    without white space, quotes and brackets (`penstock.operators.secrets`).
    """
    try:
        pattern = secret_pattern(tuple(patterns))
    except re.error as error:
        raise ConfigurationError(f"the pattern {error.pattern!r} is no regular expression: {error}") from error
    return Operator("redact", lambda: Redact(pattern))
