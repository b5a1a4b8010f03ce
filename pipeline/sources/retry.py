"""Opening a source again when it fails before it has said anything."""

import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from penstock.backends.registry import backend_named
from penstock.backends.trouble import trouble
from penstock.errors import UsageError
from penstock.events import Event, MessageStart, MessageStop, StreamError, TurnCompleted, Unknown, Usage
from penstock.operators.clock import Clock
from penstock.operators.decode_utf8 import decode_utf8
from penstock.operators.frame import frame
from penstock.operators.line_splitter import as_bytes
from penstock.operators.normalize import normalize
from penstock.operators.stage import Operator
from penstock.sources.chunks import Chunk, Source, chunks_of
from penstock.sources.pause import clock_or_loop, pause

__all__ = ["Retry", "retrying"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often, and after how long.

    The wait doubles from `first_delay_s` to `max_delay_s`, and `jitter` (0 to 1) takes up to half of it away, so
    that many clients do not come back at once. Where the backend says how long to wait, that is the least; where
    it asks for more than `max_delay_s`, the error stands.
    """

    attempts: int = 3
    """How often the source is opened, the first time included."""

    first_delay_s: float = 0.5
    max_delay_s: float = 30.0
    jitter: Callable[[], float] = random.random

    def covers(self, failures: int, error: StreamError) -> bool:
        """Whether to try again after so many failures in a row, the last being `error`."""
        return failures < self.attempts and error.retryable and (error.retry_after_s or 0.0) <= self.max_delay_s

    def delay_s(self, failures: int, error: StreamError) -> float:
        """How long to wait before that."""
        backoff_s = min(self.first_delay_s * 2.0 ** (failures - 1), self.max_delay_s)
        return max(error.retry_after_s or 0.0, backoff_s * (1 - self.jitter() / 2))


async def retrying(
    open_source: Callable[[], Source],
    retry: Retry | None = None,
    *,
    backend: str = "auto",
    resumes: bool = False,
    on_retry: Callable[[StreamError], object] | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Chunk, None]:
    """The chunks of a source that is opened again where it fails: `await turn.round(retrying(open_source))`.

    `open_source` returns a new source each time, or a coroutine of one, as the openai client's `create` does. It is
    called again for errors that may pass (a lost connection, a rate limit, an overloaded server, an answer that
    breaks off), whether the source raises them or `backend` tells them inside the stream, and only until the first
    content: after that, a second answer would double the text. What comes before the content is held so long (a
    few records) and given up with the attempt. Each time, `on_retry` gets a `StreamError` that is not fatal and
    says what happened; `turn.push` can take it. When the attempts are used up, the last failure comes as if there
    were no retry.

    With `resumes`, `open_source` goes on where the last source broke off. Then nothing is held, errors that the
    source raises are retried at any time, and a source that brought something gives back all the attempts.
    """
    retry = retry or Retry()
    clock = clock_or_loop(clock)
    failures = 0
    while True:
        ahead = _LookAhead(retry, failures + 1, None if resumes else backend, clock)
        try:
            async with aclosing(_opened(open_source)) as chunks:
                async for chunk in chunks:
                    for piece in ahead.feed(chunk):
                        failures = 0
                        yield piece
                for piece in ahead.finish():
                    yield piece
            return
        except UsageError:
            raise
        except _Told as told:
            error = told.error
        except Exception as raised:
            error = _as_trouble(raised)
            if (ahead.is_passing and not resumes) or not retry.covers(failures + 1, error):
                for piece in ahead.release():
                    yield piece
                raise
        failures += 1
        delay_s = retry.delay_s(failures, error)
        if on_retry is not None:
            on_retry(_notice(error, failures, retry.attempts, delay_s))
        await pause(clock, delay_s)


async def _opened(open_source: Callable[[], Source]) -> AsyncGenerator[Chunk, None]:
    source = open_source()
    if isawaitable(source):
        source = await source
    async with aclosing(chunks_of(source)) as chunks:
        async for chunk in chunks:
            yield chunk


class _Told(Exception):
    """The stream itself told of an error that is worth another attempt."""

    def __init__(self, error: StreamError) -> None:
        self.error = error


class _LookAhead:
    """Holds the chunks of an attempt until its first content, or until an error that is not retried."""

    def __init__(self, retry: Retry, failures: int, backend: str | None, clock: Clock) -> None:
        self._retry = retry
        self._failures = failures
        self._held: list[Chunk] = []
        self._error: StreamError | None = None
        self.is_passing = backend is None
        if backend is not None:
            reading = _reading(backend)
            self._chain = reading.chain().connect(self._see, clock, lambda action: action())
            self._reader = self._chain.stages[-1]

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """Take a chunk; gives back those that may go on."""
        if self.is_passing:
            return [chunk]
        self._held.append(chunk)
        if isinstance(chunk, dict):
            self._reader.feed(chunk)
        else:
            self._chain.feed(chunk if isinstance(chunk, bytes) else as_bytes(chunk))
        self._chain.settle()
        return self._judge()

    def finish(self) -> list[Chunk]:
        """The source is over; gives back what was held, unless there should be another attempt."""
        if self.is_passing:
            return []
        self._chain.finish()
        return self._judge() or self.release()

    def release(self) -> list[Chunk]:
        """Give up looking ahead; gives back what was held."""
        self.is_passing = True
        held, self._held = self._held, []
        return held

    def _judge(self) -> list[Chunk]:
        if self.is_passing:
            return self.release()
        if self._error is None:
            return []
        if self._retry.covers(self._failures, self._error):
            raise _Told(self._error)
        return self.release()

    def _see(self, event: Event) -> None:
        if type(event) is StreamError:
            if event.is_fatal and self._error is None:
                self._error = event
        elif type(event) not in _NO_CONTENT and self._error is None:
            self.is_passing = True


_NO_CONTENT = {MessageStart, MessageStop, TurnCompleted, Unknown, Usage}


def _reading(backend: str) -> Operator[Any, Event]:
    is_text = backend != "auto" and backend_named(backend).framing == "text"
    framing: Operator[Any, Any] = decode_utf8() if is_text else frame()
    return framing | normalize(backend)


_WILL_NOT_PASS = (
    *(TypeError, ValueError, LookupError, AttributeError, AssertionError, NotImplementedError),
    *(FileNotFoundError, PermissionError),
)


def _as_trouble(raised: Exception) -> StreamError:
    """What an exception of a source means: an HTTP status where it has one, else a connection that broke."""
    response = getattr(raised, "response", None)
    status = getattr(raised, "status_code", None) or getattr(response, "status_code", None)
    message = f"{type(raised).__name__}: {raised}"
    if status is not None:
        headers = dict(getattr(response, "headers", None) or {})
        return trouble({"message": message, "status": status, "metadata": {"headers": headers}})
    return StreamError("source_failed", message, retryable=not isinstance(raised, _WILL_NOT_PASS))


def _notice(error: StreamError, failures: int, attempts: int, delay_s: float) -> StreamError:
    message = f"attempt {failures} of {attempts} failed, the next one is in {delay_s:.3g} s: {error.message}"
    return StreamError(error.code, message, retryable=True, retry_after_s=delay_s, is_fatal=False)
