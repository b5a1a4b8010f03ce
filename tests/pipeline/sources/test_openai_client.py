"""The real openai client as a source, over real HTTP: its bytes are read under its objects, and it is let go."""

import asyncio
import gc
import time
from collections.abc import Callable
from typing import Any

import openai
import pytest
from openai_server import Answer, OpenAIServer, chat, limited, response, trouble_inside

from penstock import AssistantUpdate, Completed, Pipeline, Reply, Settings
from penstock.sources import chunks_of
from penstock.sources.retry import Retry, retrying
from penstock.testing import RecordingSink

ASK: dict[str, Any] = {"model": "test-model", "messages": [{"role": "user", "content": "hi"}], "stream": True}
ASK_RESPONSES: dict[str, Any] = {"model": "test-model", "input": "hi", "stream": True}
CALLS = (("call-1", "look", '{"path": "a.py"}'), ("call-2", "look", '{"path": "ß.py"}'))


async def create(client: openai.AsyncOpenAI, api: str) -> Any:
    if api == "chat":
        return await client.chat.completions.create(**ASK)
    return await client.responses.create(**ASK_RESPONSES)


def create_sync(client: openai.OpenAI, api: str) -> Any:
    if api == "chat":
        return client.chat.completions.create(**ASK)
    return client.responses.create(**ASK_RESPONSES)


def check_whole(reply: Reply) -> None:
    assert (reply.text, reply.error) == ("Hé llo", None)
    assert [(call.call_id, call.tool_name, call.input) for call in reply.tool_calls] == [
        ("call-1", "look", {"path": "a.py"}),
        ("call-2", "look", {"path": "ß.py"}),
    ]


BOTH = pytest.mark.parametrize(("api", "answer"), [("chat", chat), ("responses", response)])


@BOTH
def test_an_asynchronous_stream_is_passed_straight_to_a_round(
    api: str, answer: Callable[..., Answer], run_async: asyncio.Runner
) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            check_whole(await turn.round(await create(client, api)))

    with OpenAIServer(answer("Hé", " llo", calls=CALLS)) as server:
        run_async.run(run())


@BOTH
def test_a_synchronous_stream_is_passed_straight_to_a_round(api: str, answer: Callable[..., Answer]) -> None:
    with OpenAIServer(answer("Hé", " llo", calls=CALLS)) as server, server.client() as client:  # noqa: SIM117
        with Pipeline().sync_turn() as turn:
            check_whole(turn.round(create_sync(client, api)))


@BOTH
def test_the_bytes_are_read_under_the_clients_objects(
    api: str, answer: Callable[..., Answer], run_async: asyncio.Runner
) -> None:
    async def run() -> list[Any]:
        async with server.async_client() as client:
            return [piece async for piece in chunks_of(await create(client, api))]

    with OpenAIServer(answer("Hé", " llo")) as server:
        pieces = run_async.run(run())
    assert b"".join(pieces) == b"".join(answer("Hé", " llo").chunks)


@BOTH
def test_a_stream_somebody_has_begun_goes_on_with_its_objects(
    api: str, answer: Callable[..., Answer], run_async: asyncio.Runner
) -> None:
    async def run() -> None:
        async with server.async_client() as client:
            stream = await create(client, api)
            await anext(stream)  # the first event of both is without text
            async with Pipeline().turn() as turn:
                check_whole(await turn.round(stream))

    with OpenAIServer(answer("Hé", " llo", calls=CALLS)) as server:
        run_async.run(run())


def test_a_synchronous_stream_somebody_has_begun_goes_on_with_its_objects() -> None:
    with OpenAIServer(chat("Hé", " llo", calls=CALLS)) as server, server.client() as client:
        stream = client.chat.completions.create(**ASK)
        next(stream)
        with Pipeline().sync_turn() as turn:
            check_whole(turn.round(stream))


