"""docs/backends.md says something about every backend there is, and about no other."""

import re
from pathlib import Path

from penstock.backends.registry import BUILT_IN

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "backends.md").read_text(encoding="utf-8")


def test_the_table_has_a_row_for_each_backend_in_order() -> None:
    table = PAGE.partition("| backend | text |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == BUILT_IN


def test_each_backend_has_a_section_and_all_but_text_say_what_was_seen() -> None:
    sections = dict(re.findall(r"^### ([a-z-]+)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert tuple(sections) == BUILT_IN
    assert [name for name, said in sections.items() if not said.startswith("Seen: ")] == ["text"]
