"""What README and docs/ show is true: samples run, pictures are current, and what is named exists."""

import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai_server import OpenAIServer
from samples import ROOT, AnyModel, Page, Sample, run_page, samples_of, stand_ins

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md"))]
SHOWN_AS_THEY_ARE = {"toml", "json", "text"}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a page's samples run: with a model to talk to, agents to start, and nothing else."""
    stand_ins(tmp_path / "bin")
    folder = tmp_path / "here"
    folder.mkdir()
    with OpenAIServer() as server:
        server.answers = AnyModel(server)
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield folder


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_sample_of_the_page_runs(path: Path, folder: Path, run_async: asyncio.Runner) -> None:
    run_page(samples_of(path), folder, run_async)


def test_the_loop_of_the_readme_runs_its_tool_and_answers(folder: Path, run_async: asyncio.Runner) -> None:
    page = samples_of(ROOT / "README.md")
    loop = next(sample for sample in page.samples if "async def answer" in sample.code)
    asking = """
calls = []

async def run(call):
    calls.append(call)
    return ["README.md"]

tools = [{"type": "function", "function": {"name": "list_files", "parameters": {}}}]
assert await answer([{"role": "user", "content": "Which files are here?"}], tools, run) == "Hello."
assert [(call.tool_name, call.input) for call in calls] == [("list_files", {"path": "."})]
"""
    run_page(Page(page.path, (loop, Sample("python", asking, 1))), folder, run_async)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_no_sample_escapes_the_tests(path: Path) -> None:
    page = samples_of(path)
    languages = {sample.language for sample in page.samples}
    assert languages <= {"python", "sh", "console", *SHOWN_AS_THEY_ARE}, "name the language of every fence"
    for sample in page.samples:
        if sample.language in SHOWN_AS_THEY_ARE:
            assert not re.search(r"^\$? ?(penstock|import|from) ", sample.code, re.MULTILINE), sample
    prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    indented = re.search(r"^ {4,}(\$|penstock|pip|import|from|await|async with) .*", prose, re.MULTILINE)
    assert not indented, f"code is fenced, not indented: {indented}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_test_and_example_the_page_names_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for file, test in re.findall(r"((?:tests|examples)/[\w/]+\.py)(?:::(\w+))?", text):
        assert (ROOT / file).is_file(), f"{file} is not there"
        assert not test or f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{file} has no {test}"


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    listed = re.findall(r"([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == [str(page.relative_to(DOCS)) for page in PAGES[1:]]


def test_every_file_the_readme_links_to_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert "://" in target or (ROOT / target).is_file(), f"{target} is not there"


def test_the_timelines_are_what_the_operators_do(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "make_timelines", tmp_path], check=True)
    made = {picture.name: picture.read_text(encoding="utf-8") for picture in tmp_path.iterdir()}
    committed = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "timelines").iterdir()}
    assert made == committed, "run scripts/make_timelines"
    shown = set(re.findall(r"\(timelines/([\w.]+)\)", (DOCS / "operators.md").read_text(encoding="utf-8")))
    assert shown == set(made)


def test_every_operator_and_every_sink_has_its_section() -> None:
    import penstock.operators
    import penstock.sinks

    headings = re.findall(
        r"^### `(\w+)\((.*)\)`$", (DOCS / "operators.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    operators = [name for name in penstock.operators.__all__ if name.islower()]
    assert sorted(name for name, _ in headings) == sorted(operators)
    for name, said in headings:
        parameters = inspect.signature(getattr(penstock.operators, name)).parameters
        for option, default in re.findall(r"(\w+)=(\"[^\"]*\"|[^,]+)", said):
            assert repr(parameters[option].default) == default.replace('"', "'"), f"{name}({said})"
    sinks_page = (DOCS / "sinks.md").read_text(encoding="utf-8")
    for name in penstock.sinks.__all__:
        assert name in sinks_page, f"docs/sinks.md says nothing about {name}"
