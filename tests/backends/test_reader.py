"""What every reader of a backend does with input that is not as it should be."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_balance, check_takes, push, through_rx
from reading import errors, one, only, said

from penstock.backends.reader import Backend, Reader, Record
from penstock.events import MessageStop, StreamError, TurnCompleted
from penstock.operators.frame_error import FrameError
from penstock.operators.normalize import normalize

CHAT: list[Any] = [
    {
        "id": "c",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "delta": {
                    "content": "a",
                    "reasoning": "b",
                    "reasoning_details": [{"text": "b", "signature": "s"}],
                    "refusal": "r",
                    "tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": "{}"}}],
                    "executed_tools": [{"index": 0, "type": "s", "arguments": "{}", "output": "o"}],
                },
                "finish_reason": None,
            }
        ],
        "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}, "cost": 0.1},
    },
    {"choices": [{"index": 0, "message": {"content": [{"type": "text", "text": "a"}]}, "finish_reason": "stop"}]},
    {"error": {"code": 429, "message": "m", "metadata": {"headers": {"retry-after": "1"}}}},
]
ANTHROPIC: list[Any] = [
    {"type": "message_start", "message": {"id": "m", "model": "m", "usage": {"input_tokens": 1}}},
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": "s"},
    },
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "server_tool_use", "id": "t", "name": "f"},
    },
    {"type": "content_block_start", "index": 2, "content_block": {"type": "x_tool_result", "tool_use_id": "t"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "a"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "a"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "m"}},
]
CLAUDE: list[Any] = [
    *({"type": "stream_event", "event": event, "parent_tool_use_id": "p"} for event in ANTHROPIC),
    {
        "type": "assistant",
        "message": {"id": "m", "content": [{"type": "tool_use", "id": "p", "name": "f", "input": {}}]},
    },
    {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "p", "content": [{"text": "a"}]}]},
    },
    {"type": "system", "subtype": "api_retry", "error": "e", "error_status": 529, "retry_delay_ms": 1},
    {"type": "tool_progress", "tool_use_id": "p"},
    {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "result": "r",
        "usage": {"input_tokens": 1},
        "errors": ["e"],
    },
]
TEMPLATES = {"openai-chat": CHAT, "anthropic": ANTHROPIC, "claude-cli": CLAUDE}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "p", "text"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def spoilt(draw: st.DrawFn, template: Any) -> Any:
    """The record with one of its values, anywhere, replaced by any other."""
    if isinstance(template, dict) and template and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(template)))
        return {**template, key: draw(spoilt(template[key]))}
    if isinstance(template, list) and template and draw(st.integers(0, 4)):
        return [draw(spoilt(template[0])), *template[1:]]
    return draw(json_values)


@pytest.mark.parametrize("backend", TEMPLATES)
@settings(max_examples=150)
@given(data=st.data())
def test_records_of_any_wrong_shape_never_raise_and_never_lose_balance(backend: str, data: st.DataObject) -> None:
    records = st.sampled_from(TEMPLATES[backend])
    stream = data.draw(st.lists(records | records.flatmap(spoilt), max_size=8))
    as_bytes = push(normalize(backend), [orjson.dumps(record) for record in stream])
    check_balance(as_bytes)
    assert only(TurnCompleted, as_bytes)
    records_only = [record for record in stream if isinstance(record, dict)]
    check_balance(push(normalize(backend), records_only))


@pytest.mark.parametrize("backend", TEMPLATES)
@given(payloads=st.lists(st.binary(max_size=12) | st.text(max_size=12), max_size=4))
def test_bytes_of_any_kind_never_raise(backend: str, payloads: list[bytes | str]) -> None:
    events = push(normalize(backend), payloads)
    check_balance(events)
    assert len(only(TurnCompleted, events)) == 1


class EchoReader(Reader):
    backend = "echo"

    def read(self, record: Record) -> None:
        self.speaker(str(record.get("who", ""))).text(str(record["say"]))


ECHO = Backend("echo", "", "", lambda record: True, EchoReader)


def test_bytes_that_could_not_be_framed_are_told_in_their_place() -> None:
    events = push(normalize(ECHO), [{"say": "a"}, FrameError("too_long", "skipped 9 bytes"), {"say": "b"}])
    skipped, _truncated = only(StreamError, events)
    assert (skipped.code, skipped.is_fatal) == ("too_long", False)
    assert said(events) == "ab"


def test_a_fatal_error_from_before_the_reader_ends_the_turn_once() -> None:
    late = StreamError("silent", "nothing came for 30 s", retryable=True)
    events = push(normalize(ECHO), [{"say": "a"}, late])
    assert errors(events) == ["silent"]
    assert one(StreamError, events).message_id == "message-1"
    assert one(MessageStop, events).stop_reason == ""
    assert one(TurnCompleted, events).stop_reason == "error"


def test_speakers_keep_apart_and_all_are_closed_at_the_end() -> None:
    says = [{"say": "a"}, {"say": "x", "who": "sub"}, {"say": "b"}, {"say": "y", "who": "sub"}]
    events = push(normalize(ECHO), says)
    check_balance(events)
    assert (said(events), said(events, "sub")) == ("ab", "xy")


def test_message_ids_are_drawn_from_one_place_by_all_subscriptions() -> None:
    operator = normalize(ECHO, iter(["one", "two"]))
    assert one(MessageStop, push(operator, [{"say": "a"}])).message_id == "one"
    assert one(MessageStop, push(operator, [{"say": "a"}])).message_id == "two"


@pytest.mark.parametrize("backend", TEMPLATES)
def test_state_belongs_to_a_subscription(backend: str) -> None:
    operator = normalize(backend)
    payloads = [orjson.dumps(record) for record in TEMPLATES[backend]]
    assert through_rx(operator, payloads) == through_rx(operator, payloads) == push(normalize(backend), payloads)


def _chat_chunks(count: int) -> list[bytes]:
    return [orjson.dumps({"choices": [{"index": 0, "delta": {"content": "word "}}]})] * count


def _subagent_lines(count: int) -> list[bytes]:
    lines: list[dict[str, Any]] = []
    for number in range(count // 2):
        call = f"task-{number}"
        block = {"type": "text", "text": "x"}
        lines.append(
            {"type": "assistant", "message": {"id": f"m-{number}", "content": [block]}, "parent_tool_use_id": call}
        )
        result = {"type": "tool_result", "tool_use_id": call, "content": "done"}
        lines.append({"type": "user", "message": {"content": [result]}, "parent_tool_use_id": None})
    return [orjson.dumps(line) for line in lines]


@pytest.mark.parametrize(("backend", "payloads"), [("openai-chat", _chat_chunks), ("claude-cli", _subagent_lines)])
def test_ten_times_the_input_takes_about_ten_times_as_long(
    backend: str, payloads: Callable[[int], list[bytes]]
) -> None:
    small, large = payloads(2_000), payloads(20_000)
    check_takes(lambda: push(normalize(backend), large), lambda: push(normalize(backend), small), at_most=14)
