"""Turns as OpenTelemetry spans and metrics, by the conventions for generative AI. Needs the extra `otel`."""

import time
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.events import StreamError, ToolCompletion, ToolInvocation
from penstock.sinks.sink import Item, Sink
from penstock.summary import GAP_BOUNDS_S, RoundSummary, Summary, TurnSummary

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider

__all__ = ["OtelSink"]


_TOKEN_BOUNDS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
_NANOSECONDS = 1_000_000_000
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "codex-exec": "openai",
    "codex-app-server": "openai",
    "anthropic": "anthropic",
    "claude-cli": "anthropic",
    "gemini-api": "gcp.gemini",
    "gemini-cli": "gcp.gemini",
}
"""The convention's name of who answers; a backend that is not here is its own."""


class OtelSink(Sink):
    """A span for the turn (`invoke_agent`), below it one for each round (`chat`) and each tool (`execute_tool`).

    Histograms, in seconds and tokens: `gen_ai.client.operation.duration`, `….time_to_first_chunk`,
    `….time_per_output_chunk`, `gen_ai.client.token.usage`. The times between chunks are recorded when their round
    is over, each class of `GAP_BOUNDS_S` by its mean, so that counts and sums are exact.

    A round is measured from when it was opened: open it when the request goes out, if the wait for the response
    is to count. No content is recorded, only names and figures. The turn's span belongs to the span that is current
    where the turn is opened. Providers are those given, else the application's global ones.
    """

    accepts = frozenset({ToolInvocation, ToolCompletion, StreamError, RoundSummary, TurnSummary})

    def __init__(
        self, tracer_provider: "TracerProvider | None" = None, meter_provider: "MeterProvider | None" = None
    ) -> None:
        try:
            from opentelemetry import metrics, trace
        except ImportError as error:
            raise UsageError("OtelSink needs OpenTelemetry: pip install 'penstock[otel]'") from error
        self._tracer = trace.get_tracer("penstock", tracer_provider=tracer_provider)
        self._instruments = _Instruments(metrics.get_meter("penstock", meter_provider=meter_provider))

    def open(self, turn_id: str) -> Sink:
        return _TurnSpans(self._tracer, self._instruments, turn_id)


class _Instruments:
    """The histograms of the conventions."""

    def __init__(self, meter: Any) -> None:
        def seconds(name: str, description: str) -> "Histogram":
            made: Histogram = meter.create_histogram(
                f"gen_ai.client.operation.{name}",
                unit="s",
                description=description,
                explicit_bucket_boundaries_advisory=GAP_BOUNDS_S,
            )
            return made

        self._duration = seconds("duration", "How long a model call took")
        self._first_chunk = seconds("time_to_first_chunk", "The wait for a model call's first chunk")
        self._per_chunk = seconds("time_per_output_chunk", "The time between two chunks of a model call")
        self._tokens: Histogram = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Tokens of a model call",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )

    def record(self, summary: RoundSummary, attributes: dict[str, str]) -> None:
        """The figures of one model call."""
        plain = {key: value for key, value in attributes.items() if key != "error.type"}
        self._duration.record(summary.duration_s, attributes)
        if summary.first_chunk_s is not None:
            self._first_chunk.record(summary.first_chunk_s, plain)
        for count, sum_s in summary.gaps:
            for _ in range(count):
                self._per_chunk.record(sum_s / count, plain)
        usage = summary.usage
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if tokens:
                self._tokens.record(tokens, {**plain, "gen_ai.token.type": kind})


class _TurnSpans(Sink):
    """The spans of one turn."""

    def __init__(self, tracer: "Tracer", instruments: _Instruments, turn_id: str) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self._turn = tracer.start_span(
            "invoke_agent", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": turn_id}
        )
        self._tools: dict[str, Span] = {}
        self._error = ""

    def on_next(self, item: Item | Summary) -> None:
        if type(item) is ToolInvocation:
            self._call(item)
        elif type(item) is ToolCompletion:
            self._end_tool(item.call_id, "tool_error" if item.is_error else "")
        elif type(item) is StreamError and item.is_fatal:
            self._error = item.code
        elif type(item) is RoundSummary:
            self._round(item)
        elif type(item) is TurnSummary:
            self._end_turn(item)

    def _call(self, call: ToolInvocation) -> None:
        self._end_tool(call.call_id, "interrupted")
        self._tools[call.call_id] = self._below_turn(
            f"execute_tool {call.tool_name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.tool_name,
                "gen_ai.tool.call.id": call.call_id,
            },
        )

    def _end_tool(self, call_id: str, error: str) -> None:
        span = self._tools.pop(call_id, None)
        if span is not None:
            _end(span, error)

    def _round(self, summary: RoundSummary) -> None:
        provider = _PROVIDERS.get(summary.backend, summary.backend)
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider}
        if summary.model:
            attributes |= {"gen_ai.request.model": summary.model, "gen_ai.response.model": summary.model}
        if self._error:
            attributes["error.type"] = self._error
        self._instruments.record(summary, dict(attributes))
        usage = summary.usage
        attributes |= {
            "gen_ai.response.finish_reasons": [summary.stop_reason],
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "penstock.round": summary.round,
            "penstock.chunks": summary.chunks,
            "penstock.bytes": summary.bytes,
            "penstock.coalescing_ratio": summary.coalescing_ratio,
        }
        now = time.time_ns()
        began = now - int(summary.duration_s * _NANOSECONDS)
        if summary.first_chunk_s is not None:
            attributes["gen_ai.response.time_to_first_chunk"] = summary.first_chunk_s
        span = self._below_turn(f"chat {summary.model}".rstrip(), attributes, began, is_client=True)
        _end(span, self._error, now)
        self._error = ""

    def _below_turn(
        self, name: str, attributes: dict[str, Any], began: int | None = None, is_client: bool = False
    ) -> "Span":
        from opentelemetry import trace

        context = trace.set_span_in_context(self._turn)
        kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        return self._tracer.start_span(name, context, kind, attributes, start_time=began)

    def _end_turn(self, summary: TurnSummary) -> None:
        for call_id in list(self._tools):
            self._end_tool(call_id, "interrupted")
        self._turn.set_attributes(
            {
                "gen_ai.usage.input_tokens": summary.usage.input_tokens,
                "gen_ai.usage.output_tokens": summary.usage.output_tokens,
                "penstock.rounds": summary.rounds,
                "penstock.stop_reason": summary.stop_reason,
            }
        )
        _end(self._turn, "" if summary.stop_reason == "completed" else summary.stop_reason)


def _end(span: "Span", error: str, at: int | None = None) -> None:
    if error:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR, error))
    span.end(at)
