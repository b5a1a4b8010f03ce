"""The envelope Codex spoke before `codex exec --json` had its own: `{"id": …, "msg": {"type": …}}`."""

from base64 import b64decode
from collections.abc import Iterator

from penstock.backends.codex import CodexReader, reported
from penstock.backends.fields import count, fields, text
from penstock.backends.reader import Record
from penstock.backends.writer import Block
from penstock.events import BlockKind, StreamError, Text, Thinking, ToolProgress, Usage

__all__ = ["CodexProtoReader"]

PIECES: dict[str, BlockKind] = {
    "agent_message_delta": "text",
    "agent_reasoning_delta": "thinking",
    "agent_reasoning_raw_content_delta": "thinking",
}

COPIES: dict[str, BlockKind] = {
    "agent_message": "text",
    "agent_reasoning": "thinking",
    "agent_reasoning_raw_content": "thinking",
}

NOT_OUTPUT = {
    "apply_patch_approval_request",
    "background_event",
    "exec_approval_request",
    "get_history_entry_response",
    "plan_update",
    "shutdown_complete",
    "turn_diff",
    "user_message",
}


class CodexProtoReader(CodexReader):
    """`codex proto`: text and thinking in pieces, their full copies later in the same order; tools whole."""

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._not_copied: dict[BlockKind, list[tuple[Block, str]]] = {"text": [], "thinking": []}

    def read(self, record: Record) -> None:
        message = fields(record.get("msg"))
        kind = text(message.get("type"))
        if self.held is not None and kind not in ("error", "task_complete", "turn_aborted"):
            self.release_held()
        if kind in PIECES:
            self._piece(PIECES[kind], text(message.get("delta")))
        elif kind in COPIES:
            self._copy(COPIES[kind], text(message.get("message")) or text(message.get("text")))
        elif kind == "agent_reasoning_section_break":
            self.writer.end_run()
        elif kind == "exec_command_output_delta":
            self.tell(ToolProgress(text(message.get("call_id")), _decoded(message.get("chunk"))))
        elif kind.endswith(("_begin", "_end")):
            done = self.tool_started if kind.endswith("_begin") else self.tool_completed
            if not done(_as_item(message)):
                self.unknown(record)
        elif not self._session(kind, message) and kind not in NOT_OUTPUT:
            self.unknown(record)

    def _piece(self, kind: BlockKind, piece: str) -> None:
        writer = self.writer
        before = writer.running
        self.begin()
        if kind == "text":
            writer.text(piece)
        else:
            writer.thinking(piece)
        block = writer.running
        if block is not None and block is not before:
            self._not_copied[kind].append((block, writer.message_id))

    def _copy(self, kind: BlockKind, copy: str) -> None:
        streamed = self._not_copied[kind]
        if streamed:
            block, message_id = streamed.pop(0)
            final = Text if kind == "text" else Thinking
            self.tell(final(copy, block.index, message_id))
            self.writer.close(block)
            return
        self.begin()
        if kind == "text":
            self.writer.whole_text(copy)
        else:
            self.writer.whole_thinking(copy)

    def _session(self, kind: str, message: Record) -> bool:
        """What is about the turn rather than in it; says whether it was that."""
        if kind == "session_configured":
            self.model = text(message.get("model"))
        elif kind == "task_started":
            self.begin()
        elif kind == "token_count":
            self._count(fields(fields(message.get("info")).get("total_token_usage")))
        elif kind == "task_complete":
            last = message.get("last_agent_message")
            if self.held is not None:
                self.fail(self.held)
            else:
                self.complete("completed", last if isinstance(last, str) else None)
        elif kind == "turn_aborted":
            self.complete("interrupted")
        elif kind == "error":
            self.hold(reported(text(message.get("message"))))
        elif kind in ("stream_error", "warning"):
            self.tell(StreamError("warning", text(message.get("message")), is_fatal=False))
        else:
            return False
        return True

    def _count(self, tokens: Record) -> None:
        if tokens:
            self.usage = Usage(
                count(tokens.get("input_tokens")),
                count(tokens.get("output_tokens")),
                count(tokens.get("cached_input_tokens")),
                reasoning_tokens=count(tokens.get("reasoning_output_tokens")),
            )


def _as_item(message: Record) -> Record:
    """A `…_begin` or `…_end` as the item that later versions send."""
    call = fields(message.get("invocation"))
    result = fields(message.get("result"))
    kind = text(message.get("type")).rpartition("_")[0]
    item = {key: value for key, value in message.items() if value is not None}
    item["id"] = text(message.get("call_id"))
    item["type"] = {"exec_command": "command_execution", "patch_apply": "file_change"}.get(kind, kind)
    if kind == "exec_command":
        printed = text(message.get("stdout")) + text(message.get("stderr"))
        item["aggregated_output"] = text(message.get("aggregated_output")) or printed
    elif kind == "patch_apply":
        item["status"] = text(message.get("stdout")) or text(message.get("stderr"))
    elif kind == "mcp_tool_call":
        failure = result.get("Err")
        item.update(call, result=result.get("Ok"), error={"message": failure} if failure else None)
    return item


def _decoded(chunk: object) -> str:
    """Output is sent as Base64, or as the numbers of its bytes by the oldest versions."""
    try:
        raw = b64decode(chunk) if isinstance(chunk, str) else bytes(chunk)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        return ""
    return str(raw, "utf-8", "replace")
