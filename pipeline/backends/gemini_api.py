"""Google's Gemini API and Vertex, `streamGenerateContent`: server-sent events, or one growing JSON array.

Every record is a whole response with what is new in it. Function calls come whole, or from Vertex as arguments
under a JSON path; code that runs at Google comes as two parts. There is no end marker but the `finishReason`.
"""

from collections.abc import Iterator
from typing import Any

from penstock.backends.fields import count, elements, fields, text
from penstock.backends.gemini_arguments import PartialArguments
from penstock.backends.reader import Backend, Reader, Record
from penstock.backends.trouble import trouble
from penstock.backends.writer import Block, MessageWriter
from penstock.events import StreamError, ToolCompletion, ToolInvocation, Usage

__all__ = ["BACKEND"]

BAD_CALLS = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"}


class Candidate:
    """One answer while it arrives."""

    def __init__(self, writer: MessageWriter) -> None:
        self.writer = writer
        self.finish_reason = ""
        self._thought: Block | None = None
        self._calls = 0
        self._code_id = ""
        self._growing: tuple[Block, PartialArguments] | None = None

    def add(self, part: Record) -> bool:
        """Write one part; says whether it is known."""
        writer = self.writer
        piece = part.get("text")
        if type(piece) is str:
            if part.get("thought"):
                writer.thinking(piece)
                self._thought = writer.running or self._thought
            else:
                writer.text(piece)
        elif type(part.get("functionCall")) is dict:
            self._sign(part)  # before the call, as it was thought
            self._call(part["functionCall"])
            return True
        elif type(part.get("executableCode")) is dict:
            self._sign(part)
            self._code(part["executableCode"])
            return True
        elif type(part.get("codeExecutionResult")) is dict:
            self._code_result(part["codeExecutionResult"])
        elif "thoughtSignature" not in part:
            return False
        self._sign(part)
        return True

    def _sign(self, part: Record) -> None:
        signature = text(part.get("thoughtSignature"))
        if not signature:
            return
        if self._thought is not None and not self._thought.signature:
            self.writer.sign(self._thought, signature)
        else:
            self.writer.whole_thinking("", signature)

    def _next_id(self, given: Any) -> str:
        self._calls += 1
        return text(given) or f"{self.writer.message_id}-call-{self._calls}"

    def _call(self, call: Record) -> None:
        name = text(call.get("name"))
        partials = elements(call.get("partialArgs"))
        if name:
            self.end_call()
            if not call.get("willContinue") and not partials:
                self.writer.whole_tool(self._next_id(call.get("id")), name, fields(call.get("args")))
                return
            self.writer.end_run()
            call_id = self._next_id(call.get("id"))
            block = self.writer.open(call_id, "tool", call_id, name)
            self._growing = (block, PartialArguments(fields(call.get("args"))))
        if self._growing is not None:
            for partial in partials:
                self._growing[1].add(fields(partial))
        if not call.get("willContinue"):
            self.end_call()

    def end_call(self) -> None:
        """The call whose arguments were still coming has them all."""
        if self._growing is None:
            return
        block, arguments = self._growing
        self._growing = None
        writer = self.writer
        place = (block.index, writer.message_id, writer.parent_call_id)
        call = ToolInvocation(block.call_id, block.tool_name, arguments.whole(), *place)
        writer.copy(block, call)
        writer.close(block.call_id)

    def _code(self, code: Record) -> None:
        self._code_id = self._next_id(code.get("id"))
        arguments = {name: code[name] for name in ("language", "code") if name in code}
        self.writer.whole_tool(self._code_id, "code_execution", arguments, is_server_side=True)

    def _code_result(self, result: Record) -> None:
        self.writer.tell(
            ToolCompletion(
                text(result.get("id")) or self._code_id,
                text(result.get("output")),
                result.get("outcome") != "OUTCOME_OK",
                "code_execution",
                self.writer.message_id,
                self.writer.parent_call_id,
            )
        )

    def finish(self, reason: str) -> None:
        """The backend gave its reason to stop: what it has sent is all."""
        self.finish_reason = reason
        if reason == "STOP":
            self.end_call()
        self._growing = None
        self.writer.stop(reason)


