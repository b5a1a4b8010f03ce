"""Spans and metrics of a turn, by the OpenTelemetry conventions for generative AI, in memory."""

import asyncio
import sys
from typing import Any

import pytest
from chat_stream import answer, error, event
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from penstock import Pipeline, Settings, UsageError
from penstock.sinks import OtelSink
from penstock.testing import VirtualClock, scripted

CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": "{}"}}
USAGE = (
    b'data: {"id":"c","object":"chat.completion.chunk","choices":[],'
    b'"usage":{"prompt_tokens":7,"completion_tokens":5}}\n\n'
)
CALLING = event({"tool_calls": [CALL]}) + event({}, "tool_calls") + USAGE + b"data: [DONE]\n\n"


class Telemetry:
    """What was exported."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self.tracer = tracers.get_tracer("application")
        self._meters = MeterProvider([self._reader])
        self.sink = OtelSink(tracers, self._meters)

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    def points(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        assert data is not None
        metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
        return {metric.name: list(metric.data.data_points) for metric in metrics}


async def tool_turn(telemetry: Telemetry, clock: VirtualClock) -> None:
    pipeline = Pipeline(Settings(backend="openai-chat"), sinks=[telemetry.sink], clock=clock)
    with telemetry.tracer.start_as_current_span("request"):
        async with pipeline.turn() as turn:
            reply = await turn.round(scripted(clock, (0.5, event({"content": "I look. "})), (0.1, CALLING)))
            async with turn.tool(reply.tool_calls[0]) as block:
                block.result("found")
            await turn.round(scripted(clock, (2.0, event({"content": "It"})), (0.03, answer(" is."))))


def test_a_turn_is_a_span_with_its_rounds_and_tools_below_it(run_async: asyncio.Runner) -> None:
    telemetry = Telemetry()
    run_async.run(tool_turn(telemetry, VirtualClock()))
    spans = telemetry.spans()
    assert set(spans) == {"request", "invoke_agent", "chat m", "execute_tool look"}
    turn = spans["invoke_agent"]
    assert turn.parent is not None
    assert turn.parent.span_id == spans["request"].context.span_id
    for name in ("chat m", "execute_tool look"):
        parent = spans[name].parent
        assert parent is not None
        assert parent.span_id == turn.context.span_id
    tool = dict(spans["execute_tool look"].attributes or {})
    assert tool == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "gen_ai.tool.call.id": "call-1",
    }
    chat = dict(spans["chat m"].attributes or {})
    assert chat["gen_ai.provider.name"] == "openai"
    assert chat["gen_ai.response.finish_reasons"] == ("stop",)
    assert chat["gen_ai.response.time_to_first_chunk"] == 2.0
    assert spans["chat m"].status.is_unset
    assert dict(turn.attributes or {})["gen_ai.usage.output_tokens"] == 5


def test_the_metrics_are_those_of_the_conventions_in_seconds_and_tokens(run_async: asyncio.Runner) -> None:
    telemetry = Telemetry()
    run_async.run(tool_turn(telemetry, VirtualClock()))
    points = telemetry.points()
    assert set(points) == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.operation.time_per_output_chunk",
        "gen_ai.client.token.usage",
    }
    (first,) = points["gen_ai.client.operation.time_to_first_chunk"]
    assert (first.count, first.sum) == (2, pytest.approx(2.5))
    assert first.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.response.model": "m",
    }
    (between,) = points["gen_ai.client.operation.time_per_output_chunk"]
    assert (between.count, between.sum) == (2, pytest.approx(0.13))
    (duration,) = points["gen_ai.client.operation.duration"]
    assert duration.sum == pytest.approx(2.63)
    tokens = {p.attributes["gen_ai.token.type"]: p.sum for p in points["gen_ai.client.token.usage"]}
    assert tokens == {"input": 7, "output": 5}


def test_an_error_marks_the_round_and_the_turn(run_async: asyncio.Runner) -> None:
    telemetry = Telemetry()

    async def run() -> None:
        async with Pipeline(Settings(backend="openai-chat"), sinks=[telemetry.sink]).turn() as turn:
            await turn.round([event({"content": "a"}), error("overloaded", "later")])

    run_async.run(run())
    for name, kind in (("chat m", "overloaded"), ("invoke_agent", "error")):
        span = telemetry.spans()[name]
        assert not span.status.is_ok
        assert dict(span.attributes or {})["error.type"] == kind
    (duration,) = telemetry.points()["gen_ai.client.operation.duration"]
    assert duration.attributes["error.type"] == "overloaded"


def test_a_tool_that_never_ended_is_closed_as_interrupted(run_async: asyncio.Runner) -> None:
    telemetry = Telemetry()

    async def run() -> None:
        async with Pipeline(Settings(backend="openai-chat"), sinks=[telemetry.sink]).turn() as turn:
            await turn.round([CALLING])
            turn.abort()

    run_async.run(run())
    assert dict(telemetry.spans()["execute_tool look"].attributes or {})["error.type"] == "interrupted"
    assert dict(telemetry.spans()["invoke_agent"].attributes or {})["error.type"] == "aborted"


def test_nothing_said_is_in_the_telemetry(run_async: asyncio.Runner) -> None:
    telemetry = Telemetry()
    run_async.run(tool_turn(telemetry, VirtualClock()))
    said = repr([dict(span.attributes or {}) for span in telemetry.spans().values()])
    assert "I look" not in said
    assert "found" not in said


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(UsageError, match=r"pip install 'penstock\[otel\]'"):
        OtelSink()
