"""Compact parameters: one readable line a call, while its arguments stream."""

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.compact import CompactLine, Parameters
from penstock.formatters import FORMATTERS, default_line


def line_of(tool_name: str, arguments: str | dict[str, Any], width: int = 80) -> str:
    parameters = Parameters()
    parameters.feed(arguments if isinstance(arguments, str) else json.dumps(arguments))
    return CompactLine(width=width)(tool_name, parameters)


@pytest.mark.parametrize(
    ("tool_name", "arguments", "line"),
    [
        # Claude Code
        ("Write", {"file_path": "/src/a.py", "content": "one\ntwo\n"}, "/src/a.py (2 lines)"),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "x\ny\nz"}, "a.py (-1 +3)"),
        ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x"}, {}]}, "a.py (2 edits)"),
        ("Read", {"file_path": "a.py"}, "a.py"),
        ("Read", {"file_path": "a.py", "offset": 10, "limit": 50}, "a.py:10-59"),
        ("Bash", {"command": "pytest -q\n", "description": "Run tests"}, "pytest -q"),
        ("Grep", {"pattern": "def main", "path": "src/"}, "def main in src/"),
        ("Glob", {"pattern": "**/*.py"}, "**/*.py"),
        ("WebFetch", {"url": "https://example.com", "prompt": "What?"}, "https://example.com"),
        ("Task", {"subagent_type": "Explore", "description": "Find it", "prompt": "…"}, "Explore: Find it"),
        (
            "TodoWrite",
            {"todos": [{"content": "A", "status": "completed"}, {"content": "B", "status": "in_progress"}]},
            "2 items: B",
        ),
        # Codex
        ("shell", {"command": ["bash", "-lc", "cat a.py"]}, "cat a.py"),
        ("exec_command", {"cmd": "ls"}, "ls"),
        ("command_execution", {"command": "/bin/zsh -lc 'echo \"hi\"'"}, 'echo "hi"'),
        ("web_search", {"type": "search", "query": "", "q": "weather"}, "weather"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: a.py\n+x\n"}, "a.py (3 lines)"),
        ("apply_patch", "*** Begin Patch\n*** Add File: b.py\n+x\n", "b.py (3 lines)"),
        ("update_plan", {"plan": [{"step": "Look", "status": "pending"}]}, "1 item"),
        # Gemini CLI
        ("write_file", {"file_path": "a.py", "content": "x"}, "a.py (1 line)"),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": ""}, "a.py (-1 +0)"),
        ("run_shell_command", {"command": "make"}, "make"),
        ("search_file_content", {"pattern": "TODO"}, "TODO"),
        ("google_web_search", {"query": "weather"}, "weather"),
        ("read_many_files", {"paths": ["a.py", "b.py"]}, "a.py b.py"),
        # Cursor
        ("writeToolCall", {"path": "a.py", "fileText": "x\ny"}, "a.py (2 lines)"),
        ("shellToolCall", {"command": "npm test"}, "npm test"),
        ("edit_file", {"target_file": "a.py", "code_edit": "x"}, "a.py (1 line)"),
        # others
        ("str_replace_based_edit_tool", {"command": "create", "path": "a", "file_text": "x"}, "a (1 line)"),
        ("mcp__files__write_file", {"path": "a", "content": "x"}, "a (1 line)"),
        ("get_weather", {"city": "Zürich", "days": 3, "exact": True}, "city: Zürich, days: 3, exact: true"),
        ("nested", {"list": [1, 2], "map": {"a": 1}, "nothing": None}, "list: [2], map: {…}, nothing: null"),
        ("many", dict.fromkeys("abcdefgh", 1), "a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, …"),
        ("Bash", {"unheard_of": "x"}, "unheard_of: x"),
        ("no_arguments", {}, ""),
        ("freeform", "not json", "not json"),
    ],
)
def test_well_known_tools_show_what_matters(tool_name: str, arguments: Any, line: str) -> None:
    assert line_of(tool_name, arguments) == line


def test_the_line_is_up_to_date_while_the_parameters_stream_fr_006() -> None:
    compact, parameters = CompactLine(), Parameters()
    lines = []
    for delta in ('{"file_', 'path": "src/', 'a.py", "con', 'tent": "one', "\\ntwo", '\\nthree"}'):
        parameters.feed(delta)
        lines.append(compact("write_file", parameters))
    assert lines == [
        "",
        "src/",
        "src/a.py",
        "src/a.py (1 line)",
        "src/a.py (2 lines)",
        "src/a.py (3 lines)",
    ]


def test_a_line_does_not_show_something_else_until_the_parameter_it_waits_for_comes() -> None:
    assert line_of("Bash", '{"description": "List files", ') == ""
    assert line_of("Bash", '{"description": "List files", "command": "l') == "l"


def test_a_deployment_registers_its_own_formatters_by_name() -> None:
    def deploy(parameters: Parameters) -> str:
        return f"{parameters.text('service')} → {parameters.text('stage')}"

    compact, parameters = CompactLine({"deploy": deploy, "Write": lambda _: "mine"}), Parameters()
    parameters.feed('{"service": "web", "stage": "production"}')
    assert compact("deploy", parameters) == "web → production"
    assert compact("Write", parameters) == "mine"


def test_a_formatter_that_raises_is_reported_once_and_replaced_by_the_default(
    caplog: pytest.LogCaptureFixture,
) -> None:
    compact, parameters = CompactLine({"broken": lambda parameters: str(1 // 0)}), Parameters()
    parameters.feed('{"a": 1}')
    with caplog.at_level(logging.ERROR, "penstock"):
        assert [compact("broken", parameters) for _ in range(3)] == ["a: 1"] * 3
    assert [record.getMessage() for record in caplog.records] == ["the formatter of tool 'broken' failed"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        "path",
        "file_path",
        "content",
        "command",
        "pattern",
        "todos",
        "plan",
        "edits",
        "offset",
        "limit",
        "input",
        "url",
    ]
)


@given(st.sampled_from(sorted(FORMATTERS)), st.dictionaries(NAMES, JSON, max_size=4) | JSON, st.integers(1, 60))
def test_no_shape_of_arguments_breaks_a_formatter(tool: str, arguments: Any, cut: int) -> None:
    parameters = Parameters()
    text = json.dumps(arguments)
    for delta in (text[:cut], text[cut:]):
        parameters.feed(delta)
        assert isinstance(FORMATTERS[tool](parameters), str)
        assert isinstance(default_line(parameters), str)
        assert len(CompactLine(width=30)(tool, parameters)) <= 60
