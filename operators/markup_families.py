"""The table: what the model families write into their text. Data only; the signs are those of `tokens`.

A family's rows say exactly which white space is markup: `<think>\\n` where the template writes it so. How a
tool call's body is written is not said here; `penstock.operators.call_bodies` knows it by its first characters.
"""

from collections.abc import Mapping

from penstock.operators.markup import Markup

__all__ = ["FAMILIES"]

Rows = tuple[Markup, ...]


def _mark(*tags: str, ends_thinking: bool = False) -> Rows:
    return tuple(Markup(tag, kind="mark", ends_thinking=ends_thinking) for tag in tags)


def _tool(
    *openers: str, closers: tuple[str, ...] = (), at_start: bool = False, ends_thinking: bool = False
) -> Rows:
    return tuple(Markup(opener, closers, "tool", False, at_start, ends_thinking) for opener in openers)


THINK: Rows = (Markup("<think>", ("</think>",)),)
THINKING: Rows = (Markup("<thinking>", ("</thinking>",)),)
TEMPLATE_THINK: Rows = tuple(
    Markup(opener, ("\n</think>\n\n", "</think>\n\n", "\n</think>", "</think>"))
    for opener in ("<think>\n", "<think>")
)
"""As the chat templates of DeepSeek-R1 and Qwen write it: a line of its own for each tag, then an empty one."""

TOOL_CALL = _tool("<tool_call>", closers=("</tool_call>",))
TOOL_CALL_ENDS_THINKING = _tool("<tool_call>", closers=("</tool_call>",), ends_thinking=True)

DEEPSEEK_V3: Rows = (
    *_mark("<｜tool▁calls▁begin｜>", ends_thinking=True),
    *_mark("<｜tool▁calls▁end｜>"),
    *_tool(
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>@␣```json␣",
        "<｜tool▁call▁begin｜>@<｜tool▁sep｜>",
        closers=("```␣<｜tool▁call▁end｜>", "<｜tool▁call▁end｜>"),
        ends_thinking=True,
    ),
)

DSML: Rows = tuple(
    row
    for bar in "｜|"
    for section in ("function_calls", "tool_calls")
    for row in _tool(
        f"<{bar}␣DSML␣{bar}␣{section}␣>",
        closers=(f"</{bar}␣DSML␣{bar}␣{section}␣>",),
        ends_thinking=True,
    )
)

