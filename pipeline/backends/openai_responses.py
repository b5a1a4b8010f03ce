"""OpenAI's Responses API and the gateways that speak it: server-sent events, or one JSON object a line.

The wire repeats every text four times: in pieces, in the part's `.done`, in the item's `.done`, and in the closing
`response.completed`. Here the pieces are the deltas and the first full copy is the final; the later ones only
fill what is missing. Events are correlated by `output_index`: some proxies change `item_id` with every event.
"""

import json
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import msgspec
import orjson

from penstock.backends.fields import count, elements, fields, text
from penstock.backends.reader import Backend, Payload, Reader, Record
from penstock.backends.responses_tools import is_tool_call, tool_call_item
from penstock.backends.trouble import trouble
from penstock.backends.writer import Block
from penstock.events import BlockKind, Text, Thinking, ToolCompletion, ToolInvocation, ToolProgress, Usage

__all__ = ["BACKEND"]

AT_WORK = {"searching", "interpreting", "generating"}
"""States of a tool the backend runs itself that are worth telling."""

FAMILIES = {
    "apply_patch_call_operation_diff",
    "code_interpreter_call",
    "code_interpreter_call_code",
    "content_part",
    "custom_tool_call_input",
    "file_search_call",
    "function_call_arguments",
    "image_generation_call",
    "mcp_call",
    "mcp_call_arguments",
    "mcp_list_tools",
    "output_text",
    "reasoning_summary_part",
    "reasoning_summary_text",
    "reasoning_text",
    "shell_call_command",
    "shell_call_output_content",
    "web_search_call",
}
"""Events whose news, if they have any, come again in the item's `.done`."""


class Delta(msgspec.Struct, gc=False):
    """As much of an event as tells whether it is a piece of text."""

    type: str
    output_index: int
    content_index: int
    delta: str


