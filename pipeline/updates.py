"""What a screen needs: the updates that follow from events, ready to show.

Sinks receive one ordered stream: each coalesced event (`penstock.events`), followed by the updates it causes.
Accumulated texts are views (`penstock.growing`): they cost nothing until somebody reads them, so that carrying the
whole message in every update does not make a long message quadratic.
"""

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from penstock.growing import TextView

if TYPE_CHECKING:
    from penstock.messages import Messages

__all__ = [
    "AssistantStreamingToolCall",
    "AssistantUpdate",
    "Completed",
    "FinalMessageStart",
    "MessagesChanged",
    "ThinkingUpdate",
    "ToolBlockUpdate",
    "ToolStage",
    "Update",
]

ToolStage: TypeAlias = Literal["start", "streaming", "running", "end"]


class ThinkingUpdate(Struct, frozen=True, gc=False):
    """The latest chunk before the final message; it takes the place of the one before."""

    content: str


class FinalMessageStart(Struct, frozen=True, gc=False):
    """Assistant text begins: the thinking area is cleared. Once a turn."""


class AssistantUpdate(Struct, frozen=True, gc=False):
    """The assistant's text so far. `chunk` is what is new; with `is_new`, it overwrites what was shown before."""

    accumulated: TextView
    chunk: str = ""
    is_new: bool = False
    message_id: str = ""

    @property
    def content(self) -> str:
        """The accumulated text, joined when first read."""
        return str(self.accumulated)


class Completed(Struct, frozen=True, gc=False):
    """The turn is over: the streaming area is cleared and only `message` remains."""

    message: str
    reason: str = ""
    turn_id: str = ""


class ToolBlockUpdate(Struct, frozen=True, gc=False):
    """A tool call's life: `start`, `streaming` per chunk of parameters, `running`, and `end` exactly once."""

    id: str
    name: str
    stage: ToolStage
    accumulated: TextView
    parameters_chunk: str = ""
    compact_params: str = ""
    result: str | None = None
    success: bool | None = None
    error: str | None = None
    short_result: str | None = None
    images: tuple[str, ...] = ()
    message_id: str = ""
    parent_call_id: str = ""

    @property
    def parameters(self) -> str:
        """The argument text so far, exactly as received; joined when first read."""
        return str(self.accumulated)


class AssistantStreamingToolCall(Struct, frozen=True, gc=False):
    """A tool call being built: the raw delta of its arguments. Joined, the deltas are the argument text."""

    tool_call_id: str
    tool_name: str
    arguments: str
    is_complete: bool = False
    message_id: str = ""


class MessagesChanged(Struct, frozen=True):
    """The conversation as it is now: an immutable snapshot that shares structure with the ones before."""

    messages: "Messages"


Update: TypeAlias = (
    ThinkingUpdate
    | FinalMessageStart
    | AssistantUpdate
    | Completed
    | ToolBlockUpdate
    | AssistantStreamingToolCall
    | MessagesChanged
)
