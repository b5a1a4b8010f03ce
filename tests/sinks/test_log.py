"""The log: finals, lifecycle, errors and figures; no delta unless asked for, and no secret ever."""

import asyncio
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import structlog
from chat_stream import answer, error, event
from structlog.testing import LogCapture

import penstock
from penstock import Pipeline, Settings, StreamError
from penstock.operators.redact import MASK
from penstock.replay import replay
from penstock.sinks import JsonlSink, LogSink, TextSink
from penstock.sinks.sink import Sink
from penstock.testing import VirtualClock, scripted

DEMO = Path(penstock.__file__).parent / "demo" / "turn.jsonl"
KEY = "sk-proj-" + "aB3dE5fG7hJ9" * 3
CALL = {"index": 0, "id": "call-1", "function": {"name": "look", "arguments": '{"path":"a.py"}'}}


def records(target: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in target.getvalue().splitlines()]


def logged(run_async: asyncio.Runner, *chunks: bytes, settings: Settings | None = None, **options: Any) -> Any:
    target = io.BytesIO()
    run_async.run(turn(list(chunks), LogSink(format="json", target=target, **options), settings=settings))
    return records(target)


async def turn(chunks: list[bytes], *sinks: Sink, settings: Settings | None = None) -> None:
    async with Pipeline(settings or Settings(backend="openai-chat"), sinks=sinks).turn() as turn:
        await turn.round(chunks)


def test_the_log_of_the_demo_turn_has_under_40_records_and_no_delta(run_async: asyncio.Runner) -> None:
    target = io.BytesIO()

    async def play() -> None:
        async with Pipeline(sinks=[LogSink(format="json", target=target)]).turn() as turn:
            await replay(turn, DEMO, speed="max")

    run_async.run(play())
    names = [record["event"] for record in records(target)]
    assert len(names) < 40
    assert not [name for name in names if "delta" in name]
    assert names[0] == "turn_started"
    assert names[-1] == "turn_completed"
    assert names.count("round_completed") == 3
    assert {"thinking", "text", "tool_invocation", "tool_completion"} <= set(names)


def test_a_round_and_a_turn_have_one_summary_each_with_every_figure(run_async: asyncio.Runner) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 5}
    final = b'data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":' + json.dumps(usage).encode()
    chunks = [event({"reasoning_content": "hm"}), event({"content": "Hello"}), event({}, "stop"), final + b"}\n\n"]
    target, clock = io.BytesIO(), VirtualClock()
    pipeline = Pipeline(Settings(backend="openai-chat"), sinks=[LogSink(format="json", target=target)], clock=clock)

    async def run() -> None:
        async with pipeline.turn() as turn:
            delays = [1.5, 0.5, 3.0, 0.5, 0.0]
            await turn.round(scripted(clock, *zip(delays, [*chunks, b"data: [DONE]\n\n"], strict=True)))

    run_async.run(run())
    (summary,) = [record for record in records(target) if record["event"] == "round_completed"]
    del summary["timestamp"], summary["turn_id"]
    assert summary == {
        "event": "round_completed",
        "level": "info",
        "round": 1,
        "backend": "openai-chat",
        "model": "m",
        "stop_reason": "stop",
        "duration_s": 5.5,
        "first_chunk_s": 1.5,
        "mean_gap_s": 1.0,
        "longest_gap_s": 3.0,
        "chunks": 5,
        "bytes": sum(map(len, chunks)) + len(b"data: [DONE]\n\n"),
        "deltas": 2,
        "coalescing_ratio": 2.5,
        "characters": 5,
        "thinking_characters": 2,
        "tool_calls": 0,
        "errors": 0,
        "stalls": 0,
        "input_tokens": 7,
        "output_tokens": 5,
    }
    total = records(target)[-1]
    assert (total["event"], total["rounds"], total["stop_reason"]) == ("turn_completed", 1, "completed")
    assert (total["chunks"], total["first_chunk_s"], total["output_tokens"]) == (5, 1.5, 5)


