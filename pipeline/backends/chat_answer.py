"""One choice of a chat completion: which field is the reasoning, which fragment belongs to which tool call."""

from typing import Any

import msgspec

from penstock.backends.fields import fields, text
from penstock.backends.writer import Block, MessageWriter, argument_text, parsed_arguments
from penstock.events import ToolCompletion

__all__ = ["Answer", "Delta", "Function", "ToolCall"]


class Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None

    def text(self) -> str:
        """The arguments as text; some servers send the object itself."""
        arguments = self.arguments
        if isinstance(arguments, str):
            return arguments
        return "" if arguments is None else argument_text(arguments)


class ToolCall(msgspec.Struct):
    id: str | None = None
    index: int | None = None
    function: Function | None = None


class Delta(msgspec.Struct, gc=False):
    """What is new in a choice; in a reply that was not streamed, all there is."""

    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_details: list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    executed_tools: list[Any] | None = None

    def thoughts(self) -> str:
        """The reasoning, from whichever field has it: those that repeat it are not read twice."""
        said = self.reasoning_content or self.reasoning
        if said or not self.reasoning_details:
            return said or ""
        details = map(fields, self.reasoning_details)
        return "".join([text(detail.get("text")) or text(detail.get("summary")) for detail in details])

    def signatures(self) -> list[str]:
        """What signs the reasoning, or is all of it, encrypted."""
        details = map(fields, self.reasoning_details or ())
        signatures = [text(detail.get("signature")) or text(detail.get("data")) for detail in details]
        return [signature for signature in signatures if signature]

    def parts(self) -> list[tuple[str, str]]:
        """The content as pieces of thinking and of text, one of the two each."""
        if not isinstance(self.content, list):
            return [("", self.content or "")]
        return [_part(part) for part in self.content]

    def calls(self) -> list[ToolCall]:
        """The tool calls, also of servers that still speak of one function call."""
        if self.function_call is not None:
            return [*(self.tool_calls or ()), ToolCall(function=self.function_call, index=0)]
        return self.tool_calls or []


def _part(part: Any) -> tuple[str, str]:
    if isinstance(part, str):
        return "", part
    part = fields(part)
    thinking = part.get("thinking")
    if isinstance(thinking, list):
        thinking = "".join([text(fields(inner).get("text")) for inner in thinking])
    return text(thinking), text(part.get("text"))


class Call:
    """A tool call while its fragments arrive; nothing is written before its name is known."""

    __slots__ = ("block", "held", "id", "name")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.held: list[str] = []
        self.block: Block | None = None


