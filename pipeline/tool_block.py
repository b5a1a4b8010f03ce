"""A tool while the loop runs it: began, progressed, ended, each said truthfully and the end exactly once."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import orjson

from penstock.events import Event, ToolCompletion, ToolInvocation, ToolProgress

__all__ = ["ToolBlock"]


class ToolBlock:
    """`with turn.tool(call) as block:` (or `async with`) around the execution of a call.

    Entering says the tool runs; `progress` says how far it is; `result` says what it gave. Leaving without a
    result is an error: the exception's message, or that nobody gave a result. Never a success nobody reported.
    """

    def __init__(self, push: Callable[[Event], object], call: ToolInvocation) -> None:
        self._push = push
        self.call = call
        self.output: Any = None
        self._is_over = False

    def progress(self, message: str = "") -> None:
        """Tell the watchers how far the tool is; coalesced like text."""
        if not self._is_over:
            call = self.call
            self._push(ToolProgress(call.call_id, message, call.tool_name, call.message_id, call.parent_call_id))

    def result(self, output: Any, *, is_error: bool = False) -> None:
        """What the tool gave; only the first one counts."""
        if not self._is_over:
            self._is_over = True
            self.output = output
            call = self.call
            self._push(
                ToolCompletion(call.call_id, output, is_error, call.tool_name, call.message_id, call.parent_call_id)
            )

    def error(self, message: str) -> None:
        """The tool failed."""
        self.result(message, is_error=True)

    def as_message(self) -> dict[str, Any]:
        """The result as the tool message of a Chat Completions history, for the next call of the model."""
        content = self.output if isinstance(self.output, str) else orjson.dumps(self.output, default=str).decode()
        return {"role": "tool", "tool_call_id": self.call.call_id, "content": content}

    def __enter__(self) -> "ToolBlock":
        self.progress()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.error("interrupted: the tool gave no result")
        else:
            self.error(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)

    async def __aenter__(self) -> "ToolBlock":
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