class OpenAIResponsesReader(Reader):
    """One response is one message and one turn; several in a row are several."""

    backend = "openai-responses"
    _decoder = msgspec.json.Decoder(Delta)

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._whole: set[Hashable] = set()
        self._part: Hashable = None
        self._quoted: set[Hashable] = set()
        self._keys: dict[str, Hashable] = {}
        self._custom_tools: set[str] | None = None
        self._search_id = ""
        self._handlers: dict[str, Callable[[Record], None]] = {
            "response.output_text.delta": self._text_delta,
            "response.output_text.done": self._text_done,
            "response.refusal.delta": self._refusal_delta,
            "response.refusal.done": self._refusal_done,
            "response.reasoning_summary_text.delta": self._summary_delta,
            "response.reasoning_text.delta": self._thought_delta,
            "response.function_call_arguments.delta": self._input_delta,
            "response.mcp_call_arguments.delta": self._input_delta,
            "response.custom_tool_call_input.delta": self._input_delta,
            "response.code_interpreter_call_code.delta": self._code_delta,
            "response.output_item.added": self._added,
            "response.output_item.done": self._done,
            "response.created": self._begin,
            "response.queued": self._begin,
            "response.in_progress": self._begin,
            "response.completed": self._end,
            "response.incomplete": self._end,
            "response.cancelled": self._end,
            "response.failed": self._end,
            "error": self._error,
        }

    def feed(self, item: Payload) -> None:
        try:
            event = self._decoder.decode(item)  # type: ignore[arg-type]
        except (ValueError, TypeError):
            super().feed(item)
            return
        block = self.writer.blocks.get((event.output_index, "text", event.content_index))
        if block is not None and block.is_open and event.type == "response.output_text.delta":
            self.writer.write(block, event.delta)
        else:
            super().feed(item)

    def not_json(self, text: str, error: orjson.JSONDecodeError) -> Any:
        if text.strip() != "[DONE]":
            super().not_json(text, error)

    def read(self, record: Record) -> None:
        kind = record.get("type")
        handler = self._handlers.get(kind) if type(kind) is str else None
        if handler is not None:
            handler(record)
        elif record.get("object") == "response":
            self._begin({"response": record})
            self._end({"response": record})
        elif kind is None and "error" in record:
            self._error(record)
        else:
            self._other(record, text(kind))

    # ── pieces ───────────────────────────────────────────────────────────────────────────────────────────

    def _text_delta(self, record: Record) -> None:
        self._piece("text", (self._key(record), "text", count(record.get("content_index"))), record.get("delta"))

    def _refusal_delta(self, record: Record) -> None:
        block = self._piece(
            "text", (self._key(record), "text", count(record.get("content_index"))), record.get("delta")
        )
        if block is not None and not block.is_refusal:
            block.is_refusal = True
            block.kept = []

    def _summary_delta(self, record: Record) -> None:
        self._think((self._key(record), "summary", count(record.get("summary_index"))), record)

    def _thought_delta(self, record: Record) -> None:
        self._think((self._key(record), "content", count(record.get("content_index"))), record)

    def _think(self, key: Hashable, record: Record) -> None:
        if key != self._part:
            self.writer.close(self._part)
            self._part = key
        self._piece("thinking", key, record.get("delta"))

    def _input_delta(self, record: Record) -> None:
        self._piece("tool", self._key(record), record.get("delta"))

    def _code_delta(self, record: Record) -> None:
        """Code comes bare; as the input it will be, it is a string in an object."""
        key = self._key(record)
        if key not in self._quoted:
            self._quoted.add(key)
            self._piece("tool", key, '{"code":"')
        self._piece("tool", key, json.dumps(text(record.get("delta")), ensure_ascii=False)[1:-1])

    def _piece(self, kind: BlockKind, key: Hashable, piece: Any) -> Block | None:
        if not piece or type(piece) is not str:
            return None
        block = self.writer.blocks.get(key)
        if block is None or not block.is_open:
            block = self.writer.open(key, kind)
        self.writer.write(block, piece)
        return block

    # ── full copies ──────────────────────────────────────────────────────────────────────────────────────

    def _text_done(self, record: Record) -> None:
        self._text(self._key(record), count(record.get("content_index")), text(record.get("text")))

    def _refusal_done(self, record: Record) -> None:
        self._text(
            self._key(record), count(record.get("content_index")), text(record.get("refusal")), is_refusal=True
        )

    def _text(self, index: Hashable, part: int, copy: str, is_refusal: bool = False) -> None:
        key = (index, "text", part)
        if key in self._whole or not copy:
            return
        self._whole.add(key)
        writer = self.writer
        block = writer.blocks.get(key)
        if block is None:
            writer.whole_text(copy, is_refusal)
        else:
            writer.copy(block, Text(copy, block.index, writer.message_id, is_refusal=is_refusal))
            writer.close(key)

    def _thinking(self, index: Hashable, item: Record) -> None:
        """A reasoning item: a block a part, the signature with the last; a signature alone is a block too."""
        writer = self.writer
        thoughts = [
            ((index, place, part), text(fields(thought).get("text")))
            for place in ("summary", "content")
            for part, thought in enumerate(elements(item.get(place)))
        ]
        signature = text(item.get("encrypted_content"))
        if not thoughts:
            writer.whole_thinking("", signature)
        for number, (key, thought) in enumerate(thoughts, start=1):
            signed = signature if number == len(thoughts) else ""
            block = writer.blocks.get(key)
            if block is None:
                writer.whole_thinking(thought, signed)
            else:
                writer.copy(block, Thinking(thought, block.index, writer.message_id, signature=signed))
                writer.close(key)

    # ── items ────────────────────────────────────────────────────────────────────────────────────────────

    def _added(self, record: Record) -> None:
        item = fields(record.get("item"))
        key = self._key(record)
        if is_tool_call(text(item.get("type"))):
            call_id = text(item.get("call_id")) or text(item.get("id"))
            self.writer.open(key, "tool", call_id, tool_call_item(item).name)

    def _done(self, record: Record) -> None:
        self._finish_item(self._key(record), fields(record.get("item")))

    def _finish_item(self, index: Hashable, item: Record) -> None:
        if index in self._whole:
            return
        self._whole.add(index)
        kind = text(item.get("type"))
        if kind == "message":
            for part, content in enumerate(elements(item.get("content"))):
                said = fields(content)
                self._text(index, part, text(said.get("text")))
                self._text(index, part, text(said.get("refusal")), is_refusal=True)
        elif kind == "reasoning":
            self._thinking(index, item)
        elif kind.endswith("_output"):
            call_id = text(item.get("call_id")) or self._search_id
            output = item.get("output") or item.get("tools") or item.get("result") or ""
            self.tell(ToolCompletion(call_id, output, message_id=self.writer.message_id))
        elif is_tool_call(kind):
            self._tool(index, item, kind)
        elif kind:
            self.unknown(item)

    def _tool(self, index: Hashable, item: Record, kind: str) -> None:
        writer = self.writer
        block = writer.blocks.get(index)
        if item.get("status") == "incomplete":
            writer.close(index)  # no call: its arguments never became complete
            return
        if block is not None and block.is_open and index in self._quoted:
            writer.write(block, '"}')
        tool = tool_call_item(item)
        call_id = text(item.get("call_id")) or (block.call_id if block is not None else text(item.get("id")))
        is_server_side = self._runs_itself(item, kind)
        if block is None:
            writer.whole_tool(call_id, tool.name, tool.input, tool.is_malformed, is_server_side)
        else:
            place = (block.index, writer.message_id, "")
            writer.copy(
                block, ToolInvocation(call_id, tool.name, tool.input, *place, tool.is_malformed, is_server_side)
            )
            writer.close(index)
        if kind == "tool_search_call":
            self._search_id = call_id  # its output is an item of its own, without the id
        elif is_server_side and kind != "program":
            self.tell(ToolCompletion(call_id, tool.output, tool.is_error, tool.name, writer.message_id))

    def _runs_itself(self, item: Record, kind: str) -> bool:
        """Calls for the client have a `call_id`; xAI's own tools are custom ones that nobody declared."""
        if kind == "custom_tool_call" and self._custom_tools is not None:
            return text(item.get("name")) not in self._custom_tools
        return kind == "program" or not item.get("call_id")

    def _key(self, record: Record) -> Hashable:
        """What an event's item is known by; some gateways leave the index out of some of its events."""
        index = record.get("output_index")
        if type(index) is int:
            if "item" in record:
                self._keys[text(fields(record["item"]).get("id"))] = index
            return index
        item_id = text(record.get("item_id")) or text(fields(record.get("item")).get("id"))
        return self._keys.setdefault(item_id, item_id)

    # ── responses ────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, record: Record) -> None:
        response = fields(record.get("response"))
        response_id = text(response.get("id"))
        # Only `created` begins another: a proxy that changes ids with every event changes this one too.
        if self.writer.is_open and (
            record.get("type") != "response.created" or response_id == self.writer.message_id
        ):
            return
        self.is_completed = False
        tools = [fields(tool) for tool in elements(response.get("tools"))]
        custom = {text(tool.get("name")) for tool in tools if tool.get("type") == "custom"}
        self._custom_tools = custom if tools else None
        self._forget()
        self.writer.start(response_id, text(response.get("model")))

    def _end(self, record: Record) -> None:
        response = fields(record.get("response"))
        if self.is_completed:
            return
        for index, item in enumerate(elements(response.get("output"))):
            self._finish_item(self._keys.get(text(fields(item).get("id")), index), fields(item))
        reason = text(response.get("status")) or text(record.get("type")).removeprefix("response.")
        usage = _usage(fields(response.get("usage")), self.writer.message_id)
        if reason == "failed":
            if usage is not None:
                self.tell(usage)
            self.fail(trouble(response.get("error")))
            return
        if reason == "incomplete":
            reason = text(fields(response.get("incomplete_details")).get("reason")) or reason
        self.writer.stop(reason)
        if usage is not None:
            self.tell(usage)
        self.complete(reason)

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        super().complete(stop_reason, final_message)
        self._forget()

    def _forget(self) -> None:
        """What is known of the items of one response says nothing about the next."""
        self._whole.clear()
        self._quoted.clear()
        self._keys.clear()
        self._part = None

    def _error(self, record: Record) -> None:
        """Reported here, and not again by the `response.failed` that commonly follows."""
        if not self.is_completed:
            self.fail(trouble(record.get("error") or record))

    def _other(self, record: Record, kind: str) -> None:
        _, _, rest = kind.partition("response.")
        family, _, state = rest.partition(".")
        if state in AT_WORK:
            block = self.writer.blocks.get(self._key(record))
            if block is not None:
                self.tell(ToolProgress(block.call_id, state, block.tool_name, self.writer.message_id))
        elif family not in FAMILIES and kind not in ("ping", "keepalive"):
            self.unknown(record)


def _usage(usage: Record, message_id: str) -> Usage | None:
    if not usage:
        return None
    details = fields(usage.get("input_tokens_details"))
    cost: Any = usage.get("cost")
    return Usage(
        count(usage.get("input_tokens")),
        count(usage.get("output_tokens")),
        count(details.get("cached_tokens")),
        count(details.get("cache_write_tokens")),
        count(fields(usage.get("output_tokens_details")).get("reasoning_tokens")),
        float(cost) if type(cost) in (int, float) else 0.0,
        message_id,
    )


def recognize(record: Record) -> bool:
    """Types that begin with `response.`; a reply that was not streamed."""
    kind = record.get("type")
    if type(kind) is str and kind.startswith("response."):
        return True
    return record.get("object") == "response" and "output" in record


BACKEND = Backend(
    name="openai-responses",
    summary="OpenAI Responses API, and gateways that speak it",
    recognized_by='types "response.…"',
    recognize=recognize,
    reader=OpenAIResponsesReader,
)
