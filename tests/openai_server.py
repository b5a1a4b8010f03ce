"""A small OpenAI-compatible server on loopback, speaking real HTTP: what it answers is scripted by the test.

    with OpenAIServer(chat("Hello"), limited(retry_after_s=1)) as server:
        client = server.client()

Answers are given in order, one a request. `server.requests` has what was asked; `server.has_hung_up` is set
when a client went away before an answer that never ends.
"""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import openai

_SSE = {"content-type": "text/event-stream"}
_REASONS = {200: "OK", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass
class Answer:
    """What one request gets. `ending` says how it ends: whole, cut off, or never (until the client hangs up)."""

    chunks: list[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(_SSE))
    ending: str = "whole"


# ── answers of the chat endpoint ─────────────────────────────────────────────────────────────────────────


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    record = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "test-model",
        "choices": [choice],
    }
    return _event(record)


def chat(*texts: str, calls: tuple[tuple[str, str, str], ...] = (), ending: str = "whole") -> Answer:
    """Text piece by piece, then tool calls (id, name, argument text), each argument text in two pieces."""
    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": text}) for text in texts)]
    for index, (call_id, name, arguments) in enumerate(calls):
        half = len(arguments) // 2
        head = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": ""}}
        chunks.append(chunk({"tool_calls": [head]}))
        chunks += [
            chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in (arguments[:half], arguments[half:])
        ]
    if ending == "whole":
        chunks += [chunk({}, "tool_calls" if calls else "stop"), b"data: [DONE]\n\n"]
    return Answer(chunks, ending=ending)


def trouble_inside(*texts: str, code: str = "rate_limit_exceeded", message: str = "slow down") -> Answer:
    """Text, then an error told inside the stream."""
    error = {"error": {"code": code, "type": code, "message": message}}
    return Answer([*(chunk({"content": text}) for text in texts), _event(error)])


def limited(retry_after_s: float = 1.0) -> Answer:
    """429, with the time to wait."""
    body = json.dumps({"error": {"code": "rate_limit_exceeded", "message": "slow down"}}).encode()
    headers = {"content-type": "application/json", "retry-after": f"{retry_after_s:g}"}
    return Answer([body], status=429, headers=headers)


# ── answers of the responses endpoint ────────────────────────────────────────────────────────────────────


def response(*texts: str, calls: tuple[tuple[str, str, str], ...] = (), ending: str = "whole") -> Answer:
    """The same, as events of the Responses API."""
    events = list(_response_events(texts, calls))
    if ending != "whole":
        events = [event for event in events if event["type"] not in _LAST]
    chunks = []
    for number, event in enumerate(events):
        event["sequence_number"] = number
        chunks.append(b"event: " + event["type"].encode() + b"\n" + _event(event))
    return Answer(chunks, ending=ending)


_LAST = (
    "response.completed",
    "response.output_item.done",
    "response.output_text.done",
    "response.content_part.done",
)


def _response_events(texts: tuple[str, ...], calls: tuple[tuple[str, str, str], ...]) -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "model": "test-model",
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    output: list[dict[str, Any]] = []
    yield {"type": "response.created", "response": dict(state)}
    if texts:
        at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        part = {"type": "output_text", "text": "", "annotations": []}
        whole = {**part, "text": "".join(texts)}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        yield {"type": "response.content_part.added", **at, "part": part}
        for text in texts:
            yield {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}
        yield {"type": "response.output_text.done", **at, "text": whole["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": whole}
        output.append({**item, "status": "completed", "content": [whole]})
        yield {"type": "response.output_item.done", "output_index": 0, "item": output[-1]}
    for index, (call_id, name, arguments) in enumerate(calls, len(output)):
        call = {"id": f"fc_{index}", "type": "function_call", "call_id": call_id, "name": name}
        place = {"item_id": call["id"], "output_index": index}
        yield {"type": "response.output_item.added", "output_index": index, "item": {**call, "arguments": ""}}
        yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
        yield {"type": "response.function_call_arguments.done", **place, "name": name, "arguments": arguments}
        output.append({**call, "arguments": arguments, "status": "completed"})
        yield {"type": "response.output_item.done", "output_index": index, "item": output[-1]}
    yield {"type": "response.completed", "response": {**state, "status": "completed", "output": output}}


def _event(record: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(record, ensure_ascii=False).encode() + b"\n\n"


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────


class OpenAIServer:
    """Listens in a thread of its own, so that synchronous clients and child processes can use it too."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.has_hung_up = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="openai server")

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs in its environment to talk to this server."""
        return {"OPENAI_BASE_URL": self.base_url, "OPENAI_API_KEY": "none", "OPENAI_MODEL": "test-model"}

    def client(self, **options: Any) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.base_url, api_key="none", max_retries=0, **options)

    def async_client(self, **options: Any) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=self.base_url, api_key="none", max_retries=0, **options)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._talk(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._answer(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        self.requests.append({"path": head[0].split()[1], **json.loads(body or b"{}")})
        answer = self.answers.pop(0) if self.answers else Answer([b"{}"], 404, {"content-type": "application/json"})
        headers = {**answer.headers, "transfer-encoding": "chunked"}
        lines = [f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for piece in answer.chunks:
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if answer.ending == "cut":
            return False
        if answer.ending == "never":
            await reader.read(1)  # nothing more is asked on this connection: this is its end
            self.has_hung_up.set()
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
