"""The examples run as they are: against a local server, a made-up agent, made-up streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from openai_server import OpenAIServer, chat, response

from penstock.backends.registry import backend_names

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(
    name: str, *arguments: str, server: OpenAIServer | None = None, stdin: bytes = b"", cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONUTF8": "1", **(server.environment if server else {})},
        cwd=cwd,
        timeout=60,
        check=False,
    )


def check(done: subprocess.CompletedProcess[bytes], out: str) -> None:
    assert (done.returncode, done.stdout.decode()) == (0, out), done.stderr.decode()


def test_the_async_loop_runs_its_tools_at_once_and_says_the_answer(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    calls = (("c1", "list_folder", '{"path": "."}'), ("c2", "count_lines", '{"path": "a.txt"}'))
    answers = (chat("Let me look.", calls=calls), chat("One file ", "of three lines."))
    with OpenAIServer(*answers) as server:
        check(run("async_loop.py", server=server, cwd=tmp_path), "Let me look.\n\nOne file of three lines.\n")
    results = [(m["tool_call_id"], m["content"]) for m in server.requests[1]["messages"] if m["role"] == "tool"]
    assert results == [("c1", "a.txt"), ("c2", "3")]


def test_a_tool_that_fails_is_an_answer_to_the_model(tmp_path: Path) -> None:
    calls = (("c1", "count_lines", '{"path": "missing"}'),)
    with OpenAIServer(chat(calls=calls), chat("There is none.")) as server:
        check(run("async_loop.py", server=server, cwd=tmp_path), "There is none.\n")
    assert "No such file" in server.requests[1]["messages"][-1]["content"]


def test_the_sync_loop_does_the_same_on_the_responses_api() -> None:
    with OpenAIServer(response(calls=(("c1", "now", "{}"),)), response("It is ", "late.")) as server:
        check(run("sync_loop.py", server=server), "It is late.\n")
    assert [request["path"] for request in server.requests] == ["/v1/responses"] * 2
    assert server.requests[1]["input"][-1]["call_id"] == "c1"


def test_the_agent_in_a_child_process_shows_its_tools_and_its_answer() -> None:
    command = (sys.executable, str(EXAMPLES / "pretend_claude.py"), "--fast")
    done = run("claude_cli_loop.py", *command)
    check(done, "The pump has one function and it does nothing yet.\n")
    assert done.stderr.decode() == "[Read …]\n[Read pump.py: ok]\n"


def test_an_agent_that_fails_is_told_by_the_exit_status() -> None:
    command = (sys.executable, "-c", "import sys; sys.exit(3)")
    assert run("claude_cli_loop.py", *command).returncode == 1


def test_tools_written_as_tags_never_show() -> None:
    call = '<tool_call>{"name": "add", "arguments": {"numbers": [17, 25]}}</tool_call>'
    with OpenAIServer(chat("I add. ", *call), chat("It is 42.")) as server:
        check(run("tagged_tools.py", server=server), "I add. \n\nIt is 42.\n")
    assert server.requests[1]["messages"][-1]["content"] == "<tool_response>42</tool_response>"


def test_the_plain_rx_graph_shares_one_reading() -> None:
    raw = run("read_any_backend.py", "openai-chat", "--raw").stdout
    done = run("plain_rx.py", stdin=raw)
    check(done, "Hello there.\n")
    assert done.stderr.decode() == "(0.5 s to read)\n(0 tool calls)\n"


def test_there_is_an_example_of_every_backend() -> None:
    usage = run("read_any_backend.py").stderr.decode()
    assert sorted(usage.split()[-1].split("|")) == sorted(backend_names())


@pytest.mark.parametrize("backend", backend_names())
def test_every_backends_example_is_read(backend: str) -> None:
    check(run("read_any_backend.py", backend), "Hello there.\n")
