"""What each backend sends, and that penstock reads it: a made-up stream of the backend that is named.

    python examples/read_any_backend.py ollama
    python examples/read_any_backend.py ollama --raw | penstock run

The streams are as short as their formats allow; `penstock backends` says how each is recognised.
"""

import asyncio
import json
import sys
from typing import Any

from penstock import Pipeline, Settings
from penstock.sinks.choose import output_sinks


def sse(*records: Any) -> str:
    """Server-sent events, named by their `type` where they have one."""
    return "".join(
        (f"event: {record['type']}\n" if "type" in record else "") + f"data: {json.dumps(record)}\n\n"
        for record in records
    )


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def openai_chat() -> str:
    head = {"id": "c-1", "object": "chat.completion.chunk", "model": "m"}
    deltas: list[tuple[Any, str | None]] = [
        ({"role": "assistant", "reasoning_content": "Easy."}, None),
        ({"content": "Hello "}, None),
        ({"content": "there."}, None),
        ({}, "stop"),
    ]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return sse(*chunks) + "data: [DONE]\n\n"


def openai_responses() -> str:
    response = {"id": "r-1", "object": "response", "model": "m", "status": "in_progress", "output": []}
    item = {"id": "msg-1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": "Hello there.", "annotations": []}
    at = {"item_id": "msg-1", "output_index": 0, "content_index": 0}
    done = {**item, "status": "completed", "content": [part]}
    events: list[Any] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": "Hello "},
        {"type": "response.output_text.delta", **at, "delta": "there."},
        {"type": "response.output_text.done", **at, "text": "Hello there."},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": [done]}},
    ]
    return sse(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def _anthropic_events() -> list[Any]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "there."}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
    ]


def anthropic() -> str:
    return sse(*_anthropic_events())


def claude_cli() -> str:
    session = {"session_id": "s", "parent_tool_use_id": None}
    streamed = [{"type": "stream_event", "event": event, **session} for event in _anthropic_events()]
    return lines(
        {"type": "system", "subtype": "init", "session_id": "s", "model": "m", "tools": []},
        *streamed,
        {"type": "result", "subtype": "success", "is_error": False, "result": "Hello there.", "session_id": "s"},
    )


def codex_exec() -> str:
    return lines(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Hello there."}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 4}},
    )


def codex_app_server() -> str:
    at = {"threadId": "t", "turnId": "u"}
    return lines(
        {"method": "turn/started", "params": {"threadId": "t", "turn": {"id": "u", "status": "inProgress"}}},
        {"method": "item/started", "params": {**at, "item": {"type": "agentMessage", "id": "m", "text": ""}}},
        {"method": "item/agentMessage/delta", "params": {**at, "itemId": "m", "delta": "Hello "}},
        {"method": "item/agentMessage/delta", "params": {**at, "itemId": "m", "delta": "there."}},
        {
            "method": "item/completed",
            "params": {**at, "item": {"type": "agentMessage", "id": "m", "text": "Hello there."}},
        },
        {"method": "turn/completed", "params": {"threadId": "t", "turn": {"id": "u", "status": "completed"}}},
    )


def acp() -> str:
    def update(text: str) -> Any:
        said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": said}}

    ended = {"jsonrpc": "2.0", "id": 3, "result": {"stopReason": "end_turn"}}
    return lines(update("Hello "), update("there."), ended)


def gemini_cli() -> str:
    at = {"timestamp": "2026-01-01T00:00:00.000Z"}
    return lines(
        {"type": "init", **at, "session_id": "s", "model": "m"},
        {"type": "message", **at, "role": "assistant", "content": "Hello ", "delta": True},
        {"type": "message", **at, "role": "assistant", "content": "there.", "delta": True},
        {"type": "result", **at, "status": "success", "stats": {"input_tokens": 5, "output_tokens": 4}},
    )


def gemini_api() -> str:
    def chunk(text: str, **more: Any) -> Any:
        content = {"parts": [{"text": text}], "role": "model"}
        return {"candidates": [{"content": content, "index": 0, **more}], "modelVersion": "m", "responseId": "r"}

    return sse(chunk("Hello "), chunk("there.", finishReason="STOP"))


def ollama() -> str:
    def chunk(text: str, **more: Any) -> Any:
        return {"model": "m", "message": {"role": "assistant", "content": text}, "done": False, **more}

    return lines(chunk("Hello "), chunk("there."), chunk("", done=True, done_reason="stop"))


def cursor_cli() -> str:
    def said(text: str, **more: Any) -> Any:
        content = [{"type": "text", "text": text}]
        message = {"role": "assistant", "content": content}
        return {"type": "assistant", "message": message, "session_id": "s", **more}

    return lines(
        {"type": "system", "subtype": "init", "apiKeySource": "login", "session_id": "s", "model": "m"},
        said("Hello ", timestamp_ms=1),
        said("there.", timestamp_ms=2),
        said("Hello there."),
        {"type": "result", "subtype": "success", "is_error": False, "result": "Hello there.", "session_id": "s"},
    )


def text() -> str:
    return "Hello there."


STREAMS = {
    stream.__name__.replace("_", "-"): stream
    for stream in (
        *(openai_chat, openai_responses, anthropic, claude_cli, codex_exec, codex_app_server),
        *(acp, gemini_cli, gemini_api, ollama, cursor_cli, text),
    )
}


async def main(backend: str) -> int:
    raw = STREAMS[backend]().encode()
    chunks = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    async with Pipeline(Settings(backend=backend), sinks=output_sinks()).turn() as turn:
        reply = await turn.round(chunks)
    return 1 if reply.error else 0


if __name__ == "__main__":
    named = [name for name in sys.argv[1:] if name in STREAMS]
    if not named:
        sys.exit(f"usage: read_any_backend.py [--raw] {'|'.join(STREAMS)}")
    if "--raw" in sys.argv:
        print(STREAMS[named[0]](), end="")
    else:
        sys.exit(asyncio.run(main(named[0])))
