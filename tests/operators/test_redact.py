"""Secrets are masked however the stream is cut, and everything else is left as it was."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import check_balance, check_takes, cuts, every_cut, merged, push, through_rx

from penstock.errors import ConfigurationError
from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCompletion,
    ToolInputDelta,
    ToolInvocation,
    ToolProgress,
    TurnCompleted,
    Unknown,
)
from penstock.operators.redact import MASK, redact
from penstock.operators.secrets import LONGEST_WORD

KEY = "sk-proj-" + "aB3dE5fG7hJ9" * 3
KEYS = [
    KEY,
    "sk-ant-api03-" + "x1Y2z3" * 8,
    "ghp_" + "a1B2c3D4e5" * 4,
    "github_pat_" + "11ABCDEFG0" * 4,
    "glpat-" + "abcdEFGH12345678",
    "AKIA" + "ABCDEFGH12345678",
    "AIza" + "SyA-1234567890_abcdefghijklmnopqrst",
    "xoxb-" + "123456789012-abcdefGHIJKL",
    "hf_" + "abcdefghijKLMNOPQRST",
    "sk_live_" + "abcdefghij123456",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
]
PROSE = "Ein Wort, zwei: risk-assessment-of-everything and ☃日本語テキスト https://example.org/a?b=c#d 1,234.5\n"


def stream(*pieces: str, kind: Any = "text") -> list[Event]:
    delta: dict[str, Any] = {"text": TextDelta, "thinking": ThinkingDelta, "tool": ToolInputDelta}
    made = [
        ToolInputDelta(piece, 0, "c", "m") if kind == "tool" else delta[kind](piece, 0, "m") for piece in pieces
    ]
    return [MessageStart("m"), BlockStart(kind, 0, "m"), *made, BlockStop(0, "m"), MessageStop("m", "stop")]


def text_of(events: list[Any]) -> str:
    return "".join(e.json if type(e) is ToolInputDelta else e.text for e in events if hasattr(e, "block_index")
                   and type(e) in (TextDelta, ThinkingDelta, ToolInputDelta))  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", ["text", "thinking", "tool"])
def test_a_key_is_masked_at_every_cut_and_nothing_of_it_is_left(key: str, kind: str) -> None:
    whole = f"use {key}, then go"
    for pieces in every_cut(whole):
        assert text_of(push(redact(), stream(*pieces, kind=kind))) == f"use {MASK}, then go"


def test_a_key_split_over_three_chunks_is_masked_in_one_piece() -> None:
    events = push(redact(), stream("the key is ", KEY[:9], KEY[9:20], KEY[20:], " and more"))
    assert [event.text for event in events if type(event) is TextDelta] == ["the key is ", f"{MASK} and ", "more"]


@pytest.mark.parametrize("word", ["Bearer", "bearer", "BASIC", "x-api-key:"])
def test_a_token_that_is_announced_is_masked_at_every_cut(word: str) -> None:
    whole = f'"Authorization: {word}  QWxhZGRpbjpvcGVuIHNlc2FtZQ1="}}'
    for pieces in every_cut(whole):
        assert text_of(push(redact(), stream(*pieces))) == f'"Authorization: {word}  {MASK}"}}'


def test_words_that_only_look_like_it_stay() -> None:
    for text in (
        PROSE,
        "basic responsibilities",
        "a bearer of responsibilities",
        "task-oriented-programming-style",
        "sk-",
    ):
        assert text_of(push(redact(), stream(text))) == text


def test_a_password_in_an_address_is_masked() -> None:
    assert text_of(push(redact(), stream("postgres://me:s3cret@db/x"))) == f"postgres://{MASK}@db/x"


def test_a_key_after_a_json_escape_is_masked_and_the_json_stays_json() -> None:
    whole = f'{{"content":"KEY=\\n{KEY}\\nrest"}}'
    for pieces in every_cut(whole):
        assert text_of(push(redact(), stream(*pieces, kind="tool"))) == f'{{"content":"KEY=\\n{MASK}\\nrest"}}'


def test_finals_outputs_errors_and_the_final_message_are_masked_too() -> None:
    events: list[Event] = [
        Text(f"a {KEY} b", 0),
        Thinking(KEY, 1, signature="s"),
        ToolInvocation("c", "run", {"env": [{"KEY": KEY}], "n": 1}, 2),
        ToolProgress("c", f"with {KEY}"),
        ToolCompletion("c", {"stdout": KEY}),
        StreamError("denied", f"Incorrect API key provided: {KEY}."),
        Unknown("b", {"headers": [f"Bearer {KEY}"]}),
        TurnCompleted("completed", f"it is {KEY}"),
    ]
    masked = push(redact(), events)
    assert KEY not in repr(masked)
    assert [type(event) for event in masked] == [type(event) for event in events]
    assert masked[2].input == {"env": [{"KEY": MASK}], "n": 1}
    assert masked[5].message == f"Incorrect API key provided: {MASK}."


def test_patterns_of_one_s_own_are_masked_within_a_word() -> None:
    assert text_of(push(redact([r"corp-\d{4}"]), stream("id corp-", "1234 ok"))) == f"id {MASK} ok"
    with pytest.raises(ConfigurationError, match="no regular expression"):
        redact(["(open"])


def test_a_replacing_delta_starts_the_block_anew() -> None:
    events = push(redact(), [TextDelta("one sk-", 0), TextDelta(f"two {KEY}", 0, replace=True), BlockStop(0)])
    assert events == [TextDelta("one ", 0), TextDelta("two ", 0, replace=True), TextDelta(MASK, 0), BlockStop(0)]


pieces_of_text = st.lists(
    st.sampled_from([f" {KEY}", "Bearer ", PROSE, " ", "\n", '"', "abc", "日本", KEY[:12], "x" * 40, "eyJ", "."]),
    max_size=8,
).map("".join)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_rechunking_changes_nothing(data: st.DataObject) -> None:
    whole = data.draw(pieces_of_text)
    pieces = data.draw(cuts(whole))
    for kind in ("text", "tool"):
        at_once = merged(push(redact(), stream(whole, kind=kind)))
        assert merged(push(redact(), stream(*pieces, kind=kind))) == merged(at_once)
        assert text_of(at_once) == push(redact(), [Text(whole, 0)])[0].text


@given(pieces_of_text)
@settings(max_examples=30, deadline=None)
def test_nothing_is_lost_or_doubled_and_balance_is_kept(whole: str) -> None:
    events = push(redact(), stream(*whole))
    check_balance(events)
    assert KEY not in text_of(events)
    if MASK not in text_of(events):
        assert text_of(events) == whole


def test_what_is_held_leaves_on_completion_without_a_block_stop() -> None:
    assert push(redact(), [TextDelta("half-a-word", 0)]) == [TextDelta("half-a-word", 0)]


def test_state_is_per_subscription_also_through_rx() -> None:
    operator = redact()
    for _ in range(2):
        assert text_of(through_rx(operator, stream("a ", KEY[:5], KEY[5:], " b"))) == f"a {MASK} b"


def test_blocks_that_interleave_are_kept_apart() -> None:
    one, two = KEY[:10], KEY[10:]
    events: list[Event] = [TextDelta(one, 0), TextDelta("plain ", 1), TextDelta(two, 0), BlockStop(0), BlockStop(1)]
    assert push(redact(), events) == [TextDelta("plain ", 1), TextDelta(MASK, 0), BlockStop(0), BlockStop(1)]


@pytest.mark.parametrize("at", [0, 100, LONGEST_WORD - 20, LONGEST_WORD + 5, 3 * LONGEST_WORD])
def test_an_endless_word_is_let_go_in_time_and_a_key_inside_it_is_masked(at: int) -> None:
    whole = "x" * at + "/" + KEY + "/" + "y" * (2 * LONGEST_WORD)
    held = 0
    for size in (1000, 1, len(whole)):
        out: list[Any] = []
        stage = redact().make[0]()
        stage.emit = out.append
        for start in range(0, len(whole), size):
            stage.feed(TextDelta(whole[start : start + size], 0))
            shown = len(text_of(out))
            held = max(held, start + size - shown) if MASK not in text_of(out) and size == 1 else held
        stage.finish()
        assert text_of(out) == "x" * at + "/" + MASK
    assert held <= LONGEST_WORD + len(KEY) + 2


def test_the_cost_is_linear_in_the_text() -> None:
    pieces = [PROSE[i : i + 7] for i in range(0, len(PROSE), 7)]
    small, large = stream(*pieces * 100), stream(*pieces * 1000)
    check_takes(lambda: push(redact(), large), lambda: push(redact(), small), at_most=14)
