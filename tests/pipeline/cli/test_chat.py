"""`penstock chat` against a local server: one question, a conversation, a real terminal, an interrupt."""

import os
import pty
import re
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from openai_server import Answer, OpenAIServer, chat, limited

from penstock.cli import main
from penstock.cli.chat_tools import FolderTools

PENSTOCK = [sys.executable, "-c", "import sys; from penstock.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def no_other_endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def ask(server: OpenAIServer, *arguments: str) -> int:
    return main(["chat", "--base-url", server.base_url, "--model", "m", "-o", "text", *arguments])


def test_a_question_is_answered_with_the_tools(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("the valve is red\n")
    calls = (("c1", "read_file", '{"path": "notes.txt"}'), ("c2", "search", '{"text": "VALVE"}'))
    with OpenAIServer(chat("I look.", calls=calls), chat("It is red.")) as server:
        assert ask(server, "--root", str(tmp_path), "what", "colour?") == 0
    assert capfd.readouterr() == ("I look.\n\nIt is red.\n", "")
    first, second = server.requests
    assert [tool["function"]["name"] for tool in first["tools"]] == ["read_file", "list_folder", "search"]
    assert first["messages"][-1] == {"role": "user", "content": "what colour?"}
    assert [m["content"] for m in second["messages"][-2:]] == [
        "the valve is red\n",
        "notes.txt:1: the valve is red",
    ]


def test_a_conversation_goes_on_line_by_line_until_the_input_ends(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = iter(["hello", "", "again"])

    def read(prompt: str) -> str:
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", read)
    with OpenAIServer(chat("First."), chat("Second.")) as server:
        assert ask(server) == 0
    assert capfd.readouterr().out == "First.\nSecond.\n\n"
    assert [m["content"] for m in server.requests[1]["messages"][1:]] == ["hello", "First.", "again"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            Answer([b'{"error": {"message": "no such model"}}'], 404, {"content-type": "application/json"}),
            "no such",
        ),
        (chat("half", ending="cut"), "source_failed"),
    ],
)
def test_trouble_is_told_in_a_line_and_by_the_exit_status(
    answer: Answer, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer(answer) as server:
        assert ask(server, "hi") == 1
    err = capfd.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_rate_limit_is_waited_for_and_told(capfd: pytest.CaptureFixture[str]) -> None:
    with OpenAIServer(limited(retry_after_s=0.01), chat("Now.")) as server:
        assert ask(server, "hi") == 0
    out, err = capfd.readouterr()
    assert out == "Now.\n"
    assert "attempt 1 of 3 failed" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "which model?"),
        (("--model", "m"), "there is no key"),
        (("--model", "m", "--root", "nowhere"), "nowhere is not a folder"),
    ],
)
def test_wrong_usage_is_said_in_one_line(
    arguments: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["chat", *arguments, "hi"]) == 2
    err = capfd.readouterr().err
    assert said in err
    assert err.count("\n") == 1


# ── on a terminal ────────────────────────────────────────────────────────────────────────────────────────


class Typist:
    """`penstock chat` in a child on a terminal of its own: type, and wait for what is shown."""

    def __init__(self, server: OpenAIServer) -> None:
        environment = {**os.environ, **server.environment, "TERM": "xterm", "LANG": "C.UTF-8"}
        environment.pop("CI", None)  # there, a terminal shows only what is finished
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [*PENSTOCK, "chat"], environment)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str, pressing: str = "") -> str:
        """Read until `text` is shown, pressing keys again where nothing comes; what was shown before it."""
        self.type(pressing)
        until = time.monotonic() + 20
        while text not in self.shown:
            assert time.monotonic() < until, f"{text!r} never came; there is {self.shown!r}"
            if not select.select([self._terminal], [], [], 2)[0]:
                self.type(pressing)
            else:
                try:
                    piece = os.read(self._terminal, 65536).decode("utf-8", "replace")
                except OSError:
                    piece = ""
                assert piece, f"the program ended without {text!r}; there is {self.shown!r}"
                self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", piece)
        before, self.shown = self.shown.split(text, 1)
        return before

    def end(self) -> int:
        """The exit status, once all is read."""
        while True:
            try:
                if not os.read(self._terminal, 65536):
                    break
            except OSError:
                break
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def test_an_interrupt_ends_the_answer_not_the_chat() -> None:
    with OpenAIServer(chat("A very long ", "answer", ending="never"), chat("Short.")) as server:
        typist = Typist(server)
        try:
            typist.wait_for("> ")
            typist.type("tell me\r")
            typist.wait_for("A very long answer")
            typist.type("\x03")
            typist.wait_for("> ")
            assert server.has_hung_up.wait(5)
            typist.type("shorter\r")
            typist.wait_for("Short.")
            typist.wait_for("> ")
            # A signal between readline's prompt and its wait for keys is heard with the next key: press again.
            typist.wait_for("> ", pressing="\x03")
            typist.type("\x04")
        except AssertionError:
            typist.kill()
            raise
        assert typist.end() == 0
    kept: list[Any] = server.requests[1]["messages"]
    assert [m["content"] for m in kept[1:]] == ["tell me", "A very long answer", "shorter"]


# ── the tools ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def tools(tmp_path: Path) -> FolderTools:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "sub" / "b.txt").write_text("TWO and two\n")
    (root / ".git" / "two").write_text("two")
    (tmp_path / "secret.txt").write_text("two secrets")
    (root / "way-out").symlink_to(tmp_path)
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return FolderTools(root)


@pytest.mark.parametrize(
    "path", ["../secret.txt", "/etc/passwd", "way-out/secret.txt", "link.txt", "sub/../../secret.txt"]
)
@pytest.mark.parametrize("tool", ["read_file", "list_folder"])
def test_nothing_outside_the_folder_can_be_reached(tools: FolderTools, tool: str, path: str) -> None:
    with pytest.raises(ValueError, match="outside"):
        tools.call(tool, {"path": path})


def test_a_search_stays_inside_and_leaves_hidden_folders_alone(tools: FolderTools) -> None:
    assert tools.call("search", {"text": "two"}) == "a.txt:2: two\nsub/b.txt:1: TWO and two"
    assert tools.call("search", {"text": "zwei"}) == "nothing found"
    assert tools.call("search", {"text": "one", "path": "a.txt"}) == "a.txt:1: one"


def test_a_file_is_read_from_any_line_and_a_long_one_in_parts(tools: FolderTools, tmp_path: Path) -> None:
    assert tools.call("read_file", {"path": "a.txt", "first_line": 2}) == "two\nthree\n"
    (tmp_path / "root" / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 20_001)))
    part = tools.call("read_file", {"path": "long.txt"})
    following = re.search(r"cut; line (\d+) of 20000", part)
    assert following is not None
    rest = tools.call("read_file", {"path": "long.txt", "first_line": int(following[1])})
    assert rest.startswith(f"line {following[1]}\n")


def test_a_folder_lists_its_names(tools: FolderTools) -> None:
    assert tools.call("list_folder", {}).split("\n") == [".git/", "a.txt", "link.txt", "sub/", "way-out/"]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("delete", {}, "no tool 'delete'"),
        ("read_file", "a.txt", "not a JSON object"),
        ("read_file", {"file": "a.txt"}, "wrong arguments"),
        ("search", {"text": ""}, "no text"),
    ],
)
def test_a_wrong_call_is_told_in_words(tools: FolderTools, name: str, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tools.call(name, given)
