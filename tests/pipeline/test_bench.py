"""What `penstock bench` measures and prints: figures of every kind, from made answers or one's own file."""

import json
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import pytest

from penstock import Pipeline, Settings
from penstock.bench import report as reports
from penstock.bench.by_hand import read_by_hand
from penstock.bench.live import Live
from penstock.bench.measure import read_through
from penstock.bench.memory import Memory
from penstock.bench.openai_client import openai_runs
from penstock.bench.plot import as_svg
from penstock.bench.recorded import recorded_workload
from penstock.bench.report import Extent, Growth, Report, StageShare, Throughput, make_report
from penstock.bench.table import as_text
from penstock.bench.workload import Kind, make_message_workload, make_workload
from penstock.cli import main

TINY = Extent(chunks=200, rounds=1, streams=(1, 3), live_chunks=5, growth=(50, 100))

FIGURES = Report(
    throughput=[Throughput("text", 1000, 270_000, 0.8, 1.6)],
    stages=[StageShare("read(openai-chat)", 0.5), StageShare("coalesce(50 ms) <&>", 0.1)],
    compared=[Throughput("openai, chunk iteration", 1000, 270_000, 90.0, None)],
    memory=Memory(5_600, 20_000),
    live=[Live(10, 50.0, 200, (0.05, 0.1), (44.0, 55.0), 0.006, 1.2)],
    growth=[Growth("text", 10_000, 0.9), Growth("text", 100_000, 0.8)],
)


@pytest.mark.parametrize("kind", ["text", "thinking", "tools"])
def test_made_answers_are_the_same_every_time_and_hold_every_chunk(kind: Kind) -> None:
    one, other = make_workload(kind, 500), make_workload(kind, 500)
    assert one == other
    assert one.chunks == 500
    assert b"".join(one.reads).startswith(b"".join(one.arrivals))
    assert max(map(len, one.reads)) <= 1500


def test_made_message_events_say_what_their_chunks_say() -> None:
    workload = make_message_workload(300)
    reply = read_through(Pipeline(Settings(backend="anthropic")), workload.reads)
    assert reply.error is None
    assert reply.stop_reason == "end_turn"
    assert reply.text.count(" ") >= 300


def test_the_openai_client_reads_the_same_answer() -> None:
    reads = make_workload("text", 50).reads
    assert {run() for run in openai_runs(reads).values()} == {read_by_hand(reads)}


def test_a_report_has_figures_of_every_kind() -> None:
    steps: list[str] = []
    report = make_report(Pipeline(), TINY, compares_openai=True, on_step=steps.append)
    assert [one.workload for one in report.throughput] == ["text", "thinking", "tools"]
    assert all(one.us_per_chunk > 0 and one.by_hand_us_per_chunk for one in report.throughput)
    assert [stage.label for stage in report.stages] == list(Pipeline().operator("openai-chat").labels)
    assert [one.streams for one in report.live] == [1, 3]
    assert all(one.updates >= one.streams for one in report.live)
    assert report.memory is not None
    assert 0 < report.memory.idle < report.memory.speaking
    assert len(report.growth) == 6
    assert len(report.compared) == 2
    assert len(steps) == 3 + 1 + 1 + 1 + 2 + 6


def test_a_file_is_measured_by_its_longest_round(tmp_path: Path) -> None:
    path = tmp_path / "answer.sse"
    path.write_bytes(b"".join(make_workload("text", 60).reads))
    workload = recorded_workload(path)
    assert b"".join(workload.reads) == b"".join(workload.arrivals)
    report = make_report(Pipeline(), TINY, workload)
    assert [one.workload for one in report.throughput] == ["answer.sse"]
    assert report.throughput[0].by_hand_us_per_chunk is None
    assert not report.growth


def test_the_table_shows_every_figure_under_its_head() -> None:
    text = as_text(FIGURES)
    assert "text       1,000        0.80  1,250,000   338       0.50" in text
    assert "openai, chunk iteration        90.0         112" in text
    for title in (
        "From raw bytes",
        "By stage",
        "The same bytes",
        "Memory a turn",
        "Live on",
        "As the answer grows",
    ):
        assert title in text
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_the_plot_is_an_svg_with_a_bar_for_every_figure() -> None:
    root = xml.fromstring(as_svg(FIGURES))
    bars = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 1 + 3 + 2 + 1 + 2
    assert "coalesce(50 ms) <&>" in [element.text for element in root.iter()]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """The command without the measuring; gives what it asked to be measured."""
    asked: list[tuple[Any, ...]] = []

    def make(pipeline: Pipeline, extent: Extent, recorded: Any, **options: Any) -> Report:
        asked.append((pipeline, extent, recorded, options))
        return FIGURES

    monkeypatch.setattr(reports, "make_report", make)
    monkeypatch.chdir(tmp_path)
    return asked


def test_the_command_prints_the_table(figures: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--chunks", "70", "--read-bytes", "80"]) == 0
    assert capsys.readouterr().out == as_text(FIGURES) + "\n"
    ((_, extent, recorded, options),) = figures
    assert (extent.chunks, extent.max_read_bytes, recorded, options["compares_openai"]) == (70, 80, None, False)


def test_the_command_prints_json_and_draws(
    figures: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["bench", "--json", "--plot", "out.svg", "--compare", "openai"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["throughput"][0]["us_per_chunk"] == 0.8
    assert printed["live"][0]["added_ms"] == [44.0, 55.0]
    assert (tmp_path / "out.svg").read_text(encoding="utf-8") == as_svg(FIGURES)
    assert figures[0][3]["compares_openai"] is True


def test_the_command_measures_the_configuration_in_force(figures: list[Any], tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text('window_s = 0.2\nmarkup = "none"\n')
    assert main(["bench"]) == 0
    pipeline = figures[0][0]
    assert pipeline.settings.window_s == 0.2
    assert "route_tags" not in pipeline.describe()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["no-such-file"], "cannot read no-such-file: No such file or directory"),
        (["--chunks", "0"], "a whole number above 0, not '0'"),
        (["--compare", "langchain"], "invalid choice: 'langchain'"),
        (["--plot", "no/such/folder.svg"], "cannot write no/such/folder.svg"),
        (["answer.sse", "--compare", "openai"], "it reads made answers only"),
        (["empty.sse"], "there is nothing to measure in empty.sse"),
    ],
)
def test_wrong_usage_is_one_clear_line(
    figures: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "answer.sse").write_bytes(b'data: {"choices":[]}\n\n')
    (tmp_path / "empty.sse").write_bytes(b"")
    assert main(["bench", *arguments]) == 2
    assert complaint in capsys.readouterr().err
