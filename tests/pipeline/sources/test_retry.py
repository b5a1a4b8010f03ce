"""Opening a source again: when, how often, after how long, and never so that text doubles."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from chat_stream import answer, error, event
from jumping_clock import JumpingClock

from penstock.errors import UsageError
from penstock.events import StreamError
from penstock.pipeline import Pipeline
from penstock.settings import Settings
from penstock.sources.retry import Retry, retrying

Attempt = list[bytes | Exception]


class Server:
    """Gives one attempt after the other, the last one for ever."""

    def __init__(self, *attempts: Attempt) -> None:
        self.opened = 0
        self._attempts = attempts

    def open(self) -> AsyncIterator[bytes]:
        attempt = self._attempts[min(self.opened, len(self._attempts) - 1)]
        self.opened += 1
        return self._answer(attempt)

    async def _answer(self, attempt: Attempt) -> AsyncIterator[bytes]:
        for step in attempt:
            if isinstance(step, Exception):
                raise step
            yield step


NO_JITTER = Retry(jitter=lambda: 0.0)
GOOD: Attempt = [answer("fine")]


class HttpError(Exception):
    """As the clients raise them."""

    def __init__(self, status_code: int, **headers: str) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code
        self.response = type("Response", (), {"headers": {k.replace("_", "-"): v for k, v in headers.items()}})()


async def read(server: Server, clock: JumpingClock, retry: Retry = NO_JITTER, **options: Any) -> bytes:
    chunks = retrying(server.open, retry, clock=clock, backend="openai-chat", **options)
    return b"".join([chunk async for chunk in chunks])  # type: ignore[misc]


@pytest.mark.parametrize(
    "failure",
    [
        [ConnectionError("lost")],
        [TimeoutError()],
        [HttpError(429)],
        [HttpError(503)],
        [b": keep-alive\n\n", event({"role": "assistant", "content": ""}), ConnectionError("lost")],
        [error("rate_limit_exceeded", "slow down")],
        [b": hello\n\n", error("overloaded", "busy"), b"data: [DONE]\n\n"],
        [],
        [b""],
        [event({"role": "assistant"})],
    ],
)
def test_an_attempt_that_fails_before_any_content_is_made_again(
    run_async: asyncio.Runner, failure: Attempt
) -> None:
    server, clock = Server(failure, GOOD), JumpingClock()
    assert run_async.run(read(server, clock)) == b"".join(GOOD)  # type: ignore[arg-type]
    assert server.opened == 2
    assert clock.waits == [0.5]


@pytest.mark.parametrize(
    "broken", [HttpError(401), HttpError(400), ValueError("x"), FileNotFoundError("x"), UsageError("x")]
)
def test_an_error_that_will_not_pass_stands(run_async: asyncio.Runner, broken: Exception) -> None:
    server, clock = Server([b": hello\n\n", broken], GOOD), JumpingClock()
    with pytest.raises(type(broken)):
        run_async.run(read(server, clock))
    assert (server.opened, clock.waits) == (1, [])


def test_an_error_told_inside_the_stream_that_will_not_pass_stands_with_all_that_follows(
    run_async: asyncio.Runner,
) -> None:
    failing: Attempt = [error("invalid_api_key", "no"), b"data: [DONE]\n\n"]
    server = Server(failing, GOOD)
    assert run_async.run(read(server, JumpingClock())) == b"".join(failing)  # type: ignore[arg-type]
    assert server.opened == 1


@pytest.mark.parametrize(
    "content",
    [
        event({"content": "Hel"}),
        event({"reasoning_content": "hm"}),
        event({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]}),
    ],
)
def test_after_the_first_content_nothing_is_retried(run_async: asyncio.Runner, content: bytes) -> None:
    server = Server([content, ConnectionError("lost")], GOOD)
    seen: list[Any] = []

    async def read_all() -> None:
        async for chunk in retrying(server.open, NO_JITTER, backend="openai-chat", clock=JumpingClock()):
            seen.append(chunk)  # noqa: PERF401  # what comes before the failure counts

    with pytest.raises(ConnectionError):
        run_async.run(read_all())
    assert seen == [content]
    assert server.opened == 1


def test_content_passes_as_it_comes(run_async: asyncio.Runner) -> None:
    """Nothing is held from the first content on."""
    pieces: Attempt = [b": hello\n\n", event({"content": "a"}), event({"content": "b"}), answer("c")]
    server = Server(pieces)
    passed: list[Any] = []

    async def read_all() -> None:
        passed.extend([chunk async for chunk in retrying(server.open, backend="openai-chat")])

    run_async.run(read_all())
    assert passed == pieces


def test_the_wait_doubles_up_to_its_limit_and_jitter_takes_up_to_half(run_async: asyncio.Runner) -> None:
    jitters = iter([0.0, 1.0, 0.5, 0.0, 0.0])
    retry = Retry(attempts=6, first_delay_s=1.0, max_delay_s=4.0, jitter=lambda: next(jitters))
    server, clock = Server([ConnectionError("lost")]), JumpingClock()
    with pytest.raises(ConnectionError):
        run_async.run(read(server, clock, retry))
    assert clock.waits == [1.0, 1.0, 3.0, 4.0, 4.0]
    assert server.opened == 6


@pytest.mark.parametrize(
    "failure",
    [
        [HttpError(429, retry_after="7")],
        [HttpError(429, retry_after_ms="7000")],
        [error("rate_limit_exceeded", "Please try again in 7s.")],
    ],
)
def test_the_backend_says_how_long_to_wait(run_async: asyncio.Runner, failure: Attempt) -> None:
    clock = JumpingClock()
    run_async.run(read(Server(failure, GOOD), clock))
    assert clock.waits == [7.0]


def test_a_backend_that_asks_for_more_patience_than_there_is_gets_none(run_async: asyncio.Runner) -> None:
    server, clock = Server([HttpError(429, retry_after="3600")], GOOD), JumpingClock()
    with pytest.raises(HttpError):
        run_async.run(read(server, clock))
    assert (server.opened, clock.waits) == (1, [])


def test_the_last_failure_comes_as_if_there_were_no_retry(run_async: asyncio.Runner) -> None:
    failing = [b": hello\n\n", error("overloaded", "busy"), b"data: [DONE]\n\n"]
    server = Server([*failing])
    assert run_async.run(read(server, JumpingClock())) == b"".join(failing)
    assert server.opened == 3


def test_a_source_that_resumes_is_opened_again_after_content_too(run_async: asyncio.Runner) -> None:
    lost = ConnectionError("lost")
    server, clock = Server([b"one ", lost], [lost], [lost], [b"two ", lost], [lost], [b"three"]), JumpingClock()
    assert (
        run_async.run(read(server, clock, Retry(attempts=4, jitter=lambda: 0.0), resumes=True)) == b"one two three"
    )
    assert clock.waits == [0.5, 1.0, 2.0, 0.5, 1.0]


def test_an_opener_may_be_a_coroutine_and_may_fail_itself(run_async: asyncio.Runner) -> None:
    opened: list[int] = []

    async def open_source() -> list[bytes]:
        opened.append(1)
        if len(opened) == 1:
            raise HttpError(529)
        return [answer("fine")]

    async def read_all() -> list[Any]:
        return [chunk async for chunk in retrying(open_source, NO_JITTER, clock=JumpingClock())]

    assert run_async.run(read_all()) == [answer("fine")]


def test_plain_text_and_parsed_records_are_content_too(run_async: asyncio.Runner) -> None:
    async def read_all(open_source: Callable[[], Any], backend: str) -> list[Any]:
        return [chunk async for chunk in retrying(open_source, NO_JITTER, backend=backend, clock=JumpingClock())]

    assert run_async.run(read_all(lambda: ["Hello"], "text")) == ["Hello"]
    record = {"choices": [{"index": 0, "delta": {"content": "x"}}]}
    assert run_async.run(read_all(lambda: [record, b"data: [DONE]\n\n"], "auto")) == [record, b"data: [DONE]\n\n"]


def test_in_a_turn_a_retry_is_a_notice_and_the_text_stands_once(run_async: asyncio.Runner) -> None:
    server = Server([error("overloaded", "busy")], [answer("once")])

    async def take() -> tuple[str, StreamError | None, list[StreamError]]:
        notices: list[StreamError] = []

        def on_retry(notice: StreamError) -> None:
            notices.append(notice)
            turn.push(notice)

        async with Pipeline(Settings(backend="openai-chat")).turn() as turn:
            await turn.round(
                retrying(server.open, NO_JITTER, backend="openai-chat", on_retry=on_retry, clock=JumpingClock())
            )
        return turn.final_message, turn.result.error, notices

    text, trouble, notices = run_async.run(take())
    assert (text, trouble) == ("once", None)
    assert [(notice.code, notice.is_fatal, notice.retry_after_s) for notice in notices] == [
        ("overloaded", False, 0.5)
    ]
    assert notices[0].message == "attempt 1 of 3 failed, the next one is in 0.5 s: busy"
