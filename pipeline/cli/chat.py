"""`penstock chat`: a small real agent loop, for any OpenAI-compatible endpoint."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.options import Subparsers, add_command, add_common
from penstock.errors import UsageError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from penstock.events import ToolInvocation
    from penstock.turn import Turn

__all__ = ["add", "run"]

EXAMPLES = """\
  penstock chat --model gpt-4.1-mini
  penstock chat --model qwen3:8b --base-url http://localhost:11434/v1
  penstock chat --model gpt-4.1-mini --root ~/project "Which files have tests?"

The model can read files, list folders and search, all below --root, and nothing else. The key is OPENAI_API_KEY.
An interrupt (Ctrl-C) ends the answer, not the chat; the end of the input (Ctrl-D) ends the chat.
"""

PROMPT = "> "
SYSTEM = "You help with the files of one folder. Use the tools to look before you answer. Be brief."


def add(subparsers: Subparsers) -> None:
    parser = add_command(
        subparsers, "chat", run, "talk to a model that can look at the files of a folder", EXAMPLES
    )
    parser.add_argument("message", nargs="*", help="ask this, and end after the answer")
    parser.add_argument("--model", metavar="NAME", help="the model; else OPENAI_MODEL")
    parser.add_argument("--base-url", metavar="URL", help="the endpoint; else OPENAI_BASE_URL, else that of OpenAI")
    parser.add_argument(
        "--root", metavar="FOLDER", default=".", help="the folder to look at; this one unless given"
    )
    add_common(parser, backend="openai-chat")


def run(arguments: argparse.Namespace) -> int:
    from penstock.cli.show import watched_sinks

    if sys.stdout is None:
        raise UsageError("standard output is closed")
    with watched_sinks() as failures, asyncio.Runner() as runner:
        chat = Chat(arguments, runner)
        status = chat.ask(" ".join(arguments.message)) if arguments.message else chat.talk()
        runner.run(chat.close())
    return status or (1 if failures else 0)


class Chat:
    """A conversation: what was said, and the loop that answers the next message."""

    def __init__(self, arguments: argparse.Namespace, runner: asyncio.Runner) -> None:
        from penstock.cli.chat_tools import FolderTools

        self._arguments = arguments
        self._runner = runner
        self._model = arguments.model or os.environ.get("OPENAI_MODEL", "")
        if not self._model:
            raise UsageError("which model? say it with --model NAME or OPENAI_MODEL")
        root = Path(arguments.root).expanduser()
        if not root.is_dir():
            raise UsageError(f"{arguments.root} is not a folder")
        self._tools = FolderTools(root)
        self._client = _client(arguments.base_url)
        self._history: list[Any] = [{"role": "system", "content": SYSTEM}]

    async def close(self) -> None:
        await self._client.close()

    def talk(self) -> int:
        """Ask for messages and answer them until the input ends."""
        is_terminal = sys.stdin is not None and sys.stdin.isatty()
        if is_terminal:
            import readline  # noqa: F401  # gives the prompt its editing keys
        while True:
            try:
                message = input(PROMPT if is_terminal else "").strip()
            except EOFError:
                print()
                return 0
            except KeyboardInterrupt:
                print()
                continue
            status = self.ask(message) if message else 0
            if status > 128 and status != 128 + signal.SIGINT:
                return status

    def ask(self, message: str) -> int:
        """Answer one message; gives back the exit status it would have alone."""
        return self._runner.run(self._answer(message))

    async def _answer(self, message: str) -> int:
        from penstock.cli.ending import Ending
        from penstock.cli.options import configured
        from penstock.cli.output import printing_sinks

        ending = Ending()
        loaded = configured(self._arguments)
        pipeline = loaded.pipeline(printing_sinks(loaded.configuration, ending.output_failed))
        before = len(self._history)
        self._history.append({"role": "user", "content": message})
        async with pipeline.turn() as turn:
            await ending.of(self._loop(turn), lambda: turn.abort("interrupted"))
        sys.stdout.flush()
        error = turn.result.error
        if error is not None or ending.status:
            # A history that ends in calls without results is refused: keep the question and what was said to it.
            del self._history[before + 1 :]
            if turn.final_message:
                self._history.append({"role": "assistant", "content": turn.final_message})
        return ending.status or (1 if error is not None else 0)

    async def _loop(self, turn: "Turn") -> None:
        from penstock.sources.retry import retrying

        while True:
            reply = await turn.round(retrying(self._create, backend="openai-chat", on_retry=turn.push))
            self._history.append(reply.as_message())
            if reply.error is not None or not reply.tool_calls:
                return
            self._history += await asyncio.gather(*(self._run_tool(turn, call) for call in reply.tool_calls))

    async def _create(self) -> Any:
        return await self._client.chat.completions.create(
            model=self._model,
            messages=self._history,
            tools=self._tools.definitions,  # type: ignore[arg-type]
            stream=True,
        )

    async def _run_tool(self, turn: "Turn", call: "ToolInvocation") -> dict[str, Any]:
        async with turn.tool(call) as block:
            try:
                block.result(await asyncio.to_thread(self._tools.call, call.tool_name, call.input))
            except (ValueError, OSError) as error:
                block.error(str(error))
        return block.as_message()


def _client(base_url: str | None) -> "AsyncOpenAI":
    from openai import AsyncOpenAI, OpenAIError

    # Endpoints of one's own seldom want a key, but the client does.
    has_own_endpoint = base_url or os.environ.get("OPENAI_BASE_URL")
    key = os.environ.get("OPENAI_API_KEY") or ("none" if has_own_endpoint else None)
    try:
        return AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0)
    except OpenAIError as error:
        raise UsageError("there is no key: set OPENAI_API_KEY, or give an endpoint of your own") from error
