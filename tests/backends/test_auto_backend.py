"""`backend="auto"`: the format is found from the first payloads, or the user is told what it could be."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from conftest import recordings
from laws import check_balance, merged, push
from reading import errors, one, only, read_bytes, said

from penstock.backends import auto
from penstock.backends.auto import AutoReader
from penstock.backends.reader import Backend
from penstock.backends.registry import BUILT_IN, backend_named
from penstock.events import Event, StreamError, TurnCompleted, Unknown
from penstock.operators.frame import frame
from penstock.operators.frame_error import FrameError
from penstock.operators.normalize import normalize

CHAT = [
    {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1}},
]
NOISE: list[Any] = [
    b"\x1b[33mnpm warn\x1b[0m deprecated",
    b"[12:00] started",
    {"level": "info", "msg": "ready"},
    b'"text"',
    b"3",
]

FILES = recordings(*{*BUILT_IN, "anthropic-messages"} - {"text", "anthropic"})


def guess(payloads: list[Any]) -> tuple[list[str], list[Event]]:
    chosen: list[str] = []
    events = push(normalize("auto", on_chosen=chosen.append), payloads)
    check_balance(events)
    return chosen, events


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_recording_is_recognised_and_read_as_if_it_had_been_named(file: Path) -> None:
    backend = {"anthropic-messages": "anthropic"}.get(file.parent.name, file.parent.name)
    chosen: list[str] = []
    events = push(frame() | normalize("auto", on_chosen=chosen.append), [file.read_bytes()])
    assert chosen == [backend]
    assert merged(events) == merged(read_bytes(backend, [file.read_bytes()]))


def test_it_says_which_backend_it_chose() -> None:
    chain = normalize("auto").chain()
    (reader,) = chain.stages
    assert isinstance(reader, AutoReader)
    reader.emit = lambda event: None
    assert reader.chosen == ""
    chain.feed(orjson.dumps(CHAT[0]))
    assert reader.chosen == "openai-chat"


def test_noise_before_the_stream_is_passed_to_the_backend_that_is_chosen() -> None:
    chosen, events = guess([*NOISE, *CHAT])
    assert chosen == ["openai-chat"]
    assert said(events) == "Hi"
    assert errors(events) == ["bad_json", "bad_json"]
    assert [unknown.payload for unknown in only(Unknown, events)] == [NOISE[2], "text", 3]


def test_nothing_is_told_before_the_choice_and_everything_after_it() -> None:
    reader = AutoReader()
    out: list[Event] = []
    reader.emit = out.append
    for noise in NOISE:
        reader.feed(noise)
        reader.settle()
    assert not out
    reader.feed(orjson.dumps(CHAT[0]))
    reader.settle()
    assert said(out) == "Hi"


def test_neither_key_order_nor_the_first_bytes_decide() -> None:
    line = {"uuid": "u", "session_id": "s", "event": {"type": "message_stop"}, "type": "stream_event"}
    assert guess([line])[0] == ["claude-cli"]


@pytest.mark.parametrize(
    ("payloads", "begins"),
    [
        ([b"Once upon a time"], "Once upon a time"),
        ([b"<html>502 Bad Gateway</html>"], "<html>"),
        ([{"some": "object"}], "some"),
        ([b"[1, 2]", b"null"], "[1, 2]"),
        ([FrameError("too_long", "skipped")], "too_long"),
    ],
)
def test_input_that_nobody_recognises_is_an_error_that_names_the_candidates(
    payloads: list[Any], begins: str
) -> None:
    chosen, events = guess(payloads)
    assert not chosen
    error = one(StreamError, events)
    assert (error.code, error.is_fatal, error.retryable) == ("unknown_format", True, False)
    assert begins in error.message
    assert all(name in error.message for name in BUILT_IN)
    assert one(TurnCompleted, events).stop_reason == "error"


def test_empty_input_is_truncated_rather_than_unknown() -> None:
    assert errors(guess([])[1]) == ["truncated"]


def test_trouble_before_the_first_payload_is_told_as_it_is() -> None:
    late = StreamError("silent", "nothing came for 30 s", retryable=True)
    assert errors(guess([StreamError("gap", is_fatal=False), late])[1]) == ["gap", "silent"]
    assert errors(guess([late, *CHAT])[1]) == ["silent"]


def test_what_is_held_while_undecided_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, payload in (("MAX_PAYLOADS", b"x"), ("MAX_BYTES", b"x" * 11)):
        monkeypatch.setattr(auto, limit, 100)
        reader = AutoReader()
        out: list[Event] = []
        reader.emit = out.append
        for _ in range(99 if limit == "MAX_PAYLOADS" else 9):
            reader.feed(payload)
        assert not out
        reader.feed(payload)
        assert errors(out) == ["unknown_format"]
        reader.feed(orjson.dumps(CHAT[0]))
        reader.finish()
        assert len(only(TurnCompleted, out)) == 1
        assert not reader._held
        monkeypatch.undo()


def test_a_first_payload_of_any_size_can_decide() -> None:
    huge = {"choices": [{"index": 0, "delta": {"content": "x" * (auto.MAX_BYTES + 1)}, "finish_reason": "stop"}]}
    assert guess([huge])[0] == ["openai-chat"]
    assert guess([orjson.dumps(huge)])[0] == ["openai-chat"]


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two backends that both know `x`, of which one also knows `y`."""

    def backend(name: str, *keys: str) -> Backend:
        reader = backend_named("openai-chat").reader
        return Backend(name, "", "", lambda record: any(key in record for key in keys), reader)

    both = [backend("first", "x", "y"), backend("second", "x")]
    monkeypatch.setattr(auto, "all_backends", lambda: iter(both))


@pytest.mark.usefixtures("rivals")
def test_where_several_could_be_meant_a_later_payload_decides() -> None:
    assert guess([{"x": 1}, {"z": 1}, {"y": 1}])[0] == ["first"]


@pytest.mark.usefixtures("rivals")
def test_where_several_could_be_meant_to_the_end_they_are_named() -> None:
    chosen, events = guess([{"x": 1}, {"x": 1}])
    assert not chosen
    message = one(StreamError, events).message
    assert "first, second" in message
    assert "openai-chat" not in message


def test_a_backend_that_is_named_is_told_as_chosen_too() -> None:
    chosen: list[str] = []
    normalize("ollama", on_chosen=chosen.append)
    assert chosen == ["ollama"]
