"""The tool calls among the output items of the Responses API: what each is called, what goes in, what comes out."""

from typing import Any, NamedTuple

from penstock.backends.fields import fields, text
from penstock.backends.reader import Record
from penstock.backends.writer import parsed_arguments

__all__ = ["ToolCallItem", "is_tool_call", "tool_call_item"]

BOOKKEEPING = {"id", "type", "status", "call_id", "name", "namespace", "caller", "fingerprint"}


class ToolCallItem(NamedTuple):
    """A tool call as its item shows it."""

    name: str
    input: Any
    is_malformed: bool = False
    output: Any = ""
    is_error: bool = False


def is_tool_call(kind: str) -> bool:
    """Whether an item of this type is a tool call."""
    return kind.endswith("_call") or kind in ("mcp_list_tools", "program")


def tool_call_item(item: Record) -> ToolCallItem:
    """The tool call an item stands for; a type that is not known yet is described by what it holds."""
    kind = text(item.get("type"))
    name = text(item.get("name")) or kind.removesuffix("_call")
    if kind in ("function_call", "mcp_call"):
        value, is_malformed = parsed_arguments(text(item.get("arguments")))
        error = item.get("error")
        return ToolCallItem(name, value, is_malformed, error or item.get("output") or "", bool(error))
    if kind == "custom_tool_call":
        return ToolCallItem(name, text(item.get("input")))
    if kind == "code_interpreter_call":
        return ToolCallItem(name, {"code": text(item.get("code"))}, output=item.get("outputs") or "")
    if kind == "web_search_call":
        action = fields(item.get("action"))
        asked = {key: value for key, value in action.items() if key != "sources"}
        return ToolCallItem(
            name, asked, output=action.get("sources") or "", is_error=item.get("status") == "failed"
        )
    if kind == "file_search_call":
        return ToolCallItem(name, {"queries": item.get("queries")}, output=item.get("results") or "")
    if kind == "image_generation_call":
        prompt = item.get("revised_prompt") or item.get("prompt")
        return ToolCallItem(name, {"prompt": prompt} if prompt else {}, output=item.get("result") or "")
    if kind == "mcp_list_tools":
        error = item.get("error")
        asked = {"server_label": item.get("server_label")}
        return ToolCallItem(name, asked, output=error or item.get("tools") or [], is_error=bool(error))
    for whole in ("action", "operation", "arguments"):
        if type(item.get(whole)) is dict:
            return ToolCallItem(name, item[whole], output=item.get("output") or "")
    rest = {key: value for key, value in item.items() if key not in BOOKKEEPING and key != "output"}
    return ToolCallItem(name, rest, output=item.get("output") or "")
