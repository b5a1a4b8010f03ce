"""The project's own recordings of Chat Completions, Anthropic Messages, the Claude CLI and text, in a table."""

from pathlib import Path
from typing import NamedTuple

import pytest
from laws import check_balance, merged, push
from reading import arguments, calls, errors, only, read_bytes, said, same_however_cut, thought

from penstock.events import Event, StreamError, Text, Thinking, ToolCompletion, ToolInvocation, TurnCompleted, Usage
from penstock.operators.finalize import finalize
from penstock.operators.frame import frame
from penstock.operators.normalize import normalize

RECORDINGS = Path(__file__).parents[1] / "recordings"


class Told(NamedTuple):
    """What a recording comes to."""

    text: str
    thinking: str = ""
    calls: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


RECORDED = {
    "openai-chat/thinking-and-parallel-tools.sse.txt": Told(
        "Je regarde le temps à Genève 🇨🇭 et à جدة.", "天気を調べる。", ("call_1", "call_2")
    ),
    "openai-chat/second-id-on-a-used-index.sse.txt": Told("", calls=("call_1", "call_2")),
    "openai-chat/two-choices.sse.txt": Told("Heads!"),
    "openai-chat/refusal.sse.txt": Told("I cannot help with that."),
    "openai-chat/rate-limit-in-the-middle.sse.txt": Told("Half an ", errors=("rate_limited",)),
    "openai-chat/cut-in-a-tool-call.sse.txt": Told("Deleting.", errors=("truncated", "incomplete_tool_call")),
    "openai-chat/not-streamed.jsonl": Told("漢字", "Hm", ("call_1",)),
    "anthropic/thinking-tools-and-search.sse.txt": Told("الجو مشمس ☀️", "考える", ("srvtoolu_1", "toolu_1")),
    "anthropic/overloaded-in-the-middle.sse.txt": Told("Half an ", errors=("overloaded",)),
    "anthropic/another-message-while-one-is-open.sse.txt": Told(
        "Again.", errors=("restarted", "incomplete_tool_call")
    ),
    "anthropic/cut-in-a-tool-call.sse.txt": Told("", errors=("truncated", "incomplete_tool_call")),
    "claude-cli/interleaved-subagents.jsonl": Told(
        "I ask two agents.Three each.",
        calls=("toolu_left", "toolu_right", "toolu_left_bash", "toolu_right_bash"),
    ),
    "claude-cli/interleaved-subagents-without-partial-messages.jsonl": Told(
        "I ask two agents.Three each.",
        calls=("toolu_left", "toolu_right", "toolu_left_bash", "toolu_right_bash"),
    ),
    "claude-cli/result-before-the-end-of-the-message.jsonl": Told("Two files.", calls=("toolu_1",)),
    "claude-cli/success-that-is-an-error.jsonl": Told("API Error: 529 Overloaded", errors=("overloaded",)),
    "claude-cli/too-many-turns.jsonl": Told("One more.", calls=("toolu_1",), errors=("max_turns",)),
}

each_recording = pytest.mark.parametrize("name", RECORDED)


def whole(name: str) -> tuple[str, bytes]:
    """The backend and the bytes of a recording."""
    file = RECORDINGS / name
    return file.parent.name, file.read_bytes()


def told(name: str, backend: str = "") -> list[Event]:
    """The events of a recording after `finalize`."""
    folder, raw = whole(name)
    events: list[Event] = push(frame() | normalize(backend or folder) | finalize(), [raw])
    check_balance(events)
    return events


@each_recording
def test_a_recording_comes_to_what_the_table_says(name: str) -> None:
    events = told(name)
    ids = tuple(call_id for call_id, _, _ in calls(events))
    assert Told(said(events), thought(events), ids, tuple(errors(events))) == RECORDED[name]
    assert len(only(TurnCompleted, events)) == 1


@each_recording
def test_a_recording_reads_the_same_however_it_is_cut(name: str) -> None:
    same_however_cut(*whole(name))


@each_recording
def test_a_recording_is_recognised(name: str) -> None:
    assert merged(told(name, "auto")) == merged(told(name))


def test_the_table_lists_every_recording() -> None:
    folders = ("openai-chat", "anthropic", "claude-cli")
    assert {f"{folder}/{file.name}" for folder in folders for file in (RECORDINGS / folder).iterdir()} == set(
        RECORDED
    )


def test_parallel_calls_keep_their_arguments_apart() -> None:
    assert arguments(told("openai-chat/thinking-and-parallel-tools.sse.txt")) == {
        "call_1": '{"city":"Genève"}',
        "call_2": '{"city":"جدة"}',
    }


def test_the_second_choice_is_beside_the_conversation() -> None:
    assert said(told("openai-chat/two-choices.sse.txt"), "choice-1") == "Tails?"


def test_a_refusal_says_so() -> None:
    (final,) = only(Text, told("openai-chat/refusal.sse.txt"))
    assert final.is_refusal


def test_a_rate_limit_says_how_long_to_wait() -> None:
    (error,) = only(StreamError, told("openai-chat/rate-limit-in-the-middle.sse.txt"))
    assert (error.retryable, error.retry_after_s) == (True, 1.5)


def test_signatures_and_redacted_thinking_are_kept() -> None:
    finals = only(Thinking, told("anthropic/thinking-tools-and-search.sse.txt"))
    assert [(final.text, final.signature) for final in finals] == [("考える", "RXE="), ("", "cmVk")]


@pytest.mark.parametrize("variant", ["", "-without-partial-messages"])
def test_two_interleaved_subagents_are_two_conversations(variant: str) -> None:
    events = told(f"claude-cli/interleaved-subagents{variant}.jsonl")
    for side, word in (("left", "左"), ("right", "右")):
        parent = f"toolu_{side}"
        assert (thought(events, parent), said(events, parent)) == (f"{word}を数える", f"{word}: three 👍🏽")
        own = [event for event in events if getattr(event, "parent_call_id", "") == parent]
        assert calls(own) == [(f"{parent}_bash", "Bash", {"command": f"wc {word}"})]
        assert [(done.call_id, done.output) for done in only(ToolCompletion, own)] == [
            (f"{parent}_bash", f"3 {word}")
        ]


def test_with_and_without_partial_messages_the_finals_are_the_same() -> None:
    kinds = Text | Thinking | ToolInvocation | ToolCompletion | Usage | TurnCompleted

    def finals(name: str) -> list[Event]:
        return [event for event in told(name) if isinstance(event, kinds)]

    def per_conversation(events: list[Event]) -> list[Event]:
        return sorted(events, key=lambda event: str(getattr(event, "parent_call_id", "")))

    streamed = finals("claude-cli/interleaved-subagents.jsonl")
    assert per_conversation(streamed) == per_conversation(
        finals("claude-cli/interleaved-subagents-without-partial-messages.jsonl")
    )


def test_text_is_what_is_in_the_file() -> None:
    file = RECORDINGS / "text" / "answer.txt"
    assert said(push(normalize("text"), [file.read_bytes()])) == file.read_text("utf-8")
    assert errors(read_bytes("auto", [file.read_bytes()])) == ["unknown_format"]
