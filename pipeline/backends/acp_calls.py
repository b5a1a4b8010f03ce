"""A tool call of the Agent Client Protocol: a snapshot that every update changes in part."""

from typing import Any

from penstock.backends.fields import elements, fields, text
from penstock.backends.reader import Record
from penstock.backends.writer import Block
from penstock.events import ToolInvocation

__all__ = ["CallSnapshot", "plain_text"]


class CallSnapshot:
    """A call as it stands; given fields replace the old ones, missing ones stay."""

    block: Block
    message_id = ""

    def __init__(self, update: Record) -> None:
        self.call_id = text(update.get("toolCallId"))
        self.name = _name(update)
        self.input: Any = None
        self.status = "pending"
        self.content: list[Any] = []
        self.raw_output: Any = None
        self.is_ended = False
        self.told: ToolInvocation | None = None

    def take(self, update: Record) -> None:
        """Replace what the update gives."""
        self.status = text(update.get("status")) or self.status
        if update.get("rawInput") is not None:
            self.input = update["rawInput"]
        if update.get("content") is not None:
            content = update["content"]
            self.content = list(content) if type(content) is list else [content]
        if update.get("rawOutput") is not None:
            self.raw_output = update["rawOutput"]
        if not self.name:
            self.name = _name(update)

    def invocation(self) -> ToolInvocation:
        """The call; the agent runs it itself."""
        value = {} if self.input is None else self.input
        return ToolInvocation(
            self.call_id, self.name, value, self.block.index, self.message_id, is_server_side=True
        )

    def output(self) -> Any:
        """The result: text where there is text, else the raw value, else whatever is shown (a diff, a terminal)."""
        if type(self.raw_output) is str:
            return self.raw_output
        return plain_text(self.content) or self.raw_output or self.content or ""


def _name(update: Record) -> str:
    """The protocol has no tool names: some agents put theirs into `_meta`, all have a title for people."""
    for note in fields(update.get("_meta")).values():
        name = fields(note).get("toolName")
        if type(name) is str:
            return name
    return text(update.get("title")) or text(update.get("kind"))


def plain_text(content: Any) -> str:
    """The text of a content block or of a list of them, each of which may be wrapped as a tool's content is."""
    if type(content) is dict:
        inner = content.get("content")
        return text((inner if type(inner) is dict else content).get("text"))
    return "".join([plain_text(block) for block in elements(content) if type(block) is dict])
