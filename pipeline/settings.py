"""What a deployment can set, with its defaults. `penstock.config` reads them from files and the environment."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a pipeline. Times are in seconds and 0 turns a time off."""

    backend: str = "auto"
    """Whose stream it is: a name that `penstock backends` lists, or `auto`."""

    markup: str = "default"
    """The model family whose thinking and tool markup is taken out of the text; `none` leaves text as it is."""

    extra_tags: tuple[str, ...] = ()
    """Thinking tags of one's own, by name: `reasoning` takes `<reasoning>…</reasoning>` out of the text."""

    implicit_thinking: bool = False
    """The prompt template opened the thinking block: text is thinking until the closing tag."""

    keep_markup_in_code: bool = True
    """Markup quoted in inline code or a fence is content and stays."""

    deltas: Literal["delta", "accumulated", "mixed"] = "delta"
    """How the source sends text: increments, the whole text so far each time, or now one and now the other."""

    tool_engine: Literal["native", "tags", "structured"] = "native"
    """Where tool calls come from: the backend's own events, markup in the text, or a structured document."""

    reorder_window_items: int = 0
    """How many records that come too early wait for those before them, by `sequence_number`; 0 means none."""

    streaming_tool_events: bool = False
    """Also emit `AssistantStreamingToolCall` for every raw argument delta."""

    window_s: float = 0.05
    """At most one update an interval; 0 passes every chunk as it comes."""

    tool_heartbeat_s: float = 10.0
    """A running tool is reported again after so much silence; 0 means never."""

    first_chunk_timeout_s: float = 0.0
    """The longest wait for the first content of a round; keep-alives do not count; 0 means no limit."""

    between_chunks_timeout_s: float = 0.0
    """The longest silence between two pieces of content; keep-alives do not count; 0 means no limit."""

    max_record_bytes: int = 64 * 1024 * 1024
    """A record larger than this is dropped and reported; 0 means no limit."""

    show_thinking: bool = True
    """Thinking reaches the screens (`ThinkingUpdate`); the events themselves are always there."""

    show_tools: bool = True
    """Tool calls reach the screens (`ToolBlockUpdate`); the events themselves are always there."""

    redact: bool = False
    """Secrets are masked for every sink and the message state: API keys of known shapes, bearer tokens and
    `redact_patterns`. What a round returns to the loop stays as the model wrote it."""

    redact_patterns: tuple[str, ...] = ()
    """Regular expressions of further secrets, each within one word."""

    sink_max_items: int = 256
    """How many items wait for a slow sink before deltas are given up for their finals; 0 keeps finals alone."""

    sink_max_chars: int = 1024 * 1024
    """How much text waits for a slow sink before deltas are given up for their finals; 0 keeps finals alone."""

    sink_close_timeout_s: float = 5.0
    """How long a slow sink may take to read the rest when the turn is over; 0 means not at all."""
