"""OpenAI's Chat Completions, and everybody who speaks it: server-sent events, lines, or one whole reply.

The format has no blocks; text, reasoning and tool calls are told apart by their fields, and vendors differ in
those (`penstock.backends.chat_answer`). A choice beyond the first is a conversation of its own, as a subagent's
is, under `choice-1`, `choice-2`, …
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import orjson

from penstock.backends.chat_answer import Answer, Delta
from penstock.backends.fields import count, fields, string_span
from penstock.backends.reader import Backend, Payload, Reader, Record
from penstock.backends.trouble import trouble
from penstock.backends.typed import TypedReader
from penstock.events import StreamError, Usage

__all__ = ["BACKEND", "OpenAIChatReader"]


class Choice(msgspec.Struct, gc=False):
    delta: Delta | None = None
    finish_reason: str | None = None
    index: int | None = 0
    message: Delta | None = None
    error: Any = None


class Chunk(msgspec.Struct, gc=False):
    choices: list[Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None
    x_groq: dict[str, Any] | None = None


class FirstChunk(Chunk, gc=False):
    """A chunk before the message has begun; only its id counts, because some servers change it with every chunk."""

    id: str | None = None
    model: str | None = None


class OpenAIChatReader(TypedReader[Chunk]):
    """Chunks (or whole replies) to events; `[DONE]` ends the turn, or the end of a stream that said it finished."""

    backend = "openai-chat"
    shape = FirstChunk
    _later = msgspec.json.Decoder(Chunk)

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._main = Answer(self.writer)
        self._answers = {0: self._main}
        self._decode: Any = self._decoder.decode
        self._id = ""
        self._model = ""
        self._usage = Usage()

    def feed(self, item: Payload) -> None:
        try:
            chunk = self._decode(item)
        except (ValueError, TypeError):
            Reader.feed(self, item)
            return
        choices = chunk.choices
        if choices is None:
            Reader.feed(self, item)
            return
        # What nearly every chunk is: one more piece of the first choice's text, and nothing else.
        if type(chunk) is Chunk and len(choices) == 1 and chunk.usage is None and chunk.error is None:
            choice = choices[0]
            delta = choice.delta
            if (
                delta is not None
                and type(delta.content) is str
                and choice.finish_reason is None
                and delta.reasoning_content is None
                and delta.reasoning is None
                and delta.reasoning_details is None
                and delta.tool_calls is None
                and delta.refusal is None
                and delta.function_call is None
                and delta.executed_tools is None
                and not choice.index
                and self._speaking is self.writer
            ):
                self.writer.text(delta.content)
                return
        self.read_shaped(chunk)

    def repeats(self, payload: bytes) -> tuple[int, int, Callable[[str], object]] | None:
        if self.is_completed or self._speaking is not self.writer or not self._main.has_begun:
            return None
        try:
            chunk = self._later.decode(payload)
        except ValueError:
            return None
        choice = chunk.choices[0] if chunk.choices else Choice()
        if (
            choice.delta is None
            or choice.index
            or chunk != Chunk(choices=[Choice(choice.delta, index=choice.index)])
        ):
            return None
        key, block = self._main.only_piece(choice.delta)
        span = string_span(payload, key)
        return None if span is None or block is None else (*span, self.writer.sender(block))

    def read(self, record: Record) -> None:
        """A record that was parsed before, or one without choices: an error, or a count of tokens."""
        if self.is_completed:
            return
        if record.get("choices") is not None:
            super().read(record)
        elif record.get("error"):
            self.fail(trouble(record["error"]))
        elif record.get("object") == "error":
            self.fail(trouble({**record, "object": None}))
        elif isinstance(record.get("usage"), dict):
            self._count(record["usage"])
        else:
            self.unknown(record)

    def read_shaped(self, record: Chunk) -> None:
        if self.is_completed:
            return
        if type(record) is FirstChunk:
            self._id = self._id or record.id or ""
            self._model = self._model or record.model or ""
        for choice in record.choices or ():
            self._read_choice(choice)
        if record.usage is not None:
            self._count(record.usage)
        if record.x_groq is not None:
            self._count(fields(record.x_groq.get("usage")))
        if record.error:
            self.fail(trouble(record.error))

    def _read_choice(self, choice: Choice) -> None:
        answer = self._answer(choice.index or 0)
        if choice.message is not None:
            answer.add_whole(choice.message)
            answer.finish(choice.finish_reason or "stop")
            return
        if choice.delta is not None:
            answer.add(choice.delta)
        if choice.finish_reason == "error" or choice.error:
            self.fail(trouble(choice.error or "the model stopped with an error"))
        elif choice.finish_reason:
            answer.finish(choice.finish_reason)

    def _answer(self, index: int) -> Answer:
        parent_call_id = f"choice-{index}" if index else ""
        writer = self.speaker(parent_call_id)
        answer = self._answers.get(index)
        if answer is None:
            answer = self._answers[index] = Answer(writer)
        if not answer.has_begun:
            answer.has_begun = True
            writer.start(f"{self._id}-{parent_call_id}" if index and self._id else self._id, self._model)
            self._decode = self._later.decode
        return answer

    def _count(self, usage: dict[str, Any]) -> None:
        """Usage comes twice, running, or zeroed at the end: the most of each field is what was used."""
        seen = self._usage
        given = fields(usage.get("prompt_tokens_details"))
        made = fields(usage.get("completion_tokens_details"))
        cached = max(
            count(given.get("cached_tokens")),
            count(usage.get("cached_tokens")),
            count(usage.get("num_cached_tokens")),
            count(usage.get("prompt_cache_hit_tokens")),
        )
        written = count(given.get("cache_write_tokens")) or count(usage.get("cache_creation_input_tokens"))
        reasoning = count(made.get("reasoning_tokens")) or count(usage.get("reasoning_tokens"))
        cost = usage.get("cost")
        self._usage = Usage(
            max(seen.input_tokens, count(usage.get("prompt_tokens"))),
            max(seen.output_tokens, count(usage.get("completion_tokens"))),
            max(seen.cached_tokens, cached),
            max(seen.cache_write_tokens, written),
            max(seen.reasoning_tokens, reasoning),
            max(seen.cost_usd, cost) if isinstance(cost, int | float) else seen.cost_usd,
        )

    def not_json(self, text: str, error: orjson.JSONDecodeError) -> Any:
        if self.is_completed:
            return None
        if text.strip() == "[DONE]":
            self._end()
            return None
        return super().not_json(text, error)

    def unknown(self, payload: Any) -> None:
        if not self.is_completed:
            super().unknown(payload)

    def _end(self) -> None:
        for answer in self._answers.values():
            # Some gateways send no reason at all; what they ended themselves was not cut off.
            answer.finish(answer.stop_reason or "done")
        self.complete(self._main.stop_reason)

    def break_off(self, error: StreamError) -> None:
        for answer in self._answers.values():
            answer.release_calls()
        super().break_off(error)

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        if not self.is_completed:
            self.close()
            self._decode = self._decoder.decode  # leave the short way: what follows the end is not read
            if self._usage != Usage():
                self.tell(msgspec.structs.replace(self._usage, message_id=self.writer.message_id))
        super().complete(stop_reason, final_message)

    def finish(self) -> None:
        begun = [answer for answer in self._answers.values() if answer.has_begun]
        if not self.is_completed and begun and all(answer.stop_reason for answer in begun):
            self._end()
        super().finish()


def recognize(record: Record) -> bool:
    """A chunk or a whole reply, by `choices` that hold a `delta` or a `message`; an error as this API words it."""
    choices = record.get("choices")
    if not isinstance(choices, list):
        error = fields(record.get("error"))
        is_rpc = count(error.get("code")) < 0
        return "message" in error and "status" not in error and "type" not in record and not is_rpc
    if not choices:
        return str(record.get("object", "")).startswith("chat.completion") or "prompt_filter_results" in record
    return all(isinstance(choice, dict) and ("delta" in choice or "message" in choice) for choice in choices)


BACKEND = Backend(
    name="openai-chat",
    summary="OpenAI Chat Completions and compatible servers (vLLM, llama.cpp, OpenRouter, Groq, Mistral, …)",
    recognized_by='objects with "choices" that hold a "delta" or a "message"',
    recognize=recognize,
    reader=OpenAIChatReader,
)