def test_errors_are_counted_and_logged_at_their_level(run_async: asyncio.Runner) -> None:
    found = logged(run_async, event({"content": "a"}), b"data: {broken\n\n", error("overloaded", "later"))
    assert [(r["level"], r["code"]) for r in found if r["event"] == "error"] == [
        ("warning", "bad_json"),
        ("error", "overloaded"),
    ]
    (summary,) = [record for record in found if record["event"] == "round_completed"]
    assert (summary["errors"], found[-1]["errors"], found[-1]["stop_reason"]) == (2, 2, "error")


def test_at_warning_errors_alone_are_logged(run_async: asyncio.Runner) -> None:
    found = logged(run_async, event({"content": "a"}), error("overloaded", "later"), level="warning")
    assert [record["event"] for record in found] == ["error"]


def test_at_trace_every_delta_is_a_record(run_async: asyncio.Runner) -> None:
    found = logged(
        run_async, event({"content": "Hi "}), event({"tool_calls": [CALL]}), answer("", finish_reason="tool_calls"),
        level="trace", settings=Settings(backend="openai-chat", window_s=0.0),
    )  # fmt: skip
    assert [r.get("text_delta", r.get("json_delta")) for r in found if r["event"].endswith("_delta")] == [
        "Hi ",
        '{"path":"a.py"}',
    ]


def test_long_texts_are_cut_wherever_they_stand(run_async: asyncio.Runner) -> None:
    arguments = json.dumps({"files": [{"content": "x" * 5000}]})
    call = {"index": 0, "id": "c", "function": {"name": "write", "arguments": arguments}}
    chunks = [event({"content": "y" * 5000}), event({"tool_calls": [call]}), answer("")]
    found = logged(run_async, *chunks, max_text_chars=100)
    assert max(len(json.dumps(record)) for record in found) < 700
    (text,) = [record["text"] for record in found if record["event"] == "text"]
    assert text == "y" * 100 + "… (5000 characters)"


# ── secrets ──────────────────────────────────────────────────────────────────────────────────────────────

SPLIT = [f"The key {KEY[:9]}", KEY[9:20], f"{KEY[20:]} is yours"]


