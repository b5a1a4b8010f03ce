"""The same loop without asyncio, on the Responses API.

OPENAI_API_KEY=… python examples/sync_loop.py "What time is it?"
"""

import os
import sys
from datetime import UTC, datetime
from typing import Any

from openai import OpenAI

from penstock import Pipeline, Settings
from penstock.sinks.choose import output_sinks

MODEL = os.environ.get("OPENAI_MODEL", "gpt-4.1-mini")
NOTHING = {"type": "object", "properties": {}}
TOOLS: list[Any] = [{"type": "function", "name": "now", "description": "The time", "parameters": NOTHING}]


def ask(client: OpenAI, pipeline: Pipeline, question: str) -> str:
    history: list[Any] = [{"role": "user", "content": question}]
    with pipeline.sync_turn() as turn:
        while True:
            reply = turn.round(client.responses.create(model=MODEL, input=history, tools=TOOLS, stream=True))
            if not reply.tool_calls:
                break
            for call in reply.tool_calls:
                with turn.tool(call) as block:
                    block.result(datetime.now(UTC).isoformat(timespec="seconds"))
                called = {"call_id": call.call_id, "name": call.tool_name, "arguments": "{}"}
                history.append({"type": "function_call", **called})
                history.append({"type": "function_call_output", "call_id": call.call_id, "output": block.output})
    return turn.final_message


def main(question: str) -> None:
    pipeline = Pipeline(Settings(backend="openai-responses"), sinks=output_sinks())
    with OpenAI() as client:
        ask(client, pipeline, question)


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "What time is it?")