def test_with_streaming_response_gives_its_bytes(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            async with client.chat.completions.with_streaming_response.create(**ASK) as raw:
                check_whole(await turn.round(raw))
            async with client.responses.with_streaming_response.create(**ASK_RESPONSES) as raw:
                check_whole(await turn.round(raw))

    with OpenAIServer(chat("Hé", " llo", calls=CALLS), response("Hé", " llo", calls=CALLS)) as server:
        run_async.run(run())


def test_with_streaming_response_gives_its_bytes_to_a_synchronous_turn() -> None:
    with OpenAIServer(chat("Hé", " llo", calls=CALLS)) as server, server.client() as client:  # noqa: SIM117
        with Pipeline().sync_turn() as turn, client.chat.completions.with_streaming_response.create(**ASK) as raw:
            check_whole(turn.round(raw))


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_clients_stream_helpers_are_read_the_same_way(api: str, run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            asked = {**(ASK if api == "chat" else ASK_RESPONSES)}
            del asked["stream"]
            helper: Any = client.chat.completions.stream if api == "chat" else client.responses.stream
            async with helper(**asked) as events:
                check_whole(await turn.round(events))

    answer = chat if api == "chat" else response
    with OpenAIServer(answer("Hé", " llo", calls=CALLS)) as server:
        run_async.run(run())


def test_one_connection_serves_all_the_rounds_of_a_turn(run_async: asyncio.Runner) -> None:
    ports: set[Any] = set()

    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            for _ in range(3):
                stream = await client.chat.completions.create(**ASK)
                ports.add(stream.response.extensions["network_stream"].get_extra_info("client_addr"))
                await turn.round(stream)

    with OpenAIServer(*(chat(str(number)) for number in range(3))) as server:
        run_async.run(run())
    assert len(ports) == 1


@BOTH
def test_a_cut_connection_keeps_what_arrived_and_is_a_retryable_error(
    api: str, answer: Callable[..., Answer], run_async: asyncio.Runner
) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            reply = await turn.round(await create(client, api))
            assert reply.text == "half an answ"
            assert reply.error is not None
            assert (reply.error.code, reply.error.retryable) == ("source_failed", True)
        assert turn.final_message == "half an answ"

    with OpenAIServer(answer("half ", "an answ", ending="cut")) as server:
        run_async.run(run())


def test_an_error_inside_the_stream_comes_after_what_arrived(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            reply = await turn.round(await client.chat.completions.create(**ASK))
            assert reply.text == "partial"
            assert reply.error is not None
            assert (reply.error.code, reply.error.retryable) == ("rate_limited", True)

    with OpenAIServer(trouble_inside("part", "ial")) as server:
        run_async.run(run())


def test_an_error_inside_a_stream_of_objects_comes_after_what_arrived(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            stream = await client.chat.completions.create(**ASK)
            seen = await anext(stream)
            reply = await turn.round(stream)
            assert seen.choices[0].delta.content == "part"
            assert reply.text == "ial"
            assert reply.error is not None
        del stream
        gc.collect()  # the client leaves its own generator to be closed by the loop
        await asyncio.sleep(0)

    with OpenAIServer(trouble_inside("part", "ial")) as server:
        run_async.run(run())


def test_a_rate_limit_is_retried_after_the_time_the_server_asks_for(run_async: asyncio.Runner) -> None:
    from jumping_clock import JumpingClock

    clock = JumpingClock()

    async def run() -> None:
        async with server.async_client() as client, Pipeline().turn() as turn:
            source = retrying(lambda: client.chat.completions.create(**ASK), Retry(attempts=2), clock=clock)
            assert (await turn.round(source)).text == "at last"

    with OpenAIServer(limited(retry_after_s=7), chat("at last")) as server:
        run_async.run(run())
        assert len(server.requests) == 2
    assert clock.waits == [7.0]


def test_aborting_hangs_up_on_the_server_and_keeps_what_arrived(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()

    async def run() -> None:
        async with server.async_client() as client, Pipeline(sinks=[seen]).turn() as turn:
            reading = asyncio.create_task(turn.round(await client.chat.completions.create(**ASK)))
            while not seen.of(AssistantUpdate):
                await asyncio.sleep(0)
            turn.abort()
            assert (await reading).text == "so far"

    with OpenAIServer(chat("so far", ending="never")) as server:
        run_async.run(run())
        assert server.has_hung_up.wait(5)
    assert [completed.message for completed in seen.of(Completed)] == ["so far"]


def test_aborting_a_synchronous_stream_does_not_wait_for_the_server(run_async: asyncio.Runner) -> None:
    seen = RecordingSink()

    async def run() -> float:
        async with Pipeline(Settings(window_s=0), sinks=[seen]).turn() as turn:
            reading = asyncio.create_task(turn.round(client.chat.completions.create(**ASK)))
            while not seen.of(AssistantUpdate):
                await asyncio.sleep(0)
            began = time.monotonic()
            turn.abort()
            assert (await reading).text == "so far"
            return time.monotonic() - began

    with OpenAIServer(chat("so far", ending="never")) as server, server.client() as client:
        took_s = run_async.run(run())
        assert took_s < 1.5, "the reading thread was only given up, not woken"
        assert server.has_hung_up.wait(5)
