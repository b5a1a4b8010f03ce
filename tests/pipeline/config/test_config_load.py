"""Layers of configuration: which wins, where each value came from, and what parts can be named."""

import asyncio
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chat_stream import answer

from penstock import Pipeline, Settings, load_pipeline
from penstock.config import Configuration, is_configured, load
from penstock.sinks import JsonlSink, LogSink, OtelSink, Sink, TerminalSink, TextSink
from penstock.sinks.final import FinalSink
from penstock.sinks.sink import Item
from penstock.updates import Completed, ToolBlockUpdate


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and an environment without our variables."""
    for variable in list(os.environ):
        if variable.startswith("PENSTOCK_"):
            monkeypatch.delenv(variable)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_without_anything_the_defaults_are_in_force() -> None:
    loaded = load()
    assert loaded.configuration == Configuration()
    assert (loaded.profile, loaded.path, loaded.where("window_s")) == ("default", None, "default")
    assert not is_configured()


def test_each_layer_wins_over_the_ones_before_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = """
        backend = "anthropic"
        markup = "qwen"
        tool_heartbeat_s = 1
        window_s = 0.1
        between_chunks_timeout_s = 1
        profile = "ci"
        [profiles.ci]
        tool_heartbeat_s = 2
    """
    (folder / "penstock.toml").write_text(file)
    monkeypatch.setenv("PENSTOCK_WINDOW_S", "0.2")
    monkeypatch.setenv("PENSTOCK_MAX_RECORD_BYTES", "1000")
    loaded = load(max_record_bytes=2000)
    origins = {
        "deltas": ("delta", "default"),
        "markup": ("qwen", "penstock.toml"),
        "between_chunks_timeout_s": (300.0, "profile ci"),
        "tool_heartbeat_s": (2.0, "penstock.toml [profiles.ci]"),
        "window_s": (0.2, "environment"),
        "max_record_bytes": (2000, "arguments"),
    }
    assert {key: (getattr(loaded.configuration, key), loaded.where(key)) for key in origins} == origins
    assert is_configured()


def test_the_nearest_file_upwards_is_read_and_another_can_be_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    (folder / "penstock.toml").write_text("window_s = 1.0")
    (folder / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.penstock]\nwindow_s = 2.0")
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'")
    monkeypatch.chdir(inner)
    loaded = load()
    assert loaded.configuration.window_s == 2.0
    assert loaded.where("window_s").endswith("pyproject.toml [tool.penstock]")
    (inner / "other.toml").write_text("window_s = 3.0")
    assert load("other.toml").configuration.window_s == 3.0
    monkeypatch.setenv("PENSTOCK_CONFIG", "other.toml")
    assert load().configuration.window_s == 3.0


def test_somebody_else_s_broken_pyproject_is_none_of_our_business(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.other\n")
    assert load().path is None


def test_the_environment_reads_booleans_lists_and_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_REDACT", "true")
    monkeypatch.setenv("PENSTOCK_EXTRA_TAGS", "reasoning, plan")
    monkeypatch.setenv("PENSTOCK_REDACT_PATTERNS", '["corp-[0-9]{4,8}"]')
    monkeypatch.setenv("PENSTOCK_SINKS", '["otel", {"type": "jsonl", "path": "x.jsonl"}]')
    monkeypatch.setenv("PENSTOCK_FORMATTERS", '{"deploy": "a.b:c"}')
    configuration = load().configuration
    assert configuration.redact is True
    assert configuration.extra_tags == ("reasoning", "plan")
    assert configuration.redact_patterns == ("corp-[0-9]{4,8}",)
    assert configuration.sinks == ("otel", {"type": "jsonl", "path": "x.jsonl"})
    assert configuration.formatters == {"deploy": "a.b:c"}


def test_the_profile_of_the_arguments_wins_over_the_environment_s_and_that_over_the_file_s(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "penstock.toml").write_text('profile = "ci"\n[profiles.mine]\noutput = "none"')
    assert load().profile == "ci"
    monkeypatch.setenv("PENSTOCK_PROFILE", "mine")
    assert (load().profile, load().configuration.output) == ("mine", "none")
    assert load(profile="chat").profile == "chat"


def test_sinks_are_made_with_their_options(folder: Path) -> None:
    file = """
        output = "none"
        log_level = "warning"
        [[sinks]]
        type = "jsonl"
        path = "turns.jsonl"
        what = "finals"
        [[sinks]]
        type = "log"
        format = "json"
        path = "log.jsonl"
        level = "info"
        [[sinks]]
        type = "otel"
    """
    (folder / "penstock.toml").write_text(file)
    pipeline = load_pipeline(backend="text")
    assert [type(sink) for sink in pipeline.sinks] == [JsonlSink, LogSink, OtelSink]
    with pipeline.sync_turn() as turn:
        turn.round([b"Hello."])
    assert '"turn_completed"' in (folder / "log.jsonl").read_text()
    assert [line.split('"')[3] for line in (folder / "turns.jsonl").read_text().splitlines()] == [
        "text",
        "turn_completed",
    ]


def test_sinks_given_in_code_take_the_place_of_the_output_only(folder: Path) -> None:
    given = FinalSink(sys.stdout)
    pipeline = load_pipeline(sinks=[given], output="text")
    assert pipeline.sinks == (given,)
    assert [type(sink) for sink in load_pipeline(output="text").sinks] == [TextSink]


OWN = """
from penstock.events import Event, Text, TextDelta
from penstock.operators.stage import Operator, Stage
from penstock.sinks import Sink
from penstock.updates import Completed

