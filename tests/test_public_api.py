"""What is public is listed, importable and light; what is shipped is everything."""

import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import penstock

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = ("penstock", "penstock.operators", "penstock.sinks", "penstock.backends", "penstock.sources")


@pytest.mark.parametrize("module", PUBLIC)
def test_every_listed_name_is_there_once_and_in_order(module: str) -> None:
    exported = importlib.import_module(module)
    names = exported.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(exported, name), f"{module}.{name} is listed and missing"


def test_every_module_says_what_it_is_and_what_is_public() -> None:
    for folder, package in (
        ("pipeline", "penstock"),
        ("operators", "penstock.operators"),
        ("sinks", "penstock.sinks"),
    ):
        for module in pkgutil.walk_packages([str(ROOT / folder)], f"{package}."):
            loaded = importlib.import_module(module.name)
            assert loaded.__doc__, f"{module.name} has no docstring"
            if not module.ispkg and not module.name.rpartition(".")[2].startswith("_"):
                assert hasattr(loaded, "__all__"), f"{module.name} does not list what is public"


def test_every_operator_with_a_file_of_its_own_is_exported() -> None:
    operators = importlib.import_module("penstock.operators")
    for file in (ROOT / "operators").glob("[a-z]*.py"):
        module = importlib.import_module(f"penstock.operators.{file.stem}")
        if callable(getattr(module, file.stem, None)):
            assert file.stem in operators.__all__, f"operator {file.stem} is not exported"


def test_every_folder_of_code_is_a_package_that_is_shipped() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = set(project["tool"]["setuptools"]["packages"])
    found = {"penstock", "penstock.operators", "penstock.sinks"}
    for folder, package in (
        ("pipeline", "penstock"),
        ("operators", "penstock.operators"),
        ("sinks", "penstock.sinks"),
    ):
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join([package, *init.parent.relative_to(ROOT / folder).parts]))
    assert shipped == found


def test_the_version_is_the_projects() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert penstock.__version__ == project["project"]["version"]


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_penstock_imports_nothing_heavy() -> None:
    heavy = ("openai", "structlog", "rich", "pydantic", "httpx")
    code = f"import sys, penstock.sinks, penstock.operators; print([m for m in {heavy} if m in sys.modules])"
    assert python(code) == "[]"


def test_importing_penstock_takes_at_most_three_times_what_reactivex_alone_does() -> None:
    timing = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    ratios = []
    for _ in range(5):
        alone = float(python(timing.format("reactivex")))
        whole = float(python(timing.format("penstock")))
        ratios.append(whole / alone)
    print(f"import penstock / import reactivex: {min(ratios):.2f}")
    assert min(ratios) <= 3


def test_no_line_names_a_machines_path_or_a_package_index() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a git checkout")
    for name in tracked.stdout.split():
        file = ROOT / name
        if file.suffix in {".py", ".md", ".toml", ".txt", ".sh"} and file.is_file():
            text = file.read_text()
            for forbidden in ("/" + "work/", "pypi" + ".org", "--index" + "-url"):
                assert forbidden not in text, f"{name} names {forbidden}"
