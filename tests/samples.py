"""The code samples of a page, and how they run: a page is one program, in the order of its blocks.

| fence | what becomes of it |
| --- | --- |
| `python` | runs, with `await` allowed at the top level; names live on to the page's next block |
| `sh` | every line is a command, and has to succeed |
| `console` | lines with `$` are commands; what stands below each is what it prints, `…` for anything |
| `text` right after a `python` block | exactly what that block prints |
| any with `title="name"` | is written to that file, for the blocks after it to read or import |

All blocks of a page share a folder. Programs that are not penstock's (agents, curl) are stand-ins that print a
recording of ours; the demo is played at once; lines that begin with `pip` are CI's to run.
"""

import ast
import asyncio
import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
from openai_server import Answer, OpenAIServer, chat, response

__all__ = ["AnyModel", "Page", "Sample", "run_page", "samples_of", "stand_ins"]

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r'^```(\S*)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)

STAND_INS = {
    "claude": "claude-cli/interleaved-subagents.jsonl",
    "codex": "codex-exec/every-item.jsonl",
    "codex-app-server": "codex-app-server/reasoning-and-output.jsonl",
    "gemini": "gemini-cli/parallel-tools.jsonl",
    "cursor-agent": "cursor-cli/partial-output.jsonl",
    "some-agent": "openai-chat/thinking-and-parallel-tools.sse.txt",
    "curl": "openai-chat/thinking-and-parallel-tools.sse.txt",
}


@dataclass(frozen=True)
class Sample:
    language: str
    code: str
    line: int
    prints: str | None = None
    """What it prints, where the page says so."""
    file: str | None = None
    """Where it is written to, instead of run."""


@dataclass(frozen=True)
class Page:
    path: Path
    samples: tuple[Sample, ...]


def samples_of(path: Path) -> Page:
    """The fenced blocks of a page, a `text` block after a program joined to it."""
    text = path.read_text(encoding="utf-8")
    samples: list[Sample] = []
    end_of_program = -1
    for found in FENCE.finditer(text):
        language, file, code = found.groups()
        if language == "text" and samples and not text[end_of_program : found.start()].strip():
            program = samples[-1]
            if program.language == "python":
                samples[-1] = Sample(program.language, program.code, program.line, code)
                continue
        samples.append(Sample(language, code, text.count("\n", 0, found.start()) + 2, file=file))
        end_of_program = found.end()
    return Page(path, tuple(samples))


def stand_ins(folder: Path) -> None:
    """Programs that print a recording, whatever they are asked."""
    folder.mkdir()
    for name, recording in STAND_INS.items():
        program = folder / name
        program.write_text(f'#!/bin/sh\nexec cat "{ROOT / "tests" / "recordings" / recording}"\n')
        program.chmod(0o755)


class AnyModel(list[Answer]):
    """The answers of a model that calls the first tool it is offered, once, and then says hello."""

    def __init__(self, server: OpenAIServer) -> None:
        super().__init__([chat("")])
        self._server = server

    def pop(self, _index: Any = 0) -> Answer:
        request = self._server.requests[-1]
        answer = response if request["path"].endswith("/responses") else chat
        history = request.get("messages", request.get("input", []))
        tools = request.get("tools", [])
        if tools and not any("tool_call_id" in message for message in history):
            name = tools[0].get("function", tools[0])["name"]
            return answer("Let me look. ", calls=(("call-1", name, '{"path": "."}'),))
        return answer("Hel", "lo.")


def run_page(page: Page, folder: Path, runner: asyncio.Runner) -> None:
    """Run every block of the page in `folder`; the first that fails or prints something else ends it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    try:
        for sample in page.samples:
            if sample.file is not None:
                (folder / sample.file).write_text(sample.code, encoding="utf-8")
            elif sample.language == "python":
                _run_python(page, sample, namespace, runner)
            elif sample.language in ("sh", "console"):
                _run_commands(page, sample, folder)
    finally:
        for value in namespace.values():
            if isinstance(value, openai.AsyncOpenAI):
                runner.run(value.close())
            elif isinstance(value, openai.OpenAI):
                value.close()


def _run_python(page: Page, sample: Sample, namespace: dict[str, Any], runner: asyncio.Runner) -> None:
    # The line numbers of a traceback are the page's own.
    source = "\n" * (sample.line - 1) + sample.code
    code = compile(source, page.path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if code.co_flags & inspect.CO_COROUTINE:
            runner.run(eval(code, namespace))
        else:
            exec(code, namespace)
    if sample.prints is not None:
        assert printed.getvalue() == sample.prints, (
            f"{page.path.name}, line {sample.line}, prints\n{printed.getvalue()}"
        )


def _run_commands(page: Page, sample: Sample, folder: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command, expected in _commands(sample):
        if command.startswith("pip "):
            continue
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command.replace("penstock demo", "penstock demo --speed max")],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        where = f"{page.path.name}, line {sample.line}: {command}"
        assert done.returncode == 0, f"{where}\n{done.stdout[-500:]}\n{done.stderr}"
        if expected:
            pattern = ".*".join(map(re.escape, expected.split("…")))
            assert re.fullmatch(pattern, done.stdout, re.DOTALL), f"{where}\nprinted\n{done.stdout}"


def _commands(sample: Sample) -> Iterator[tuple[str, str]]:
    code = sample.code.replace("\\\n", "")
    if sample.language == "sh":
        for line in code.splitlines():
            if line.strip() and not line.startswith("#"):
                yield line, ""
    else:
        for part in re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            yield command, expected
