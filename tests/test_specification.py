"""`docs/specification.md` is complete and true: every requirement has code and a test, and both exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([A-Z0-9][\w.-]*) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROWS = ROW.findall((ROOT / "docs" / "specification.md").read_text(encoding="utf-8"))
REQUIRED = [
    *(f"FR-00{number}" for number in range(1, 10)),
    *("FR-002a", "FR-002b", "FR-002c", "FR-002d", "FR-003a"),
    *(f"US{story}.{scenario}" for story in range(1, 4) for scenario in range(1, 4)),
    *(f"US4.{scenario}" for scenario in range(1, 6)),
    *(f"E{number}" for number in range(1, 6)),
    *(f"{kind}{number}" for kind in ("SC", "FSC", "FG") for number in range(1, 6)),
    *(f"G{number}" for number in range(1, 7)),
    *(f"V{number}" for number in range(1, 7)),
]  # fmt: skip


def test_every_requirement_of_the_specifications_has_its_row() -> None:
    ids = [row[0] for row in ROWS]
    assert not set(REQUIRED) - set(ids)
    assert len(ids) == len(set(ids)), "a requirement has two rows"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_code_and_the_tests_of_a_requirement_exist(row: tuple[str, str, str, str]) -> None:
    _, _, code, tests = row
    files = re.findall(r"`([\w/.]+)`", code)
    named = TEST.findall(tests)
    assert files
    assert named
    for file in files:
        assert (ROOT / file).is_file(), f"{file} is not there"
    for file, name in named:
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        places = [number for number, line in enumerate(lines) if re.match(rf"\s*def {name}\(", line)]
        assert len(places) == 1, f"{file} has no test {name}"
        marks = [
            line for line in lines[max(0, places[0] - 5) : places[0]] if "xfail" in line or "mark.skip(" in line
        ]
        assert not marks, f"{name} is not run"