class Shout(Stage[Event, Event]):
    def __init__(self, mark): self.mark = mark
    def feed(self, item):
        if type(item) in (TextDelta, Text):
            item = type(item)(item.text.upper().replace(".", self.mark), item.block_index, item.message_id)
        self.emit(item)

def shout(mark: str = "!") -> Operator[Event, Event]:
    return Operator("shout", lambda: Shout(mark))

SHOUT = shout()
HEARD = []

class Audit(Sink):
    accepts = frozenset({Completed})
    def __init__(self, region: str, times: int = 1): self.region, self.times = region, times
    def on_next(self, item): HEARD.extend([(self.region, item.message)] * self.times)

def deploy_line(parameters): return f"deploying {parameters.text('service')}"
"""


def test_sinks_operators_and_formatters_of_one_s_own_by_dotted_name(folder: Path) -> None:
    (folder / "house_parts_a.py").write_text(OWN)
    file = """
        backend = "text"
        output = "none"
        operators = [{ type = "house_parts_a:shout", mark = "?" }, "house_parts_a.SHOUT"]
        [formatters]
        deploy = "house_parts_a:deploy_line"
        [[sinks]]
        type = "house_parts_a:Audit"
        region = "eu"
        times = 2
    """
    (folder / "penstock.toml").write_text(file)
    pipeline = load_pipeline()
    assert pipeline.describe().count("shout") == 2
    with pipeline.sync_turn() as turn:
        turn.round([b"Hello."])
    heard: Any = sys.modules["house_parts_a"]
    assert heard.HEARD == [("eu", "HELLO?"), ("eu", "HELLO?")]


def test_a_package_brings_parts_by_entry_points(folder: Path) -> None:
    (folder / "house_parts_b.py").write_text(OWN)
    package = folder / "house-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: house\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(
        "[penstock.sinks]\naudit = house_parts_b:Audit\n[penstock.operators]\nshout = house_parts_b:shout\n"
    )
    importlib.invalidate_caches()
    pipeline = load_pipeline(backend="text", output="none", operators=["shout"])
    assert "shout" in pipeline.describe()
    (folder / "penstock.toml").write_text('sinks = [{ type = "audit", region = "us" }]')
    assert type(load_pipeline(output="none").sinks[0]).__name__ == "Audit"


def test_formatters_reach_the_tool_blocks(folder: Path, run_async: asyncio.Runner) -> None:
    (folder / "house_parts_c.py").write_text(OWN)
    seen: list[str] = []

    class Screen(Sink):
        accepts = frozenset({ToolBlockUpdate, Completed})

        def on_next(self, item: Item) -> None:
            if isinstance(item, ToolBlockUpdate):
                seen.append(item.compact_params)

    pipeline = load_pipeline(
        sinks=[Screen()], backend="text", formatters={"deploy": "house_parts_c:deploy_line"}, tool_engine="tags"
    )
    text = b'<tool_call>{"name": "deploy", "arguments": {"service": "web"}}</tool_call>'

    async def run() -> None:
        async with pipeline.turn() as turn:
            await turn.round([text])

    run_async.run(run())
    assert seen[-1] == "deploying web"


def test_importing_penstock_imports_nothing_heavy() -> None:
    heavy = "{'pydantic', 'pydantic_settings', 'structlog', 'rich', 'openai', 'opentelemetry', 'tomllib'}"
    program = f"import sys, penstock, penstock.config, penstock.sinks; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_graph_is_the_pipeline_s_own_operators_as_text_and_mermaid() -> None:
    pipeline = Pipeline(Settings(window_s=0.1, redact=True), sinks=[TextSink()])
    labels = list(pipeline.operator().labels)
    assert pipeline.describe().splitlines() == [*labels, "→ TextSink"]
    assert "coalesce(100 ms)" in labels
    chart = pipeline.describe("mermaid").splitlines()
    assert chart[0] == "flowchart TD"
    assert [line.split('"')[1] for line in chart[2:]] == [*labels, "TextSink"]
    assert chart[2].startswith("    chunks --> o0")
    assert chart[-1] == f'    o{len(labels) - 1} --> s0(["TextSink"])'


def test_what_is_visible_reaches_the_terminal() -> None:
    (sink,) = load_pipeline(profile="chat", output="terminal").sinks
    assert isinstance(sink, TerminalSink)
    assert (sink.rounds, sink.tools, sink.thinking) == ("replace", False, False)
    (sink,) = load_pipeline(output="terminal", thinking_line=True).sinks
    assert isinstance(sink, TerminalSink)
    assert (sink.rounds, sink.tools, sink.thinking) == ("keep", True, True)


def test_0_means_no_limit_on_records() -> None:
    for window in (0, 4):
        pipeline = load_pipeline(
            output="none", backend="openai-chat", max_record_bytes=0, reorder_window_items=window
        )
        with pipeline.sync_turn() as turn:
            assert turn.round([answer("Hello " * 1000)]).text == "Hello " * 1000
