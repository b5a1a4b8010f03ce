"""Every family of the markup table, as its models write it: whole, at every cut, character by character."""

import json

import pytest
from laws import every_cut
from text_streams import Said, every_way

from penstock.errors import ConfigurationError
from penstock.operators.markup import Markup
from penstock.operators.markup_families import FAMILIES
from penstock.operators.route_tags import route_tags

ARGUMENTS = '{"city": "Paris \\"x\\"", "days": 3}'
AS_STRINGS = '{"city": "Paris", "days": "3"}'
AS_TYPED = '{"city": "Paris", "days": 3}'
CALL: Said = [("tool", "weather", ARGUMENTS)]
STRINGS: Said = [("tool", "weather", AS_STRINGS)]
TYPED: Said = [("tool", "weather", AS_TYPED)]
NAMED = f'{{"name": "weather", "arguments": {ARGUMENTS}}}'
THOUGHT: Said = [("thinking", "hm"), ("text", "Yes.")]

CASES: list[tuple[str, str, Said]] = [
    ("deepseek-r1", "<think>\nhm\n</think>\n\nYes.", THOUGHT),
    ("deepseek-r1", "<think>\n\n</think>\n\nYes.", [("text", "Yes.")]),
    ("qwen", f"<think>\nhm\n</think>\n\n<tool_call>\n{NAMED}\n</tool_call>", [("thinking", "hm"), *CALL]),
    ("qwen", f"<think>\nhm<tool_call>{NAMED}</tool_call>", [("thinking", "hm"), *CALL]),
    (
        "qwen-coder",
        "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n"
        "<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        STRINGS,
    ),
    (
        "seed-oss",
        "<seed:think>hm</seed:think><seed:tool_call><function=weather><parameter=city>Paris</parameter>"
        "<parameter=days>3</parameter></function></seed:tool_call>",
        [("thinking", "hm"), *STRINGS],
    ),
    (
        "deepseek-v3",
        "<think>hm</think>Yes.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n"
        f"{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [*THOUGHT, *CALL],
    ),
    (
        "deepseek-v3",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>\n"
        "<｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        [*CALL, ("tool", "now", "{}")],
    ),
    *(
        (
            "deepseek-dsml",
            f'hm</think>Yes.\n\n<｜DSML｜{section}>\n<｜DSML｜invoke name="weather">\n'
            '<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>\n'
            '<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n'
            f"</｜DSML｜invoke>\n</｜DSML｜{section}>",
            [("text", "hmYes.\n\n"), *TYPED],
        )
        for section in ("function_calls", "tool_calls")
    ),
    (
        "deepseek-dsml",
        '<｜ DSML ｜ tool_calls>\n<｜ DSML ｜ invoke name="weather">\n'
        '<｜ DSML ｜ parameter name="city" string="true">Paris</｜ DSML ｜ parameter>\n'
        '<｜ DSML ｜ parameter name="days" string="false">3</｜ DSML ｜ parameter>\n'
        "</｜ DSML ｜ invoke>\n</｜ DSML ｜ tool_calls>",
        TYPED,
    ),
    (
        "kimi-k2",
        "<think>hm<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0"
        f"<|tool_call_argument_begin|>{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
        [("thinking", "hm"), *CALL],
    ),
    (
        "kimi-k3",
        "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>Yes.<|close|>response<|sep|>"
        '<|open|>tools<|sep|><|open|>call tool="weather" index="1"<|sep|>'
        '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>",
        [*THOUGHT, *TYPED],
    ),
    (
        "glm",
        "<think>hm</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n<tool_call>now</tool_call>",
        [("thinking", "hm"), *STRINGS, ("tool", "now", "{}")],
    ),
    (
        "minimax",
        '<think>hm</think>Yes.<minimax:tool_call>\n<invoke name="weather">\n'
        '<parameter name="city">Paris</parameter>\n'
        "<parameter name=days>3</parameter>\n</invoke>\n<invoke name='now'>\n</invoke>\n</minimax:tool_call>",
        [*THOUGHT, *STRINGS, ("tool", "now", "{}")],
    ),
    (
        "minimax",
        ']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>'
        "]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
        STRINGS,
    ),
    ("mistral", f"[THINK]hm[/THINK]Yes.[TOOL_CALLS] [{NAMED}]", [*THOUGHT, *CALL]),
    ("mistral", f"[TOOL_CALLS]weather[ARGS]{ARGUMENTS}[TOOL_CALLS]now[ARGS]{{}}", [*CALL, ("tool", "now", "{}")]),
    ("mistral", f"[TOOL_CALLS]weather[CALL_ID]a1b2c3[ARGS]{ARGUMENTS}", CALL),
    ("mistral", f"<think>hm</think>Yes.[TOOL_CALLS]weather{ARGUMENTS}", [*THOUGHT, *CALL]),
    ("llama3", f'{{"name": "weather", "parameters": {ARGUMENTS}}}', CALL),
    ("llama3", f'{{"type": "function", "name": "weather", "parameters": {ARGUMENTS}}}', CALL),
    (
        "llama3",
        f'{{"name": "weather", "parameters": {ARGUMENTS}}}; {{"name": "now", "parameters": {{}}}}',
        [*CALL, ("tool", "now", "{}")],
    ),
    ("llama3", f"<|python_tag|>{NAMED}", CALL),
    ("llama3", '{"name": "Ada", "born": 1815}', [("text", '{"name": "Ada", "born": 1815}')]),
    ("pythonic", "[weather(city='Paris', days=3), now()]", [*TYPED, ("tool", "now", "{}")]),
    (
        "pythonic",
        '<|tool_call_start|>[weather(city="Paris", days=3)]<|tool_call_end|>Yes.',
        [*TYPED, ("text", "Yes.")],
    ),
    ("pythonic", "<|python_start|>[now()]<|python_end|>", [("tool", "now", "{}")]),
    ("pythonic", "[a list](of links)", [("text", "[a list](of links)")]),
    (
        "harmony",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather "
        f"<|constrain|>json<|message|>{ARGUMENTS}<|call|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
        [("thinking", "hm"), *CALL, ("text", "Yes.")],
    ),
    (
        "harmony",
        f"<|start|>assistant to=functions.weather<|channel|>commentary json<|message|>{ARGUMENTS}<|call|>",
        CALL,
    ),
    ("harmony", "<|channel|>commentary<|message|>I look.<|end|>", [("text", "I look.")]),
    ("harmony", "<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>Yes.", THOUGHT),
    ("gemma", "<|channel>thought\nhm<channel|>Yes.", THOUGHT),
    (
        "gemma",
        '<|tool_call>call:weather{city:<|"|>Paris<|"|>,days:3}<tool_call|><|tool_call>call:now{}<tool_call|>',
        [*TYPED, ("tool", "now", "{}")],
    ),
    (
        "gemma",
        "<start_function_call>call:weather{city:<escape>Paris<escape>,days:3}<end_function_call>",
        TYPED,
    ),
    (
        "granite",
        "Here is my thought process: hm Here is my response: Yes.",
        [("thinking", " hm "), ("text", " Yes.")],
    ),
    ("granite", "Here's my thought process:hmHere's my response:Yes.", THOUGHT),
    ("granite", f"<|tool_call|>[{NAMED}]", CALL),
    ("granite", f"<function_call> {NAMED}<function_call> {NAMED}", [*CALL, *CALL]),
    ("granite", "So: Here is my thought process: no.", [("text", "So: Here is my thought process: no.")]),
    (
        "cohere",
        "<|START_THINKING|>hm<|END_THINKING|><|START_ACTION|>[\n"
        f'{{"tool_call_id": "0", "tool_name": "weather", "parameters": {ARGUMENTS}}}\n]<|END_ACTION|>',
        [("thinking", "hm"), *CALL],
    ),
    ("cohere", "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>", THOUGHT),
    ("hunyuan", "<think>\nhm\n</think>\n<answer>\nYes.\n</answer>", THOUGHT),
    ("hunyuan", "<think>\n\n</think>\n<answer>\nYes.\n</answer>", [("text", "Yes.")]),
    ("hunyuan", f"<tool_calls>[{NAMED}]</tool_calls>", CALL),
    (
        "hunyuan",
        "<tool_calls>\n<tool_call>weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>\n</tool_calls>",
        STRINGS,
    ),
    (
        "step3",
        "<think>hm</think>Yes.<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="weather">\n<steptml:parameter name="city">Paris</steptml:parameter>\n'
        '<steptml:parameter name="days">3</steptml:parameter>\n</steptml:invoke>'
        "<｜tool_call_end｜>\n<｜tool_calls_end｜>",
        [*THOUGHT, *STRINGS],
    ),
    (
        "apertus",
        f'<|tools_prefix|>[{{"weather": {ARGUMENTS}}}, {{"now": {{}}}}]<|tools_suffix|>',
        [*CALL, ("tool", "now", "{}")],
    ),
    (
        "dots",
        '<dots_function_call>\n<invoke name="weather">\n<parameter name="city">Paris</parameter>\n'
        '<parameter name="days">3</parameter>\n</invoke>\n</dots_function_call>',
        STRINGS,
    ),
    (
        "muse",
        '<atem:function_calls>\n<atem:invoke name="weather">\n<atem:parameter name="city">Paris</atem:parameter>\n'
        '<atem:parameter name="days">3</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
        STRINGS,
    ),
    ("tarko", f'Yes.<tool_call>{{"name": "weather", "parameters": {ARGUMENTS}}}', [("text", "Yes."), *CALL]),
    (
        "tarko-omni",
        "<think_never_used_51bce0c7>hm</think_never_used_51bce0c7>Yes.<code_env>x = 1</code_env>"
        "<seed:tool_call><function=now></function></seed:tool_call>",
        [*THOUGHT, ("tool", "now", "{}")],
    ),
    (
        "ui-tars",
        "Thought: hm\nAction: click(start_box='(1,2)')",
        [("thinking", "hm"), ("tool", "click", '{"start_box": "(1,2)"}')],
    ),
    (
        "none",
        f"<think>hm</think><tool_call>{NAMED}</tool_call>",
        [("text", f"<think>hm</think><tool_call>{NAMED}</tool_call>")],
    ),
]


