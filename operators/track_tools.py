"""The life of every tool call, for a screen: start, streaming, running, end."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import orjson

from penstock.compact import CompactLine, Formatter, Parameters
from penstock.events import (
    BlockStart,
    Event,
    MessageStart,
    StreamError,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
)
from penstock.growing import GrowingText
from penstock.long_json import parse_json
from penstock.one_line import one_line
from penstock.operators.stage import Operator, Stage
from penstock.tool_results import images_in, json_of, short_result, text_of
from penstock.updates import ToolBlockUpdate, ToolStage

__all__ = ["track_tools"]

CallKey: TypeAlias = tuple[str, str]
BlockKey: TypeAlias = tuple[str, int]


class _Call:
    """A tool call that has not ended."""

    __slots__ = (
        "accumulated", "compact", "has_ended", "has_started", "heard_at", "id", "is_running", "message_id", "name",
        "parameters", "parent_call_id", "progress",
    )  # fmt: skip

    def __init__(self, call_id: str, name: str, message_id: str, parent_call_id: str) -> None:
        self.id = call_id
        self.name = name
        self.message_id = message_id
        self.parent_call_id = parent_call_id
        self.accumulated = GrowingText()
        self.parameters = Parameters()
        self.compact = ""
        self.progress = ""
        self.has_started = False
        self.has_ended = False
        self.is_running = False
        self.heard_at = 0.0

    def write(self, piece: str) -> None:
        self.accumulated.append(piece)
        self.parameters.feed(piece)

    def rewrite(self, arguments: str) -> None:
        self.accumulated = GrowingText()
        self.parameters = Parameters()
        self.write(arguments)

    def has_arguments(self, final: ToolInvocation) -> bool:
        """Whether the argument text says what the final says."""
        if self.parameters.equals(final.input):
            return True
        text = str(self.accumulated)
        return text == final.input if isinstance(final.input, str) else _loads(text) == final.input


def _loads(text: str) -> Any:
    try:
        return parse_json(text)
    except orjson.JSONDecodeError:
        return None


class TrackTools(Stage[Event, "Event | ToolBlockUpdate"]):
    """Passes every event and follows it with the `ToolBlockUpdate`s it causes, in this order for each call:

        start       id and name, on first sight; a call whose name is still to come waits for it
        streaming*  per piece of the arguments: the piece, all of them so far, and one compact line
        running*    execution began (the loop or the backend said so), and on progress; again after `heartbeat_s`
                    of silence, so that a screen can tell slow from dead
        end         the result or the error, exactly once

    Arguments that arrive whole are one `streaming`. A call stays open across rounds, since the loop runs it after
    the message is over. What is open when the turn ends, by completion, error or abort, ends as `interrupted`, and
    before the `TurnCompleted`; so does a call whose id a later message uses for another. Never as a success.

    Linear: a piece costs its own length. The timer runs only while a tool does.
    """

    __slots__ = ("_blocks", "_calls", "_cancel_timer", "_compact", "_ended", "_heartbeat_s")

    ignores_text = True

    def __init__(self, compact: CompactLine, heartbeat_s: float) -> None:
        self._compact = compact
        self._heartbeat_s = heartbeat_s
        self._calls: dict[CallKey, _Call] = {}
        self._blocks: dict[BlockKey, _Call] = {}
        self._ended: dict[CallKey, str] = {}
        """Which message an ended call was of: what still arrives for it is no news."""
        self._cancel_timer: Callable[[], object] | None = None

    def feed(self, item: Event) -> None:
        if type(item) is TurnCompleted:
            self.finish()
        self.emit(item)
        handler = self._handlers.get(type(item))
        if handler is not None:
            handler(self, item)

    # ── while it is being built ──────────────────────────────────────────────────────────────────────────

    def _message_start(self, start: MessageStart) -> None:
        for key in [key for key in self._blocks if key[0] == start.parent_call_id]:
            del self._blocks[key]

    def _block_start(self, start: BlockStart) -> None:
        if start.kind == "tool":
            self._call_of(start, start.tool_name)

    def _call_of(self, event: BlockStart | ToolInputDelta | ToolInvocation, name: str) -> _Call | None:
        """The call an event of its block belongs to, opened where it is new; None where it has ended."""
        block = (event.parent_call_id, event.block_index)
        call = self._blocks.get(block)
        if call is None or (event.call_id and call.id != event.call_id):
            call_id = event.call_id or f"{event.message_id}-call-{event.block_index}"
            call = self._open(call_id, name, event.message_id, event.parent_call_id)
            if call is None:
                return None
            self._blocks[block] = call
        if call.has_ended:
            return None
        if name and not call.has_started:
            call.name = name
            self._start(call)
        return call

    def _open(self, call_id: str, name: str, message_id: str, parent_call_id: str) -> _Call | None:
        key = (parent_call_id, call_id)
        call = self._calls.get(key)
        if call is not None and call.message_id != message_id:
            self._end(call, success=False, error="interrupted")
            call = None
        if call is None:
            if self._ended.get(key) == message_id:
                return None
            call = self._calls[key] = _Call(call_id, name, message_id, parent_call_id)
        return call

    def _start(self, call: _Call) -> None:
        call.has_started = True
        self._tell(call, "start")
        if call.accumulated.length:
            self._streamed(call, str(call.accumulated))

    def _tool_input(self, delta: ToolInputDelta) -> None:
        call = self._call_of(delta, "")
        if call is not None:
            call.write(delta.json)
            if call.has_started:
                self._streamed(call, delta.json)

    def _invocation(self, final: ToolInvocation) -> None:
        call = self._call_of(final, final.tool_name)
        if call is None:
            return
        if not call.accumulated.length or not call.has_arguments(final):
            arguments = json_of(final.input)
            chunk = "" if call.accumulated.length else arguments
            call.rewrite(arguments)
            if call.has_started:
                self._streamed(call, chunk)
        if not call.has_started:
            self._start(call)
        if final.is_server_side:
            self._run(call, "")

    def _streamed(self, call: _Call, chunk: str) -> None:
        call.compact = self._compact(call.name, call.parameters)
        if not call.is_running:
            self._tell(call, "streaming", parameters_chunk=chunk)

    # ── while it runs ────────────────────────────────────────────────────────────────────────────────────

    def _progress(self, progress: ToolProgress) -> None:
        call = self._known(progress)
        if call is not None:
            self._run(call, progress.message)

    def _known(self, event: ToolProgress | ToolCompletion) -> _Call | None:
        """The call an event names; opened where nobody announced it, None where it has ended or has no id."""
        key = (event.parent_call_id, event.call_id)
        call = self._calls.get(key)
        if call is None:
            if key in self._ended or not event.call_id:
                return None
            call = self._calls[key] = _Call(event.call_id, event.tool_name, event.message_id, event.parent_call_id)
        if not call.has_started:
            call.name = call.name or event.tool_name
            self._start(call)
        return call

    def _run(self, call: _Call, message: str) -> None:
        call.is_running = True
        call.progress = one_line(message, 80) or call.progress
        call.heard_at = self.clock.now()
        self._tell(call, "running", short_result=call.progress or None)
        if self._heartbeat_s and self._cancel_timer is None:
            self._cancel_timer = self.clock.call_later(self._heartbeat_s, self._beat)

    def _beat(self) -> None:
        self._cancel_timer = None
        now = self.clock.now()
        running = [call for call in self._calls.values() if call.is_running]
        for call in running:
            # A clock may ring a rounding error early: a beat that then waits for the rest would ring for ever.
            if now - call.heard_at >= self._heartbeat_s - 0.001:
                call.heard_at = now
                self._tell(call, "running", short_result=call.progress or None)
        if running:
            oldest = min(call.heard_at for call in running)
            self._cancel_timer = self.clock.call_later(oldest + self._heartbeat_s - now, self._beat)

    # ── when it is over ──────────────────────────────────────────────────────────────────────────────────

    def _completion(self, completion: ToolCompletion) -> None:
        call = self._known(completion)
        if call is None:
            return
        result = text_of(completion.output)
        short = short_result(result)
        self._end(
            call,
            success=not completion.is_error,
            result=result,
            error=(short or "failed") if completion.is_error else None,
            short_result=short,
            images=images_in(completion.output),
        )

    def _error(self, error: StreamError) -> None:
        call = self._calls.get((error.parent_call_id, error.call_id)) if error.call_id else None
        if call is not None:
            self._end(call, success=False, error=error.message or error.code)

    def _end(self, call: _Call, **outcome: Any) -> None:
        if not call.has_started:
            self._start(call)
        key = (call.parent_call_id, call.id)
        call.has_ended = True
        del self._calls[key]
        self._ended[key] = call.message_id
        self._tell(call, "end", **outcome)
        if self._cancel_timer is not None and not any(open_.is_running for open_ in self._calls.values()):
            self.release()

    def _tell(self, call: _Call, stage: ToolStage, **details: Any) -> None:
        self.emit(
            ToolBlockUpdate(
                call.id,
                call.name or "tool",
                stage,
                call.accumulated.view(),
                compact_params=call.compact,
                message_id=call.message_id,
                parent_call_id=call.parent_call_id,
                **details,
            )
        )

    def finish(self) -> None:
        for call in list(self._calls.values()):
            self._end(call, success=False, error="interrupted")

    def release(self) -> None:
        if self._cancel_timer is not None:
            self._cancel_timer()
            self._cancel_timer = None

    _handlers: ClassVar[dict[type, Any]] = {
        ToolInputDelta: _tool_input,
        BlockStart: _block_start,
        MessageStart: _message_start,
        ToolInvocation: _invocation,
        ToolProgress: _progress,
        ToolCompletion: _completion,
        StreamError: _error,
    }


def track_tools(
    formatters: Mapping[str, Formatter] | None = None, *, heartbeat_s: float = 10.0, width: int = 80
) -> Operator[Event, Event | ToolBlockUpdate]:
    """Each event, followed by what it means for its tool call.

    `formatters` make the compact line of a tool by its name, before those that come with penstock; lines are at
    most `width` cells wide. A running tool is reported again after `heartbeat_s` seconds of silence; 0 means never.
    """
    compact = CompactLine(formatters, width)
    return Operator("track_tools", lambda: TrackTools(compact, heartbeat_s))
