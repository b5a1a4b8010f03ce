"""Tools for a model that has no tool interface: the prompt asks for `<tool_call>` tags, penstock takes them out.

OPENAI_BASE_URL=http://localhost:11434/v1 OPENAI_API_KEY=none OPENAI_MODEL=… python examples/tagged_tools.py

The tags never show: their calls arrive as the same events, tool blocks and `reply.tool_calls` as native ones.
"""

import asyncio
import json
import os
import sys
from typing import Any

from openai import AsyncOpenAI

from penstock import Pipeline, Settings
from penstock.sinks.choose import output_sinks

MODEL = os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")
PROMPT = """You can add numbers with a tool. To call it, write exactly
<tool_call>{"name": "add", "arguments": {"numbers": [1, 2]}}</tool_call>
and stop. The result comes in the next message. Without a call, your text is the answer."""


async def ask(client: AsyncOpenAI, pipeline: Pipeline, question: str) -> str:
    messages: list[Any] = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    async with pipeline.turn() as turn:
        while True:
            reply = await turn.round(
                await client.chat.completions.create(model=MODEL, messages=messages, stream=True)
            )
            if not reply.tool_calls:
                break
            for call in reply.tool_calls:
                with turn.tool(call) as block:
                    block.result(sum(call.input["numbers"]))
                written = json.dumps({"name": call.tool_name, "arguments": call.input})
                messages.append({"role": "assistant", "content": f"{reply.text}<tool_call>{written}</tool_call>"})
                messages.append({"role": "user", "content": f"<tool_response>{block.output}</tool_response>"})
    return turn.final_message


async def main(question: str) -> None:
    pipeline = Pipeline(Settings(backend="openai-chat", tool_engine="tags"), sinks=output_sinks())
    async with AsyncOpenAI() as client:
        await ask(client, pipeline, question)


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "What is 17 + 25?"))
