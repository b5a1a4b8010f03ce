"""penstock: the output of models and coding agents as a calm, exact stream.

    async with Pipeline(sinks=[TerminalSink()]).turn() as turn:
        reply = await turn.round(await client.chat.completions.create(..., stream=True))

Everything public is here, in `penstock.operators` and in `penstock.sinks`; the rest may change.
"""

from penstock.bridge import from_async_iterable, to_async_iterable
from penstock.config import load_pipeline
from penstock.errors import (
    ConfigurationError,
    PenstockError,
    SourceFailed,
    TurnClosed,
    UnknownBackend,
    UsageError,
)
from penstock.events import (
    BlockStart,
    BlockStop,
    Delta,
    Event,
    Final,
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
    Usage,
)
from penstock.messages import Message, Messages, MessageState, TextEntry, ThinkingEntry, ToolEntry
from penstock.pipeline import Pipeline
from penstock.reply import Reply, TurnResult
from penstock.round import Round
from penstock.settings import Settings
from penstock.sync_turn import SyncTurn
from penstock.tool_block import ToolBlock
from penstock.turn import Turn
from penstock.updates import (
    AssistantStreamingToolCall,
    AssistantUpdate,
    Completed,
    FinalMessageStart,
    MessagesChanged,
    ThinkingUpdate,
    ToolBlockUpdate,
    Update,
)

__version__ = "0.1.0"

__all__ = [
    "AssistantStreamingToolCall",
    "AssistantUpdate",
    "BlockStart",
    "BlockStop",
    "Completed",
    "ConfigurationError",
    "Delta",
    "Event",
    "Final",
    "FinalMessageStart",
    "Message",
    "MessageStart",
    "MessageState",
    "MessageStop",
    "Messages",
    "MessagesChanged",
    "PenstockError",
    "Pipeline",
    "Reply",
    "Round",
    "Settings",
    "SourceFailed",
    "StreamError",
    "SyncTurn",
    "Text",
    "TextDelta",
    "TextEntry",
    "Thinking",
    "ThinkingDelta",
    "ThinkingEntry",
    "ThinkingUpdate",
    "ToolBlock",
    "ToolBlockUpdate",
    "ToolCompletion",
    "ToolEntry",
    "ToolInputDelta",
    "ToolInvocation",
    "ToolProgress",
    "Turn",
    "TurnClosed",
    "TurnCompleted",
    "TurnResult",
    "Unknown",
    "UnknownBackend",
    "Update",
    "Usage",
    "UsageError",
    "__version__",
    "from_async_iterable",
    "load_pipeline",
    "to_async_iterable",
]
