"""The tools among Codex's thread items, the same for `codex exec` (snake_case) and the app-server (camelCase)."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.backends.fields import fields, text
from penstock.backends.reader import Record

__all__ = ["ToolItem", "snake_case", "tool_item"]

FAILED = {"failed", "declined", "errored"}


class ToolItem(NamedTuple):
    """A tool call as its item shows it; `output` counts once the item is complete."""

    name: str
    input: Any
    output: Any
    is_error: bool


@lru_cache(maxsize=512)
def snake_case(name: str) -> str:
    """`commandExecution` as `command_execution`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def tool_item(item: Record) -> ToolItem | None:
    """The tool call an item stands for; None where it is no tool's."""
    kind = snake_case(text(item.get("type")))
    describe = TOOLS.get(kind)
    if describe is None:
        return None
    plain = {snake_case(key): value for key, value in item.items()}
    name, arguments, output = describe(kind, plain)
    exit_code = plain.get("exit_code")
    is_error = (
        text(plain.get("status")) in FAILED
        or (type(exit_code) is int and exit_code != 0)
        or bool(plain.get("error"))
        or plain.get("success") is False
    )
    return ToolItem(name, arguments, output, is_error)


# ── how each kind is called, what goes in and what comes out ─────────────────────────────────────────────

Described = tuple[str, Any, Any]


def _command(kind: str, item: Record) -> Described:
    return kind, _given(item, "command", "cwd"), text(item.get("aggregated_output"))


def _file_change(kind: str, item: Record) -> Described:
    return kind, _given(item, "changes"), text(item.get("status"))


def _mcp(_kind: str, item: Record) -> Described:
    error = fields(item.get("error")).get("message")
    result = fields(item.get("result"))
    structured = result.get("structured_content") or result.get("structuredContent")
    return text(item.get("tool")), item.get("arguments"), error or structured or _plain(result.get("content"))


def _dynamic(_kind: str, item: Record) -> Described:
    return text(item.get("tool")), item.get("arguments"), _plain(item.get("content_items"))


def _collab(_kind: str, item: Record) -> Described:
    arguments = _given(item, "prompt", "receiver_thread_ids", "model")
    return snake_case(text(item.get("tool"))), arguments, item.get("agents_states") or ""


def _web_search(kind: str, item: Record) -> Described:
    return kind, _given(item, "query", "action"), item.get("results") or ""


def _todo_list(kind: str, item: Record) -> Described:
    return kind, _given(item, "items"), ""


def _image_view(kind: str, item: Record) -> Described:
    return kind, _given(item, "path"), ""


def _image_generation(kind: str, item: Record) -> Described:
    return kind, {"prompt": item.get("revised_prompt")}, item.get("failure") or text(item.get("result"))


def _sleep(kind: str, item: Record) -> Described:
    return kind, _given(item, "duration_ms"), ""


TOOLS: dict[str, Callable[[str, Record], Described]] = {
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _mcp,
    "dynamic_tool_call": _dynamic,
    "collab_tool_call": _collab,
    "collab_agent_tool_call": _collab,
    "web_search": _web_search,
    "todo_list": _todo_list,
    "image_view": _image_view,
    "image_generation": _image_generation,
    "sleep": _sleep,
}


def _given(item: Record, *names: str) -> Record:
    return {name: item[name] for name in names if item.get(name) is not None}


def _plain(content: Any) -> Any:
    """The text of a list of content parts, where all of them are text; else the list."""
    if type(content) is not list:
        return content or ""
    parts = [fields(part) for part in content]
    if all(type(part.get("text")) is str for part in parts):
        return "\n".join([part["text"] for part in parts])
    return content