@pytest.mark.parametrize(("family", "text", "expected"), CASES)
def test_a_family_is_read_as_its_models_write_it(family: str, text: str, expected: Said) -> None:
    assert every_way(route_tags(family, drop=("code",)), text, every_cut(text)) == expected


@pytest.mark.parametrize(("family", "text", "expected"), CASES)
def test_with_tools_dropped_the_same_text_stays_visible(family: str, text: str, expected: Said) -> None:
    visible = "".join(text for kind, *_, text in expected if kind == "text")
    assert "".join(text for kind, *_, text in every_way(route_tags(family), text) if kind == "text") == visible


NEED_THEIR_FAMILY = {"llama3", "pythonic", "granite", "hunyuan", "ui-tars", "none"}
DEFAULT_CASES = [
    (family, text, expected)
    for family, text, expected in CASES
    if family not in NEED_THEIR_FAMILY
    and not any(only in text for only in ("]<]minimax", "\n</think>", "<think>\nhm<tool"))
]


@pytest.mark.parametrize(("family", "text", "expected"), DEFAULT_CASES)
def test_the_default_reads_what_can_be_told_from_prose(family: str, text: str, expected: Said) -> None:
    assert every_way(route_tags(drop=("code",)), text) == expected


def test_every_family_has_a_case() -> None:
    assert {family for family, _, _ in CASES} == FAMILIES.keys() - {"default"}


def test_an_unknown_family_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match=r"no markup family is called 'gpt-9'.*kimi-k2"):
        route_tags("gpt-9")


def test_a_deployment_adds_rows_and_tags_of_its_own() -> None:
    rows = ("reasoning", Markup("{{", ("}}",), "code"), Markup("<secret>", ("</secret>",), is_dropped=True))
    operator = route_tags("none", rows)
    text = "a<reasoning>b</reasoning>c{{d}}e<secret>f</secret>g<think>h"
    assert every_way(operator, text) == [("text", "a"), ("thinking", "b"), ("text", "ceg<think>h")]


def test_a_table_of_ones_own_replaces_the_family() -> None:
    operator = route_tags([Markup("((", ("))",))])
    assert every_way(operator, "a((b))<think>") == [("text", "a"), ("thinking", "b"), ("text", "<think>")]


def test_arguments_made_of_elements_are_json() -> None:
    for _, _, expected in CASES:
        for part in expected:
            if part[0] == "tool":
                json.loads(part[-1])