KIMI_K2: Rows = (
    *_mark("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>", ends_thinking=True),
    *_mark("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
    *_tool(
        "<|tool_call_begin|>␣functions.@:*␣<|tool_call_argument_begin|>",
        "<|tool_call_begin|>␣@:*␣<|tool_call_argument_begin|>",
        "<|tool_call_begin|>␣@␣<|tool_call_argument_begin|>",
        closers=("<|tool_call_end|>",),
        ends_thinking=True,
    ),
)

KIMI_K3: Rows = (
    Markup("<|open|>think<|sep|>", ("<|close|>think<|sep|>",)),
    *_mark("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    *_tool("<|open|>tools<|sep|>", closers=("<|close|>tools<|sep|>",), ends_thinking=True),
)

MINIMAX = _tool("<minimax:tool_call>", closers=("</minimax:tool_call>",))
MINIMAX_M3 = _tool("]<]minimax[>[␣<tool_call>", closers=("]<]minimax[>[␣</tool_call>",), ends_thinking=True)

MISTRAL: Rows = (
    Markup("[THINK]", ("[/THINK]",)),
    *_tool("[TOOL_CALLS]␣@␣[ARGS]", "[TOOL_CALLS]␣@␣[CALL_ID]*[ARGS]", "[TOOL_CALLS]␣@␣▸{", "[TOOL_CALLS]"),
)

PYTHON_TAGS: Rows = (
    *_tool("<|tool_call_start|>", closers=("<|tool_call_end|>",)),
    *_tool("<|python_start|>", closers=("<|python_end|>",)),
)

_CHANNEL_TAILS = ("␣<|constrain|>␣*<|message|>", "␣*<|message|>", "␣<|message|>")
HARMONY: Rows = (
    Markup("<|channel|>analysis<|message|>", ("<|end|>", "<|return|>", "▸<|start|>", "▸<|channel|>")),
    *_mark("<|start|>assistant", "<|end|>", "<|return|>", "<|call|>"),
    *_mark(*(f"<|channel|>{channel}<|message|>" for channel in ("final", "commentary"))),
    *_mark("<|channel|>final␣<|constrain|>␣*<|message|>"),
    *_tool(
        *(
            header
            for recipient in ("functions.@", "@")
            for channel in ("commentary", "analysis")
            for tail in _CHANNEL_TAILS
            for header in (
                f"<|channel|>{channel}␣to={recipient}{tail}",
                f"<|start|>assistant␣to={recipient}␣<|channel|>{channel}{tail}",
            )
        ),
        closers=("<|call|>", "<|end|>", "<|return|>", "▸<|start|>"),
    ),
)

GEMMA: Rows = (
    Markup("<|channel>thought\n", ("<channel|>",)),
    Markup("<|channel>thought", ("<channel|>",)),
    *_tool("<|tool_call>", closers=("<tool_call|>",), ends_thinking=True),
    *_tool("<start_function_call>", closers=("<end_function_call>",)),
)

GRANITE: Rows = (
    *(
        Markup(
            f"Here{verb} my thought process:", ("Here is my response:", "Here's my response:"), only_at_start=True
        )
        for verb in (" is", "'s")
    ),
    *_tool("<|tool_call|>", "<function_call>"),
)

COHERE: Rows = (
    Markup("<|START_THINKING|>", ("<|END_THINKING|>",)),
    *_mark("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    *_tool("<|START_ACTION|>", closers=("<|END_ACTION|>",), ends_thinking=True),
)

_HUNYUAN_CLOSERS = ("\n</think>\n<answer>\n", "</think>\n<answer>\n", "\n</think>\n", "\n</think>", "</think>")
HUNYUAN: Rows = (
    Markup("<think>\n", _HUNYUAN_CLOSERS),
    Markup("<think>", _HUNYUAN_CLOSERS),
    *_mark("<answer>\n", "<answer>", "\n</answer>", "</answer>"),
    *_tool("<tool_calls>␣▸[", closers=("</tool_calls>",)),
    *_mark("<tool_calls>", "</tool_calls>"),
    *TOOL_CALL,
)

SEED_OSS: Rows = (
    Markup("<seed:think>", ("</seed:think>",)),
    *_tool("<seed:tool_call>", closers=("</seed:tool_call>",)),
)

STEP3: Rows = (
    *_mark("<｜tool_calls_begin｜>", ends_thinking=True),
    *_mark("<｜tool_calls_end｜>"),
    *_tool("<｜tool_call_begin｜>function<｜tool_sep｜>", closers=("<｜tool_call_end｜>",), ends_thinking=True),
)

APERTUS = _tool("<|tools_prefix|>", closers=("<|tools_suffix|>",))
DOTS = _tool("<dots_function_call>", closers=("</dots_function_call>",))
MUSE = _tool("<atem:function_calls>", closers=("</atem:function_calls>",))

TARKO_OMNI: Rows = (
    Markup("<think_never_used_*>", ("</think_never_used_*>",)),
    Markup("<code_env>", ("</code_env>",), "code"),
)

LLAMA3: Rows = (
    *_tool(
        *(
            f'▸{{␣{kind}"name"␣:␣"*"␣,␣"{arguments}"␣:'
            for kind in ("", '"type"␣:␣"function"␣,␣')
            for arguments in ("parameters", "arguments")
        ),
        at_start=True,
    ),
    Markup(';␣▸{␣"', kind="mark", only_at_start=True),
    *_tool("<|python_tag|>"),
)

PYTHONIC: Rows = (*_tool("▸[␣@(", at_start=True), *PYTHON_TAGS)

UI_TARS: Rows = (
    Markup("Thought:␣", ("\n▸Action:",), only_at_start=True),
    *_tool("Action:␣▸@(", at_start=True),
)

# What can be told from prose without knowing the model.
DEFAULT: Rows = (
    *THINK,
    *THINKING,
    *TOOL_CALL,
    *DEEPSEEK_V3,
    *DSML,
    *KIMI_K2,
    *KIMI_K3,
    *MINIMAX,
    *MISTRAL,
    *PYTHON_TAGS,
    *HARMONY,
    *GEMMA,
    *COHERE,
    *SEED_OSS,
    *STEP3,
    *APERTUS,
    *DOTS,
    *MUSE,
    *TARKO_OMNI,
)

FAMILIES: Mapping[str, Rows] = {
    "none": (),
    "default": DEFAULT,
    "deepseek-r1": TEMPLATE_THINK,
    "deepseek-v3": THINK + DEEPSEEK_V3,
    "deepseek-dsml": THINK + DSML,
    "qwen": TEMPLATE_THINK + TOOL_CALL_ENDS_THINKING,
    "qwen-coder": TEMPLATE_THINK + TOOL_CALL_ENDS_THINKING,
    "kimi-k2": THINK + KIMI_K2,
    "kimi-k3": KIMI_K3,
    "glm": THINK + TOOL_CALL,
    "minimax": THINK + MINIMAX + MINIMAX_M3,
    "mistral": MISTRAL + THINK,
    "llama3": LLAMA3,
    "pythonic": PYTHONIC,
    "harmony": HARMONY,
    "gemma": GEMMA,
    "granite": GRANITE + THINK + TOOL_CALL,
    "cohere": COHERE,
    "hunyuan": HUNYUAN,
    "seed-oss": SEED_OSS,
    "step3": THINK + STEP3,
    "apertus": APERTUS,
    "dots": DOTS,
    "muse": MUSE,
    "tarko": THINK + TOOL_CALL,
    "tarko-omni": TARKO_OMNI + SEED_OSS,
    "ui-tars": UI_TARS,
}
