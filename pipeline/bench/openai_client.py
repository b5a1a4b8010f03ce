"""The openai client over the same bytes: its own iteration over chunks, and its stream helper."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["is_installed", "openai_runs"]


def is_installed() -> bool:
    """Whether there is an openai client to compare with."""
    return find_spec("openai") is not None


def openai_runs(reads: Sequence[bytes]) -> dict[str, Callable[[], str]]:
    """By name, what reads the answer in `reads` through the client, from an HTTP transport in memory."""
    client = _client(reads)

    def iterate() -> str:
        chunks = client.chat.completions.create(model="bench-1", messages=[], stream=True)
        return "".join([chunk.choices[0].delta.content or "" for chunk in chunks])

    def use_helper() -> str:
        with client.chat.completions.stream(model="bench-1", messages=[]) as stream:
            return "".join([event.delta for event in stream if event.type == "content.delta"])

    return {"openai, chunk iteration": iterate, "openai, stream helper": use_helper}


def _client(reads: Sequence[bytes]) -> Any:
    import openai

    # The library it speaks HTTP with is not the same in all versions.
    http: Any = import_module(openai.DefaultHttpxClient.__base__.__module__.partition(".")[0])

    class Body(http.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            return iter(reads)

    def answer(_request: Any) -> Any:
        return http.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    transport = http.MockTransport(answer)
    return openai.OpenAI(
        api_key="none", base_url="http://bench.invalid/v1", http_client=http.Client(transport=transport)
    )