def split_stream() -> list[bytes]:
    """A key over three chunks of the text, and three of a tool's arguments, and in an error."""
    pieces = ['{"env":"A=' + KEY[:7], KEY[7:21], KEY[21:] + '"}']
    calls = [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    calls[0] |= {"id": "call-1"}
    calls[0]["function"] |= {"name": "run"}  # type: ignore[operator]
    return [
        *(event({"reasoning_content": piece}) for piece in SPLIT),
        *(event({"content": piece}) for piece in SPLIT),
        *(event({"tool_calls": [call]}) for call in calls),
        event({}, "tool_calls"),
        error("denied", f"Incorrect API key provided: {KEY}"),
    ]


@pytest.mark.parametrize("level", ["trace", "info", "warning"])
def test_nothing_of_a_key_split_over_three_chunks_is_logged_at_any_level(
    run_async: asyncio.Runner, level: str
) -> None:
    settings = Settings(backend="openai-chat", window_s=0.0)
    text = json.dumps(logged(run_async, *split_stream(), level=level, settings=settings))
    assert_masked(text)


@pytest.mark.parametrize("window_s", [0.0, 0.05])
def test_with_redact_on_nothing_of_it_reaches_any_sink(run_async: asyncio.Runner, window_s: float) -> None:
    events, updates, log, text = io.BytesIO(), io.BytesIO(), io.BytesIO(), io.StringIO()
    sinks = [
        JsonlSink(events, "events"),
        JsonlSink(updates, "updates"),
        LogSink(format="json", target=log, level="trace", redact=False),
        TextSink(text),
    ]
    settings = Settings(backend="openai-chat", redact=True, streaming_tool_events=True, window_s=window_s)
    run_async.run(turn(split_stream(), *sinks, settings=settings))
    for output in (*(target.getvalue().decode() for target in (events, updates, log)), text.getvalue()):
        assert_masked(output)


def test_the_reply_of_a_round_stays_as_the_model_wrote_it(run_async: asyncio.Runner) -> None:
    async def run() -> None:
        async with Pipeline(Settings(backend="openai-chat", redact=True)).turn() as turn:
            reply = await turn.round(split_stream())
            assert reply.tool_calls[0].input == {"env": f"A={KEY}"}
        assert turn.final_message == f"The key {MASK} is yours"

    run_async.run(run())


def assert_masked(text: str) -> None:
    assert MASK in text
    for start in range(len(KEY) - 7):
        assert KEY[start : start + 8] not in text, f"{KEY[start : start + 8]} of the key in {text}"


# ── where it goes ────────────────────────────────────────────────────────────────────────────────────────


def test_a_configured_structlog_is_used(run_async: asyncio.Runner) -> None:
    capture = LogCapture()
    structlog.configure(processors=[capture])
    try:
        run_async.run(turn([answer("Hi")], LogSink()))
    finally:
        structlog.reset_defaults()
    assert [entry["event"] for entry in capture.entries][-2:] == ["round_completed", "turn_completed"]
    assert {entry["turn_id"] for entry in capture.entries} != {""}


def test_the_application_s_logging_is_used_with_its_levels_and_the_fields(
    run_async: asyncio.Runner, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "penstock")
    run_async.run(turn([event({"content": "100 %s"}), error("denied", "no\nforged line")], LogSink()))
    assert [record.name for record in caplog.records] == ["penstock"] * len(caplog.records)
    (text,) = [r for r in caplog.records if r.getMessage().startswith("text ")]
    assert "text='100 %s'" in text.getMessage()
    assert text.penstock["text"] == "100 %s"  # type: ignore[attr-defined]
    (told,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert "\n" not in told.getMessage()
    caplog.clear()
    caplog.set_level(logging.ERROR, "penstock")
    run_async.run(turn([answer("Hi")], LogSink()))
    assert not caplog.records


def test_console_lines_cannot_be_forged_and_hold_no_control_characters(run_async: asyncio.Runner) -> None:
    target = io.BytesIO()
    chunks = [event({"content": "a\n12:00:00 info    fake\x1b[31m\x9b"}), answer("")]
    run_async.run(turn(chunks, LogSink(format="console", target=target)))
    lines = target.getvalue().decode().splitlines()
    assert len(lines) == 5
    assert all(line[2] == ":" and line.split()[1] == "info" for line in lines)
    assert not {"\x1b", "\x9b"} & set("".join(lines))


def test_a_file_is_appended_to_turn_by_turn_and_closed(run_async: asyncio.Runner, tmp_path: Path) -> None:
    sink = LogSink(format="json", target=tmp_path / "log.jsonl")
    for _ in range(2):
        run_async.run(turn([answer("Hi")], sink))
    names = [json.loads(line)["event"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert names.count("turn_completed") == 2


def test_without_anything_set_up_it_is_json_on_standard_error(
    run_async: asyncio.Runner, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    run_async.run(turn([answer("Hi")], LogSink()))
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["event"] == "turn_completed"


def test_without_anything_set_up_a_terminal_is_told_of_errors_alone(
    run_async: asyncio.Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(logging.getLogger("penstock"), "propagate", False)
    monkeypatch.setattr("sys.stderr", terminal)
    run_async.run(turn([event({"content": "Hi"}), error("denied", "no")], LogSink()))
    (line,) = terminal.getvalue().splitlines()
    assert line.startswith("error turn_id=")


def test_a_stall_is_counted(run_async: asyncio.Runner) -> None:
    target, clock = io.BytesIO(), VirtualClock()
    settings = Settings(backend="openai-chat", between_chunks_timeout_s=2.0)
    pipeline = Pipeline(settings, sinks=[LogSink(format="json", target=target)], clock=clock)

    async def run() -> None:
        async with pipeline.turn() as turn:
            await turn.round(scripted(clock, (1.0, event({"content": "a"})), (8.0, answer("b"))))
            assert isinstance(turn.result.error, StreamError)

    run_async.run(run())
    assert (records(target)[-1]["stalls"], records(target)[-1]["errors"]) == (1, 1)
