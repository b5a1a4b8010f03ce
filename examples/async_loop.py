"""An agent loop on the openai client; the tools of a round run at once.

OPENAI_API_KEY=… python examples/async_loop.py "What is in this folder?"

Any OpenAI-compatible endpoint will do: set OPENAI_BASE_URL and OPENAI_MODEL.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from penstock import Pipeline, Settings, ToolInvocation, Turn
from penstock.sinks.choose import output_sinks

MODEL = os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
DESCRIPTIONS = {"list_folder": "The names in a folder", "count_lines": "How many lines a file has"}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": name, "description": description, "parameters": PATH}}
    for name, description in DESCRIPTIONS.items()
]


def list_folder(path: str) -> str:
    return "\n".join(sorted(entry.name for entry in Path(path).iterdir()))


def count_lines(path: str) -> str:
    return str(len(Path(path).read_text().splitlines()))


async def run_tool(turn: Turn, call: ToolInvocation) -> dict[str, Any]:
    """Run one call off the event loop; an exception is the tool's answer, and the turn goes on."""
    tools = {"list_folder": list_folder, "count_lines": count_lines}
    async with turn.tool(call) as block:
        try:
            block.result(await asyncio.to_thread(tools[call.tool_name], **call.input))
        except Exception as error:
            block.error(f"{type(error).__name__}: {error}")
    return block.as_message()


async def ask(client: AsyncOpenAI, pipeline: Pipeline, question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    async with pipeline.turn() as turn:
        while True:
            stream = await client.chat.completions.create(
                model=MODEL, messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
            )
            reply = await turn.round(stream)
            messages.append(reply.as_message())
            if not reply.tool_calls:
                break
            messages += await asyncio.gather(*(run_tool(turn, call) for call in reply.tool_calls))
    return turn.final_message


async def main(question: str) -> None:
    pipeline = Pipeline(Settings(backend="openai-chat"), sinks=output_sinks())
    async with AsyncOpenAI() as client:
        await ask(client, pipeline, question)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is in this folder?"))