class GeminiApiReader(Reader):
    """One response is one message; candidates beyond the first are conversations of their own, `choice-1` …"""

    backend = "gemini-api"

    def __init__(self, message_ids: Iterator[str] | None = None) -> None:
        super().__init__(message_ids)
        self._candidates: dict[int, Candidate] = {}
        self._response_id = ""
        self._used_ids: set[tuple[int, str]] = set()
        self._usage: Record = {}

    def read(self, record: Record) -> None:
        record = fields(record.get("response")) or record  # as some of Google's own gateways wrap it
        error = record.get("error")
        if error is not None:
            self.fail(trouble(error))
            return
        candidates = record.get("candidates")
        feedback = fields(record.get("promptFeedback"))
        if not candidates and not feedback and "usageMetadata" not in record:
            self.unknown(record)
            return
        response_id = text(record.get("responseId"))
        if self._candidates and response_id != self._response_id and not self._is_under_way():
            self._end()
        self._response_id = response_id
        for candidate in elements(candidates):
            self._candidate(fields(candidate), record)
        usage = fields(record.get("usageMetadata"))
        if "promptTokenCount" in usage or "candidatesTokenCount" in usage:
            self._usage = usage  # the counts so far
        if not self._candidates and feedback.get("blockReason"):
            reason = text(feedback["blockReason"])
            self.fail(StreamError("refused", text(feedback.get("blockReasonMessage")) or f"the prompt: {reason}"))

    def _candidate(self, candidate: Record, record: Record) -> None:
        index = count(candidate.get("index"))
        writer = self.speaker(f"choice-{index}" if index else "")
        parts = elements(fields(candidate.get("content")).get("parts"))
        answer = self._candidates.get(index)
        if answer is None:
            answer = self._candidates[index] = Candidate(writer)
            self.is_completed = False
            writer.start(self._unused_id(index), text(record.get("modelVersion")))
        elif answer.finish_reason and any(part != {"text": ""} for part in parts):
            answer = self._candidates[index] = Candidate(writer)  # it had finished, and yet goes on
        for part in parts:
            if not answer.add(fields(part)):
                self.unknown(part)
        reason = text(candidate.get("finishReason"))
        if reason:
            if reason in BAD_CALLS:
                self.tell(StreamError("malformed_tool_call", text(candidate.get("finishMessage")), is_fatal=False))
            answer.finish(reason)

    def _unused_id(self, index: int) -> str:
        """The response's id, unless an earlier message had it: there is no going back to that one."""
        used = (index, self._response_id)
        if used in self._used_ids:
            return ""
        self._used_ids.add(used)
        return self._response_id

    def _is_under_way(self) -> bool:
        return any(not answer.finish_reason for answer in self._candidates.values())

    def _end(self) -> None:
        """The response is over, with whatever reason its first candidate gave."""
        self.complete(next((answer.finish_reason for answer in self._candidates.values()), ""))

    def complete(self, stop_reason: str = "", final_message: str | None = None) -> None:
        self.close()
        if self._usage:
            self.tell(_counts(self._usage, self.writer.message_id))
            self._usage = {}
        self._candidates.clear()
        super().complete(stop_reason, final_message)

    def finish(self) -> None:
        if self._candidates and not self._is_under_way():
            self._end()
        super().finish()


def _counts(usage: Record, message_id: str) -> Usage:
    """Tokens as they are billed: thoughts, and what tools put into the prompt, are counted apart on the wire."""
    thoughts = count(usage.get("thoughtsTokenCount"))
    return Usage(
        count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount")),
        count(usage.get("candidatesTokenCount")) + thoughts,
        count(usage.get("cachedContentTokenCount")),
        reasoning_tokens=thoughts,
        message_id=message_id,
    )


def recognize(record: Record) -> bool:
    """`candidates`, or what stands in their place: feedback on the prompt, or Google's form of an error."""
    record = fields(record.get("response")) or record
    if type(record.get("candidates")) is list:
        return True
    if type(record.get("promptFeedback")) is dict or "usageMetadata" in record:
        return True
    status = fields(record.get("error")).get("status")
    return type(status) is str and status.isupper()


BACKEND = Backend(
    name="gemini-api",
    summary="Google Gemini API and Vertex, streamGenerateContent",
    recognized_by='"candidates", "usageMetadata" or "promptFeedback"',
    recognize=recognize,
    reader=GeminiApiReader,
)
