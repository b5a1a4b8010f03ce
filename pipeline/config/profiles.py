"""The profiles that come with penstock: a name for what a kind of deployment wants."""

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["PROFILES", "Profile"]


class Profile(NamedTuple):
    """What it is for, and the values it sets."""

    summary: str
    values: Mapping[str, Any]


PROFILES: Mapping[str, Profile] = {
    "default": Profile("A person at a terminal, or a pipe: the built-in defaults.", {}),
    "ci": Profile(
        "A job nobody watches: the visible text on standard output, errors as JSON on standard error, no secrets, "
        "and no waiting for a stream that has died.",
        {
            "output": "text",
            "redact": True,
            "first_chunk_timeout_s": 300.0,
            "between_chunks_timeout_s": 300.0,
            "tool_heartbeat_s": 60.0,
            "sinks": [{"type": "log", "level": "warning", "format": "json"}],
        },
    ),
    "gateway": Profile(
        "A server that passes updates on to others: nothing is printed, tool calls stream as they are built, every "
        "turn is logged as JSON, secrets are masked, a dead upstream is given up.",
        {
            "output": "none",
            "redact": True,
            "streaming_tool_events": True,
            "first_chunk_timeout_s": 60.0,
            "between_chunks_timeout_s": 60.0,
            "sinks": [{"type": "log", "level": "info", "format": "json"}],
        },
    ),
    "verbose": Profile(
        "Looking into a stream: no window, every delta a log line on standard error, the text on standard output.",
        {
            "output": "text",
            "window_s": 0.0,
            "streaming_tool_events": True,
            "sinks": [{"type": "log", "level": "trace", "format": "console"}],
        },
    ),
    "chat": Profile(
        "A message box: no thinking and no tools are shown, each round's text overwrites the one before, and only "
        "the final message remains.",
        {"show_thinking": False, "show_tools": False, "rounds": "replace"},
    ),
}
