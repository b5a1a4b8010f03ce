"""The one event model: what every backend's stream becomes.

Two families, and the difference is the heart of penstock:

* **Deltas** are for eyes. They arrive in pieces and are never persisted.
* **Finals** are the truth. A final that follows its deltas replaces what they built up; it never adds to it.
  A backend that does not stream sends finals alone, and everything downstream works the same.

Events are immutable `msgspec` structs: at 0.06 µs to make they cost half a slotted dataclass and an eighth of a
frozen one. Correlation is by `message_id`, `block_index` (penstock's own, in order of appearance within the
message) and `call_id`; `parent_call_id` names the tool call that started the subagent which is speaking, and is
empty for the main conversation.
"""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

__all__ = [
    "BlockKind",
    "BlockStart",
    "BlockStop",
    "Delta",
    "Event",
    "Final",
    "MessageStart",
    "MessageStop",
    "StreamError",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "ToolCompletion",
    "ToolInputDelta",
    "ToolInvocation",
    "ToolProgress",
    "TurnCompleted",
    "Unknown",
    "Usage",
]

BlockKind: TypeAlias = Literal["text", "thinking", "tool"]


# ── deltas ───────────────────────────────────────────────────────────────────────────────────────────────


class MessageStart(Struct, frozen=True, gc=False):
    """A message begins. `round` counts the model calls of a turn from 1; 0 where no turn is known."""

    message_id: str
    model: str = ""
    turn_id: str = ""
    round: int = 0
    parent_call_id: str = ""


class BlockStart(Struct, frozen=True, gc=False):
    """A block of one kind begins; for a tool, `tool_name` may still be empty."""

    kind: BlockKind
    block_index: int
    message_id: str = ""
    call_id: str = ""
    tool_name: str = ""
    parent_call_id: str = ""


class TextDelta(Struct, frozen=True, gc=False):
    """More visible text. With `replace`, it takes the place of all the block's text so far."""

    text: str
    block_index: int
    message_id: str = ""
    parent_call_id: str = ""
    replace: bool = False


class ThinkingDelta(Struct, frozen=True, gc=False):
    """More thinking. With `replace`, it takes the place of all the block's thinking so far."""

    text: str
    block_index: int
    message_id: str = ""
    parent_call_id: str = ""
    replace: bool = False


class ToolInputDelta(Struct, frozen=True, gc=False):
    """More of a tool call's argument text, exactly as received: the deltas joined are the argument text."""

    json: str
    block_index: int
    call_id: str = ""
    message_id: str = ""
    parent_call_id: str = ""


class ToolProgress(Struct, frozen=True, gc=False):
    """A tool runs: the first one of a call says that execution began, later ones how far it is."""

    call_id: str
    message: str = ""
    tool_name: str = ""
    message_id: str = ""
    parent_call_id: str = ""


class BlockStop(Struct, frozen=True, gc=False):
    """The block is over; every `BlockStart` has exactly one."""

    block_index: int
    message_id: str = ""
    parent_call_id: str = ""


class MessageStop(Struct, frozen=True, gc=False):
    """The message is over. `stop_reason` is the backend's own word, empty where the stream was cut."""

    message_id: str
    stop_reason: str = ""
    parent_call_id: str = ""


# ── finals ───────────────────────────────────────────────────────────────────────────────────────────────


class Text(Struct, frozen=True, gc=False):
    """The whole text of a block. A refusal is text too, and says so."""

    text: str
    block_index: int
    message_id: str = ""
    parent_call_id: str = ""
    is_refusal: bool = False


class Thinking(Struct, frozen=True, gc=False):
    """The whole thinking of a block, with the backend's signature where it signs."""

    text: str
    block_index: int
    message_id: str = ""
    parent_call_id: str = ""
    signature: str = ""


class ToolInvocation(Struct, frozen=True):
    """A complete tool call. `input` is the parsed argument object.

    Arguments that the backend called complete but that are not JSON stay the string they are, with
    `is_malformed` set: never repaired. A call cut off before its end is a `StreamError`, not an invocation.
    `is_server_side` marks a call the backend runs itself: there is nothing for the loop to do.
    """

    call_id: str
    tool_name: str
    input: Any
    block_index: int
    message_id: str = ""
    parent_call_id: str = ""
    is_malformed: bool = False
    is_server_side: bool = False


class ToolCompletion(Struct, frozen=True):
    """A tool's result: text where the tool gave text, else the parsed value."""

    call_id: str
    output: Any = ""
    is_error: bool = False
    tool_name: str = ""
    message_id: str = ""
    parent_call_id: str = ""


class Usage(Struct, frozen=True, gc=False):
    """Token counts as the backend reports them; 0 where it is silent. `input_tokens` includes cached ones."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    message_id: str = ""
    parent_call_id: str = ""


class TurnCompleted(Struct, frozen=True, gc=False):
    """The turn is over. `final_message` is set where a backend (or the turn) names the message to keep."""

    stop_reason: str = ""
    final_message: str | None = None
    turn_id: str = ""


class StreamError(Struct, frozen=True, gc=False):
    """Trouble, in its place in the stream; what came before it stands.

    `is_fatal` is False for trouble the stream survives: a broken record that was skipped, a gap, a retry notice.
    """

    code: str
    message: str = ""
    retryable: bool = False
    retry_after_s: float | None = None
    is_fatal: bool = True
    call_id: str = ""
    message_id: str = ""
    parent_call_id: str = ""


class Unknown(Struct, frozen=True):
    """A backend event nobody knows yet: kept, counted, never fatal."""

    backend: str
    payload: Any


Delta: TypeAlias = (
    MessageStart | BlockStart | TextDelta | ThinkingDelta | ToolInputDelta | ToolProgress | BlockStop | MessageStop
)
Final: TypeAlias = Text | Thinking | ToolInvocation | ToolCompletion | Usage | TurnCompleted | StreamError | Unknown
Event: TypeAlias = Delta | Final