class Answer:
    """Writes one choice."""

    def __init__(self, writer: MessageWriter) -> None:
        self.writer = writer
        self.has_begun = False
        self.stop_reason = ""
        self._thought: Block | None = None
        self._calls: list[Call] = []
        self._by_id: dict[str, Call] = {}
        self._by_index: dict[int, Call] = {}
        self._run_by_backend: set[str] = set()

    def add(self, delta: Delta) -> None:
        """Add what a chunk brings: reasoning, content, refusal, tool calls."""
        writer = self.writer
        thoughts = delta.thoughts()
        if thoughts:
            writer.thinking(thoughts)
            self._thought = writer.running
        if delta.reasoning_details:
            for signature in delta.signatures():
                self._sign(signature)
        for thinking, said in delta.parts():
            writer.thinking(thinking)
            writer.text(said)
        if delta.refusal:
            writer.refusal(delta.refusal)
        for fragment in delta.calls():
            self._call_tool(fragment)
        for tool in delta.executed_tools or ():
            self._executed(fields(tool))

    def only_piece(self, delta: Delta) -> tuple[str, Block | None]:
        """The key of the one piece that `delta` brought, and the block it went to; none, if it brought more."""
        running = self.writer.running
        if type(delta.content) is str and delta.content and delta == Delta(content=delta.content):
            return "content", running
        nothing = delta.content if delta.content == "" else None
        for name in ("reasoning_content", "reasoning"):
            if getattr(delta, name) and delta == Delta(**{"content": nothing, name: getattr(delta, name)}):
                return name, running
        fragment = delta.tool_calls[0] if delta.tool_calls else ToolCall()
        function = fragment.function or Function()
        call = self._by_index.get(fragment.index) if fragment.index is not None else None
        if call is not None and call.block is not None and type(function.arguments) is str:
            bare = ToolCall(index=fragment.index, function=Function(arguments=function.arguments))
            if delta == Delta(content=nothing, tool_calls=[bare]):
                return "arguments", call.block
        return "", None

    def add_whole(self, message: Delta) -> None:
        """Add a reply that was not streamed."""
        writer = self.writer
        writer.whole_thinking(message.thoughts(), "".join(message.signatures()[:1]))
        for thinking, said in message.parts():
            writer.whole_thinking(thinking)
            writer.whole_text(said)
        writer.whole_text(message.refusal or "", is_refusal=True)
        for number, call in enumerate(message.calls()):
            function = call.function or Function()
            value, is_malformed = parsed_arguments(function.text())
            writer.whole_tool(call.id or self._own_id(number), function.name or "", value, is_malformed)
        for tool in message.executed_tools or ():
            self._executed(fields(tool))

    def finish(self, stop_reason: str) -> None:
        """The choice is complete."""
        self.stop_reason = stop_reason
        self.release_calls()
        self._calls.clear()
        self._by_id.clear()
        self._by_index.clear()
        self.writer.stop(stop_reason)

    def release_calls(self) -> None:
        """Write the calls whose name has not come, without one: it will not come any more."""
        for call in self._calls:
            if call.block is None:
                self._open(call)

    def _sign(self, signature: str) -> None:
        if self._thought is not None and not self._thought.signature:
            self.writer.sign(self._thought, signature)
        else:
            self.writer.whole_thinking("", signature)

    def _call_tool(self, fragment: ToolCall) -> None:
        call = self._call_of(fragment)
        function = fragment.function or Function()
        arguments = function.text()
        if call.block is not None:
            self.writer.write(call.block, arguments)
            return
        call.held.append(arguments)
        call.name = function.name or ""
        if call.name:
            self._open(call)

    def _call_of(self, fragment: ToolCall) -> Call:
        """A known id wins; a new id on a used index is a new call; no id, then by index; neither, the latest."""
        identity, index = fragment.id, fragment.index
        call: Call | None
        if identity:
            call = self._by_id.get(identity)
            if call is None:
                call = self._by_index.get(index) if index is not None else None
                if call is None or call.id or call.block is not None:
                    call = self._new_call()
                call.id = identity
                self._by_id[identity] = call
        elif index is not None:
            call = self._by_index.get(index) or self._new_call()
        else:
            call = self._calls[-1] if self._calls else self._new_call()
            if call.name and fragment.function is not None and fragment.function.name:
                call = self._new_call()
        if index is not None:
            self._by_index[index] = call
        return call

    def _new_call(self) -> Call:
        call = Call()
        self._calls.append(call)
        return call

    def _open(self, call: Call) -> None:
        writer = self.writer
        writer.end_run()
        call_id = call.id or self._own_id(self._calls.index(call))
        call.block = writer.open(call, "tool", call_id, call.name)
        writer.write(call.block, "".join(call.held))

    def _own_id(self, number: int) -> str:
        return f"{self.writer.message_id}-call-{number}"

    def _executed(self, tool: dict[str, Any]) -> None:
        """A tool that the server ran itself (Groq): told first without, then again with its output."""
        writer = self.writer
        call_id = f"{writer.message_id}-executed-{tool.get('index', 0)}"
        name = text(tool.get("type"))
        if call_id not in self._run_by_backend:
            self._run_by_backend.add(call_id)
            value, is_malformed = parsed_arguments(text(tool.get("arguments")))
            writer.whole_tool(call_id, name, value, is_malformed, is_server_side=True)
        output = tool.get("output")
        if output:
            writer.settle()
            writer.emit(ToolCompletion(call_id, output, False, name, writer.message_id, writer.parent_call_id))
