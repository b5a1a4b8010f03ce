"""Markup leaves the visible text, whole, wherever it is cut. The numbers are those of the catalogue's list of what
goes wrong elsewhere; SC4 and G5 are the replace-then-append specification's."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import check_balance, check_takes, cuts, every_cut, merged, push, through_rx
from text_streams import Said, every_way, said, text_message, through

from penstock.events import (
    BlockStart,
    BlockStop,
    Event,
    MessageStart,
    MessageStop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
)
from penstock.operators.markup import MarkupKind
from penstock.operators.route_tags import route_tags

CALLS = route_tags(drop=("code",))
NAMED = '{"name": "f", "arguments": {"a": 1}}'


def visible(*pieces: str) -> str:
    return "".join(part[-1] for part in said(through(route_tags(), *pieces)) if part[0] == "text")


# ── 1: what is held back is never lost ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tail", ["<", "<t", "<think", "</thin", "[TOOL_CAL", "<|", "``", "<｜"])
def test_1_text_held_back_as_a_possible_tag_is_released_at_the_end(tail: str) -> None:
    assert every_way(route_tags(), f"so {tail}") == [("text", f"so {tail}")]


@pytest.mark.parametrize("ending", [StreamError("torn"), MessageStop("m"), None])
def test_1_what_is_held_back_leaves_before_any_ending(ending: Event | None) -> None:
    events: list[Event] = [MessageStart("m"), BlockStart("text", 0, "m"), TextDelta("a <thin", 0, "m")]
    out = push(route_tags(), [*events, *([] if ending is None else [ending])])
    deltas = [event for event in out if type(event) is TextDelta]
    assert "".join(delta.text for delta in deltas) == "a <thin"
    assert ending is None or out.index(deltas[-1]) < out.index(ending)
    assert [type(event) for event in out].count(BlockStop) == 1


def test_1_a_tag_that_does_not_come_true_keeps_its_bracket() -> None:
    assert every_way(route_tags(), "a <my-tag> <thinker> 1<2", every_cut("a <my-tag> <thinker> 1<2")) == [
        ("text", "a <my-tag> <thinker> 1<2")
    ]


def test_1_a_bracket_before_a_tag_is_scanned_again() -> None:
    text = "<<think>a</think><</think><t<think>b</think>"
    assert every_way(route_tags(), text, every_cut(text)) == [
        ("text", "<"),
        ("thinking", "a"),
        ("text", "<<t"),
        ("thinking", "b"),
    ]


@pytest.mark.parametrize("text", ["a < b", "if x<y:", "<b>bold</b>", "<3", "x << 2", "a <thing", "List[int]"])
def test_1_a_literal_bracket_leaves_in_the_same_feed_when_it_cannot_be_a_tag(text: str) -> None:
    out: list[Event] = []
    chain = route_tags().chain()
    chain.stages[-1].emit = out.append
    for event in text_message(text)[:3]:
        chain.feed(event)
    assert said(out) == [("text", text)]


# ── 2: tags split anywhere ───────────────────────────────────────────────────────────────────────────────────


def test_2_a_tag_is_found_at_every_split_and_in_either_case() -> None:
    text = "A<THINK>b</Think>c<thinking>d</thinking>"
    expected = [("text", "A"), ("thinking", "b"), ("text", "c"), ("thinking", "d")]
    assert every_way(route_tags(), text, every_cut(text)) == expected


# ── 3: code ──────────────────────────────────────────────────────────────────────────────────────────────────

QUOTED = [
    "use `<think>` and ``a ` <tool_call>`` to",
    "see\n```xml\n<think>x</think>\n```\nthere",
    "  ````\n```\n<tool_call>\n```\n````\n",
    "```inline <think>``` done",
    "```\n```python\n<think>\n```\n",
]


@pytest.mark.parametrize("text", QUOTED)
def test_3_markup_quoted_in_code_stays(text: str) -> None:
    assert every_way(route_tags(), text, every_cut(text)) == [("text", text)]


@pytest.mark.parametrize("text", QUOTED)
def test_3_unless_it_is_not_to_be_kept(text: str) -> None:
    out = every_way(route_tags(keep_in_code=False), text, every_cut(text))
    assert not any("<think>" in part[-1] for part in out if part[0] == "text")


@pytest.mark.parametrize(
    "before",
    [
        "`a` ",
        "a ` stray\n",
        "```x\ncode\n``` \n",
        "``` in a line\nis a fence\n```\n",
        "word ``` is none\n",
        "```a``` ",
    ],
)
def test_3_after_code_markup_counts_again(before: str) -> None:
    text = f"{before}<think>b</think>c"
    assert every_way(route_tags(), text, every_cut(text)) == [("text", before), ("thinking", "b"), ("text", "c")]


def test_3_a_fence_opened_inside_thinking_does_not_hide_the_closer() -> None:
    text = "<think>\n```\ncode</think>yes `<think>`"
    assert every_way(route_tags(), text, every_cut(text)) == [
        ("thinking", "\n```\ncode"),
        ("text", "yes `<think>`"),
    ]


# ── 4: closers without openers ───────────────────────────────────────────────────────────────────────────────


def test_4_a_stray_closer_leaves_the_visible_text() -> None:
    assert every_way(route_tags(), "a</think>b</tool_call>c[/THINK]") == [("text", "abc")]


def test_4_opened_by_the_template_everything_up_to_the_closer_is_thinking() -> None:
    operator = route_tags(implicit_open=True)
    expected = [("thinking", "hm"), ("text", "Yes.")]
    assert every_way(operator, "hm</think>Yes.", every_cut("hm</think>Yes.")) == expected
    assert every_way(operator, "<think>hm</think>Yes.") == expected  # written all the same: dropped, once
    assert every_way(operator, "\n<think>a<think>b</think>c</think>") == [("thinking", "a<think>b"), ("text", "c")]
    assert every_way(operator, "\n\n</think>Yes.") == [("text", "Yes.")]


def test_4_a_template_opened_block_that_never_closes_says_so() -> None:
    out = through(route_tags(implicit_open=True), "The whole answer.")
    assert said(out) == [("thinking", "The whole answer."), ("error", "unclosed_thinking")]
    (error,) = [event for event in out if type(event) is StreamError]
    assert (error.is_fatal, error.message_id) == (False, "m")


def test_4_thinking_that_the_server_routed_itself_leaves_nothing_implied() -> None:
    native: list[Event] = [BlockStart("thinking", 0, "m"), ThinkingDelta("hm", 0, "m"), BlockStop(0, "m")]
    text: list[Event] = [BlockStart("text", 1, "m"), TextDelta("Yes.", 1, "m"), BlockStop(1, "m")]
    events = [MessageStart("m"), *native, *text, MessageStop("m")]
    assert push(route_tags(implicit_open=True), events) == events


def test_4_only_the_first_text_of_a_message_is_implied() -> None:
    second: list[Event] = [BlockStart("text", 1, "m"), TextDelta("b", 1, "m"), BlockStop(1, "m")]
    events = text_message("hm</think>a")
    out = push(route_tags(implicit_open=True), [*events[:-1], *second, events[-1]])
    assert said(merged(out)) == [("thinking", "hm"), ("text", "a"), ("text", "b")]


# ── 5: balance ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text", ["", "<think></think>", "<think> \n</think>", "<think>", "</think>", "<tool_call></tool_call>"]
)
def test_5_empty_blocks_are_never_opened(text: str) -> None:
    out = [part for part in every_way(CALLS, text) if part[0] != "error"]
    assert out == []


# ── 6, 7: argument text ──────────────────────────────────────────────────────────────────────────────────────

RAW = [
    "{}",
    "{ }",
    '{"a":{"b":[1,{"c":"}]"}]}}',
    '{"a":"\\\\\\"}"}',
    '{"t":"</tool_call>"}',
    '{"n":-1.50e+3, "s":"\\ud83d\\ude00 é"}',
    "[1,2]",
]


@pytest.mark.parametrize("raw", RAW)
@pytest.mark.parametrize(
    "order", ['{{"name": "f", "arguments": {0}}}', '{{ "parameters" :\n{0}, "id":"x","name" :"f" }}']
)
def test_6_7_argument_deltas_add_up_to_the_raw_text_whole_and_in_pieces(raw: str, order: str) -> None:
    text = f"<tool_call>{order.format(raw)}</tool_call>"
    assert every_way(CALLS, text, every_cut(text)) == [("tool", "f", raw)]


def test_6_arguments_that_are_a_string_are_what_the_string_says() -> None:
    text = '<tool_call>{"name": "f", "arguments": "{\\"a\\": \\"\\\\u00e9\\"}"}</tool_call>'
    assert every_way(CALLS, text, every_cut(text)) == [("tool", "f", '{"a": "\\u00e9"}')]


def test_6_calls_in_the_shapes_of_other_apis() -> None:
    text = (
        '<tool_call>[{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}},'
        '{"tool_name": "g"}]{"function": "h", "args": {}}</tool_call>'
    )
    assert every_way(CALLS, text) == [("tool", "f", '{"a": 1}'), ("tool", "g", ""), ("tool", "h", "{}")]


# ── 8: parameters as elements ────────────────────────────────────────────────────────────────────────────────


def arguments_of(body: str) -> object:
    text = f"<tool_call>\n<function=write>\n{body}</function>\n</tool_call>"
    ((kind, name, arguments),) = every_way(CALLS, text, every_cut(text))
    assert (kind, name) == ("tool", "write")
    return json.loads(arguments)


def test_8_a_missing_parameter_closer() -> None:
    body = "<parameter=a>\n1\n<parameter=b>\n2\n</parameter>\n<parameter=c>\n3\n"
    assert arguments_of(body) == {"a": "1", "b": "2", "c": "3"}
    assert arguments_of("<parameter=a>1<parameter=b>2") == {"a": "1", "b": "2"}


def test_8_exactly_one_line_end_on_each_side_is_markup() -> None:
    body = "<parameter=a>\n\n    indented\n\n\n</parameter>\n"
    body += "<parameter=b>\n</parameter>\n<parameter=c>\n\n</parameter>\n"
    assert arguments_of(body) == {"a": "\n    indented\n\n", "b": "", "c": ""}


def test_8_a_value_may_contain_the_closers() -> None:
    value = "say </parameter> and </function> and </tool_call> and <parameter= then </parameter>\nmore"
    assert arguments_of(f"<parameter=a>\n{value}\n</parameter>\n") == {"a": value}


# ── 9: thinking and tools meet ───────────────────────────────────────────────────────────────────────────────


def test_9_thinking_and_a_call_in_one_chunk_lose_nothing() -> None:
    text = f"<think>hm</think>a<tool_call>{NAMED}</tool_call>b"
    expected = [("thinking", "hm"), ("text", "a"), ("tool", "f", '{"a": 1}'), ("text", "b")]
    assert every_way(CALLS, text, every_cut(text)) == expected


def test_9_white_space_around_calls_is_no_text_of_its_own() -> None:
    text = f"<think>hm</think>\n\n<tool_call>{NAMED}</tool_call>\n<tool_call>{NAMED}</tool_call>\n"
    assert [part[0] for part in every_way(CALLS, text, every_cut(text))] == ["thinking", "tool", "tool"]
    assert every_way(CALLS, f"<tool_call>{NAMED}</tool_call>\n b")[1:] == [("text", "\n b")]


# ── 10: no call ──────────────────────────────────────────────────────────────────────────────────────────────

NO_CALLS = [
    '{"name": "Ada"}',
    '{"answer": 42}',
    "{",
    '{"name": "f", "parameters',
    '[1, "two"]',
    '{"name": {"a": 1}}',
]


@pytest.mark.parametrize("text", NO_CALLS)
def test_10_a_json_answer_that_is_no_call_is_text(text: str) -> None:
    assert every_way(route_tags("llama3", drop=()), text, every_cut(text)) == [("text", text)]


def test_10_a_tool_tag_that_opens_no_call_only_leaves_itself_out() -> None:
    assert every_way(CALLS, "The <tool_call> tag, closed by </tool_call>.") == [("text", "The  tag, closed by .")]


# ── 12: escapes ──────────────────────────────────────────────────────────────────────────────────────────────


def test_12_escapes_and_surrogate_pairs_are_never_shown_in_halves() -> None:
    text = '<tool_call>{"name": "f", "arguments": "\\ud83d\\ude00\\n\\ud83d!"}</tool_call>'
    pieces = [event.json for event in push(CALLS, text_message(*text)) if type(event) is ToolInputDelta]
    assert pieces == ["😀", "\n", "\ufffd!"]


# ── 13: linear ───────────────────────────────────────────────────────────────────────────────────────────────

GROWING: dict[str, Callable[[int], list[str]]] = {
    "plain text": lambda n: ["word "] * n,
    "brackets": lambda n: ["a<b "] * n,
    "backticks": lambda n: [" `"] * n,
    "one long line": lambda n: ["x `y` <z " * (n // 10)],
    "thinking": lambda n: ["<think>", *(["so\n"] * n)],
    "json arguments": lambda n: ['<tool_call>{"name":"f","arguments":{"a":"', *(["some text"] * n)],
    "arguments before the name": lambda n: ['<tool_call>{"arguments":{"a":"', *(["text"] * n), '"},"name":"f"}'],
    "elements": lambda n: ["<tool_call><function=f><parameter=a>", *(["a<b\n"] * n)],
    "a name without end": lambda n: ["<tool_call><function=", *(["f"] * n)],
    "white space": lambda n: ["<tool_call>", *([" "] * n)],
    "a tag again and again": lambda n: ["<thin"] * n,
}


@pytest.mark.parametrize("growing", GROWING)
def test_13_the_cost_of_a_chunk_does_not_grow(growing: str) -> None:
    chunks = 10_000 if growing in ("plain text", "json arguments") else 2_000
    small, large = (text_message(*GROWING[growing](count)) for count in (chunks, 10 * chunks))
    check_takes(lambda: push(CALLS, large), lambda: push(CALLS, small), at_most=14)


# ── 14: order ────────────────────────────────────────────────────────────────────────────────────────────────


def test_14_no_event_overtakes_the_text_before_it() -> None:
    tool: list[Event] = [BlockStart("tool", 1, "m", "c", "f"), ToolInputDelta("{}", 1, "c", "m"), BlockStop(1, "m")]
    events = text_message("a <thin")
    out = push(route_tags(), [*events[:-1], *tool, events[-1]])
    assert said(merged(out)) == [("text", "a <thin"), ("tool", "f", "{}")]


# ── 15: what was cut off is no call ──────────────────────────────────────────────────────────────────────────

WHOLE_CALLS = [
    ('<tool_call>{"name": "f", "arguments": {"a": 1}}', "</tool_call>"),
    ("<tool_call><function=f><parameter=a>\n1\n</parameter></function>", "</tool_call>"),
    ("<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", ""),
    ('<|tool_call>call:f{a:<|"|>1<|"|>}', "<tool_call|>"),
    ('<|tool_call_start|>[f(a="1")', "]<|tool_call_end|>"),
    ("[TOOL_CALLS]f[ARGS]{}", ""),
]


@pytest.mark.parametrize(("call", "closer"), WHOLE_CALLS)
def test_15_a_call_cut_off_anywhere_is_an_error_and_its_arguments_stay_open(call: str, closer: str) -> None:
    whole = every_way(CALLS, call + closer)
    for end in range(len(call)):
        out = every_way(CALLS, call[:end])
        if out and out[0][0] == "tool":
            assert out[1:] == [("error", "incomplete_tool_call")]
            assert whole[0][-1].startswith(out[0][-1])
        else:
            assert [part[0] for part in out] in ([], ["text"], ["error"])


@pytest.mark.parametrize(("call", "closer"), WHOLE_CALLS)
def test_15_a_call_is_complete_without_its_closer(call: str, closer: str) -> None:
    expected = every_way(CALLS, call + closer)
    assert [part[0] for part in expected] == ["tool"]
    for end in range(len(closer)):
        assert every_way(CALLS, call + closer[:end]) == expected


def test_15_the_error_names_the_call_and_comes_before_its_stop() -> None:
    out = through(CALLS, '<tool_call>{"name": "f", "arguments": {"a": 1}')
    assert [type(event) for event in out[1:5]] == [BlockStart, ToolInputDelta, StreamError, BlockStop]
    assert out[3].call_id == out[1].call_id == "call-1"  # type: ignore[union-attr]


def test_15_a_call_that_breaks_its_form_is_an_error_and_the_text_goes_on() -> None:
    text = '<tool_call>{"name": "f", oops}</tool_call>after'
    assert every_way(CALLS, text) == [("tool", "f", ""), ("error", "malformed_tool_call"), ("text", "after")]


# ── dropping ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_dropped_leaves_no_trace_and_does_not_split_the_text() -> None:
    text = f"a<think>b</think>c<tool_call>{NAMED}</tool_call>d<code_env>e</code_env>f"
    assert every_way(route_tags(drop=("thinking", "tool", "code")), text, every_cut(text)) == [("text", "acdf")]
    assert every_way(route_tags(drop=("thinking", "tool")), text) == [("text", "acdef")]


def test_text_without_markup_passes_as_the_very_same_events() -> None:
    events = text_message("Hello", " world", ", 1 < 2", "!\n")
    out = push(route_tags(), events)
    assert out == events
    assert out[3] is events[3]


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────

FRAGMENTS = [
    "<think>", "</think>", "<thinking>", "</thinking>", "<thi", "nk>", "<", "</", ">", "a", "b ", "\n", " ", "`",
    "```", "```\n", "\n```py\n", "<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=k>",
    "</parameter>", '{"name": "f", "arguments": ', '{"x": "</tool_call>"}', "}", "{", '"', "\\", "[TOOL_CALLS]",
    "f[ARGS]", "[", "]", "<|channel|>", "analysis", "<|message|>", "<|end|>", "<|tool_call>call:f{", '<|"|>', "k:",
    ",", "<tool_call|>", "<｜tool▁call▁begin｜>", "f<｜tool▁sep｜>", "<arg_key>", "</arg_key>", "<arg_value>",
    "</arg_value>", "(", ")", "=", "<|tool_call_start|>", "'", "<code_env>", "</code_env>", "é", "😀",
]  # fmt: skip
mixtures = st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join)
families = st.sampled_from(
    ["default", "qwen", "hunyuan", "llama3", "pythonic", "harmony", "granite", "ui-tars", "kimi-k3"]
)


@given(
    data=st.data(), text=mixtures, family=families, implicit=st.booleans(), keeps=st.booleans(), drops=st.booleans()
)
def test_re_chunking_changes_nothing_and_everything_balances(
    data: st.DataObject, text: str, family: str, implicit: bool, keeps: bool, drops: bool
) -> None:
    drop: tuple[MarkupKind, ...] = ("tool", "code") if drops else ()
    operator = route_tags(family, implicit_open=implicit, keep_in_code=keeps, drop=drop)
    every_way(operator, text, [data.draw(cuts(text))])


def one_shot(text: str) -> Said:
    """The reference: thinking tags alone, looked at all at once."""
    out: Said = []
    inside = ""
    for part in re.split(r"(</?think(?:ing)?>)", text):
        is_tag = re.fullmatch(r"</?think(?:ing)?>", part) is not None
        if not inside and is_tag:
            if not part.startswith("</"):
                inside = part.replace("<", "</")
                out.append(("thinking", ""))
        elif inside and part == inside:
            inside = ""
            out.append(("text", ""))
        else:
            if not out:
                out.append(("text", ""))
            out[-1] = (out[-1][0], out[-1][1] + part)
    said_something = [(kind, part) for kind, part in out if part and (kind == "text" or not part.isspace())]
    joined: Said = []
    for kind, part in said_something:
        if joined and kind == "text" == joined[-1][0]:
            joined[-1] = (kind, joined[-1][1] + part)
        else:
            joined.append((kind, part))
    return joined


@given(text=st.lists(st.sampled_from([*FRAGMENTS[:17], "x", "yz"]), max_size=20).map("".join))
def test_the_stream_says_what_a_look_at_the_whole_text_says(text: str) -> None:
    operator = route_tags("none", ("think", "thinking"), keep_in_code=False)
    out = [part for part in every_way(operator, text) if part[0] != "error"]
    assert out == one_shot(text)


words = st.text(st.characters(codec="utf-8", exclude_characters="<[`"), max_size=12)
filled = words.filter(lambda word: word.strip() != "")
sections = st.lists(
    st.one_of(
        st.tuples(st.just("text"), filled),
        st.tuples(st.just("thinking"), filled),
        st.tuples(st.just("tool"), st.just("f"), st.dictionaries(words, words, max_size=2).map(json.dumps)),
    ),
    max_size=6,
)


@given(data=st.data(), parts=sections)
def test_what_was_put_in_comes_out(data: st.DataObject, parts: Said) -> None:
    written = {
        "text": "{0}",
        "thinking": "<think>{0}</think>",
        "tool": '<tool_call>{{"name": "{0}", "arguments": {1}}}</tool_call>',
    }
    text = "".join(written[kind].format(*rest) for kind, *rest in parts)
    expected: Said = []
    for kind, *rest in parts:
        if kind == "text" and expected and expected[-1][0] == "text":
            expected[-1] = ("text", expected[-1][1] + rest[0])
        else:
            expected.append((kind, *rest))
    assert every_way(CALLS, text, [data.draw(cuts(text))]) == expected


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="<[`")))
def test_text_without_a_trigger_is_untouched(text: str) -> None:
    assert visible(text) == text == visible(*text)


def test_state_belongs_to_a_subscription_and_rx_sees_the_same() -> None:
    events = text_message("<think>a", f"</think>b<tool_call>{NAMED}</tool_call>")
    once = through_rx(CALLS, events)
    assert once == through_rx(CALLS, events) == push(CALLS, events)
    check_balance(once)
