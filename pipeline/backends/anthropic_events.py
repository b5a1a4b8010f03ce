"""Anthropic's message events, as the Messages API streams them and the Claude CLI wraps them."""

from typing import Any

import msgspec

from penstock.backends.fields import count, elements, fields, text
from penstock.backends.reader import Record
from penstock.backends.writer import Block, MessageWriter, argument_text
from penstock.events import BlockKind, StreamError, Text, Thinking, ToolCompletion, ToolInvocation, Usage

__all__ = ["DeltaEvent", "MessageEvents", "result_output", "usage_of"]


class Increment(msgspec.Struct, gc=False):
    type: str = ""
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    signature: str | None = None


class DeltaEvent(msgspec.Struct, gc=False):
    """A `content_block_delta`, which nearly every event is; of others, as much as tells that they are not."""

    type: str = ""
    index: int | None = None
    delta: Increment | None = None


_PIECES = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}


class MessageEvents:
    """The messages of one conversation: which block an index means, what kind it is, what is the copy of what.

    With `runs_tools`, the backend runs all its tools itself, not only the server's.
    """

    def __init__(self, writer: MessageWriter, runs_tools: bool = False) -> None:
        self.writer = writer
        self._runs_tools = runs_tools
        self.has_id = False
        self.stop_reason = ""
        self.usage: Record = {}
        self._is_streamed = False
        self._has_calls = False
        self._completed: set[str] = set()
        self._tool_names: dict[str, str] = {}
        self._copied: set[Block] = set()
        self._inputs: dict[int, Any] = {}
        self._opaque: set[int] = set()

    def read_delta(self, event: DeltaEvent) -> bool:
        """Add a delta, if the event is one that adds to a block; else say no."""
        delta, index = event.delta, event.index
        if event.type != "content_block_delta" or delta is None or index is None or index in self._opaque:
            return False
        writer = self.writer
        if delta.text is not None and delta.type == "text_delta":
            writer.write(self._block(index, "text"), delta.text)
        elif delta.partial_json is not None and delta.type == "input_json_delta":
            writer.write(self._block(index, "tool"), delta.partial_json)
        elif delta.thinking is not None and delta.type == "thinking_delta":
            writer.write(self._block(index, "thinking"), delta.thinking)
        elif delta.signature is not None and delta.type == "signature_delta":
            writer.sign(self._block(index, "thinking"), delta.signature)
        else:
            return False
        return True

    def only_piece(self, event: DeltaEvent) -> tuple[str, Block | None]:
        """The key of the piece that a delta, just read, has brought, and the block it went to; or none."""
        key = _PIECES.get(event.delta.type, "") if event.delta is not None else ""
        if event.type != "content_block_delta" or event.index in self._opaque or not key:
            return "", None
        # An empty piece leaves no content: that a block has some must have been noted before.
        return key, self.writer.blocks.get(event.index) if getattr(event.delta, key) else None

    def read(self, event: Record) -> bool:
        """Read any other event; say whether it is known."""
        kind = event.get("type")
        if kind == "content_block_start":
            return self._start_block(event.get("index"), fields(event.get("content_block")))
        if kind == "content_block_stop":
            self._stop_block(event.get("index"))
        elif kind == "message_start":
            self.start(fields(event.get("message")))
        elif kind == "message_delta":
            self.stop_reason = text(fields(event.get("delta")).get("stop_reason")) or self.stop_reason
            self.usage |= {key: value for key, value in fields(event.get("usage")).items() if value is not None}
        elif kind == "message_stop":
            self.stop(self.stop_reason)
        else:
            return kind == "ping"
        return True

    def is_in(self, message_id: str) -> bool:
        """Whether the message under way, or the one just over, is that one; without an id, the one under way."""
        if message_id:
            return message_id == self.writer.message_id
        return self.writer.is_open and not self.has_id

    def start(self, message: Record, is_streamed: bool = True) -> None:
        """Begin a message; the same one again is nothing, another takes the place of one still being streamed."""
        writer = self.writer
        message_id = text(message.get("id"))
        if writer.is_open:
            if message_id and message_id == writer.message_id:
                return
            if self._is_streamed:
                self._abandon()
            else:
                self.stop(self.stop_reason)
        self.has_id = bool(message_id)
        self.stop_reason = ""
        # The output side is a stub here; the true count comes with `message_delta`.
        self.usage = {**fields(message.get("usage")), "output_tokens": 0}
        self._is_streamed = is_streamed
        self._has_calls = False
        self._copied.clear()
        self._completed.clear()
        self._inputs.clear()
        self._opaque.clear()
        writer.start(message_id, text(message.get("model")))

    def _abandon(self) -> None:
        writer = self.writer
        writer.tell(
            StreamError(
                "restarted",
                "the backend began another message before this one ended",
                is_fatal=False,
                message_id=writer.message_id,
                parent_call_id=writer.parent_call_id,
            )
        )
        writer.cut()

    def stop(self, stop_reason: str) -> None:
        """The message is complete; where the backend gives no reason, what it did is the reason."""
        self.stop_reason = stop_reason or ("tool_use" if self._has_calls else "end_turn")
        self.writer.stop(self.stop_reason)

    def add_whole(self, content: Record) -> bool:
        """Add a block that comes whole: the copy of one that was streamed, or the only word of it."""
        writer = self.writer
        message_id, parent = writer.message_id, writer.parent_call_id
        kind = text(content.get("type"))
        if kind == "text":
            said = text(content.get("text"))
            block = self._streamed("text")
            if block is None:
                writer.whole_text(said)
            else:
                writer.copy(block, Text(said, block.index, message_id, parent))
        elif kind in ("thinking", "redacted_thinking"):
            thought = text(content.get("thinking"))
            signature = text(content.get("signature")) or text(content.get("data"))
            block = self._streamed("thinking")
            if block is None:
                writer.whole_thinking(thought, signature)
            else:
                writer.copy(block, Thinking(thought, block.index, message_id, parent, signature))
        elif kind.endswith("tool_use"):
            call_id, name, value = text(content.get("id")), text(content.get("name")), content.get("input") or {}
            is_server_side = self._runs_tools or kind != "tool_use"
            self._has_calls = self._has_calls or kind == "tool_use"
            self._tool_names[call_id] = name
            block = self._streamed("tool", call_id)
            if block is None:
                writer.whole_tool(call_id, name, value, is_server_side=is_server_side)
            else:
                writer.copy(
                    block,
                    ToolInvocation(call_id, name, value, block.index, message_id, parent, False, is_server_side),
                )
        elif kind.endswith("_tool_result"):
            self.complete_call(content)
        else:
            return False
        return True

    def complete_call(self, block: Record) -> None:
        """A tool's result; told a second time in the same message, it is nothing."""
        call_id = text(block.get("tool_use_id"))
        if call_id in self._completed:
            return
        self._completed.add(call_id)
        output = block.get("content")
        is_error = block.get("is_error") is True or text(fields(output).get("type")).endswith("_error")
        writer = self.writer
        writer.tell(
            ToolCompletion(
                call_id,
                result_output(output),
                is_error,
                self._tool_names.pop(call_id, ""),
                message_id=writer.message_id,
                parent_call_id=writer.parent_call_id,
            )
        )

    def _streamed(self, kind: BlockKind, call_id: str = "") -> Block | None:
        """The streamed block that a copy is of: the first of its kind that has none yet."""
        for block in self.writer.blocks.values():
            if block.kind == kind and block not in self._copied and (not call_id or block.call_id == call_id):
                self._copied.add(block)
                return block
        return None

    def _block(self, index: int, kind: BlockKind) -> Block:
        block = self.writer.blocks.get(index)
        if block is None or not block.is_open or block.kind != kind:
            block = self.writer.open(index, kind)
        return block

    def _start_block(self, index: Any, content: Record) -> bool:
        kind = text(content.get("type"))
        if not isinstance(index, int):
            return False
        writer = self.writer
        if kind == "text":
            writer.write(writer.open(index, "text"), text(content.get("text")))
        elif kind in ("thinking", "redacted_thinking"):
            block = writer.open(index, "thinking")
            writer.write(block, text(content.get("thinking")))
            block.signature = text(content.get("signature")) or text(content.get("data"))
        elif kind.endswith("tool_use"):
            call_id, name = text(content.get("id")), text(content.get("name"))
            block = writer.open(index, "tool", call_id, name)
            self._tool_names[call_id] = name
            if self._runs_tools or kind != "tool_use":
                writer.run_by_backend(block)
            if content.get("input"):
                self._inputs[index] = content["input"]
        elif kind.endswith("_tool_result"):
            self.complete_call(content)
        else:
            self._opaque.add(index)
            return False
        return True

    def _stop_block(self, index: Any) -> None:
        if not isinstance(index, int):
            return
        block = self.writer.blocks.get(index)
        whole = self._inputs.pop(index, None)
        if block is not None and block.is_open and whole is not None and not block.has_content:
            self.writer.write(block, argument_text(whole))
        self.writer.close(index)


def result_output(content: Any) -> Any:
    """A tool's result as text where all of it is text, else as it is."""
    parts = [fields(part) for part in elements(content)]
    if parts and all(part.get("type") == "text" for part in parts):
        return "\n".join([text(part.get("text")) for part in parts])
    return "" if content is None else content


def usage_of(usage: Record, message_id: str = "", parent_call_id: str = "", cost_usd: float = 0.0) -> Usage:
    """Anthropic's counts, where the input side comes in three parts that do not overlap."""
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    return Usage(
        count(usage.get("input_tokens")) + cached + written,
        count(usage.get("output_tokens")),
        cached,
        written,
        count(fields(usage.get("output_tokens_details")).get("thinking_tokens")),
        cost_usd,
        message_id,
        parent_call_id,
    )
