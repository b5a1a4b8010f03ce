"""What Codex's three outputs share: the tools among its items, errors that are reported once, usage at the end."""

import re
from collections.abc import Iterator

import orjson
from msgspec.structs import replace

from penstock.backends.codex_items import ToolItem, tool_item
from penstock.backends.fields import fields, text
from penstock.backends.reader import Reader, Record
from penstock.backends.trouble import trouble
from penstock.events import StreamError, ToolCompletion, ToolInvocation, Usage

__all__ = ["CodexReader", "reported"]

STATUS = re.compile(r"\bstatus:? (\d{3})\b")


class CodexReader(Reader):
    """A turn of Codex. What the model says after a tool's result is a new message.

    `voice` is the writer of whoever speaks: the main conversation's, unless a subclass hands over to a subagent's.
    """

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self.model = ""
        self.usage: Usage | None = None
        self.held: StreamError | None = None
        self.voice = self.writer
        self._calls: dict[str, ToolInvocation] = {}

    def begin(self) -> None:
        """Open a message of whoever speaks, unless one is open."""
        if not self.voice.is_open:
            self.is_completed = False
            self.voice.start(model=self.model)

    # ── tools ────────────────────────────────────────────────────────────────────────────────────────────

    def tool_started(self, item: Record) -> bool:
        """A tool's item as it stands now, whole; says whether it is a tool's at all."""
        return self._tool(item) is not None

    def tool_completed(self, item: Record) -> bool:
        """A tool's finished item; says whether it is a tool's at all."""
        tool = self._tool(item)
        if tool is None:
            return False
        call = self._calls.pop(text(item.get("id")))
        voice = self.voice
        if not any(block.is_open for block in voice.blocks.values()):
            voice.stop()
        self.tell(
            ToolCompletion(
                call.call_id, tool.output, tool.is_error, call.tool_name, call.message_id, call.parent_call_id
            )
        )
        return True

    def _tool(self, item: Record) -> ToolItem | None:
        tool = tool_item(item)
        if tool is None:
            return None
        call_id = text(item.get("id"))
        known = self._calls.get(call_id)
        if known is None:
            self.begin()
            call = self.voice.whole_tool(call_id, tool.name, tool.input or {}, is_server_side=True)
            self._calls[call_id] = call
        elif tool.input and tool.input != known.input:
            self._calls[call_id] = replace(known, input=tool.input)
            self.tell(self._calls[call_id])
        return tool

    # ── errors ───────────────────────────────────────────────────────────────────────────────────────────

    def hold(self, error: StreamError) -> None:
        """An error that a failed turn may repeat, or a turn may survive: what comes next decides."""
        self.release_held()
        self.held = error

    def release_held(self) -> None:
        """The turn went on after the error that is held: it was a warning."""
        if self.held is not None:
            self.tell(replace(self.held, is_fatal=False))
            self.held = None

    def fail(self, error: StreamError) -> None:
        if self.held is not None and not error.message:
            error = self.held
        self.held = None
        super().fail(error)

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        self.close()
        if self.usage is not None:
            self.tell(self.usage)
            self.usage = None
        super().complete(stop_reason, final_message)

    def finish(self) -> None:
        if self.held is not None and not (self.is_completed or self.is_stopped):
            self.fail(self.held)
        super().finish()


def reported(message: str) -> StreamError:
    """An error of which Codex gives only a message, which may be the provider's JSON document as text."""
    if message.startswith("{"):
        try:
            document = fields(orjson.loads(message))
        except orjson.JSONDecodeError:
            document = {}
        error = fields(document.get("error"))
        if error:
            return trouble(error, document.get("status"))
    status = STATUS.search(message)
    return trouble(message, status.group(1) if status else "")
