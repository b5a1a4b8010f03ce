"""A coding agent in a child process: it runs its own tools, we show its turn and keep the conversation.

    python examples/claude_cli_loop.py                                    a made-up agent (pretend_claude.py)
    python examples/claude_cli_loop.py claude -p --output-format stream-json --verbose \
        --include-partial-messages "What does pump.py do?"
"""

import asyncio
import sys
from pathlib import Path

from penstock import Pipeline, Settings, ToolBlockUpdate
from penstock.sinks import CallbackSink
from penstock.sinks.choose import output_sinks
from penstock.sources.process import child_process

PRETEND = [sys.executable, str(Path(__file__).with_name("pretend_claude.py"))]


def tell_tool(update: ToolBlockUpdate) -> None:
    """The agent's tools, on standard error: started, and ended well or not."""
    if update.stage == "start":
        print(f"[{update.name} …]", file=sys.stderr)
    elif update.stage == "end":
        outcome = "ok" if update.success else update.error
        print(f"[{update.name} {update.compact_params}: {outcome}]", file=sys.stderr)


async def main(command: list[str]) -> int:
    sinks = [*output_sinks(), CallbackSink(on_tool_block_updated=tell_tool)]
    async with Pipeline(Settings(backend="claude-cli"), sinks=sinks).turn() as turn:
        reply = await turn.round(child_process(command))
    # A failed child is an error of the round; what it had said was shown and kept all the same.
    return 1 if reply.error else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:] or PRETEND)))
