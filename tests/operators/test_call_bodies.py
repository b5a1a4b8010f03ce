"""Tool calls in forms that are no JSON: whatever values go in, the arguments are JSON that says the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut
from text_streams import every_way

from penstock.operators.route_tags import route_tags

CALLS = route_tags(drop=("code",))
texts = st.text(st.characters(codec="utf-8"), max_size=8)
keys = st.text("abc_", min_size=1, max_size=4)


def nested(strings: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    scalars = (
        st.none() | st.booleans() | st.integers() | st.floats(-1e6, 1e6).filter(lambda x: abs(x) > 1e-3) | strings
    )
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
    )


def called(text: str, *ways: list[str]) -> Any:
    ((kind, name, arguments),) = every_way(CALLS, text, ways)
    assert (kind, name) == ("tool", "f")
    return json.loads(arguments)


# ── Python ───────────────────────────────────────────────────────────────────────────────────────────────────


@given(data=st.data(), arguments=st.dictionaries(keys, nested(texts), max_size=3))
def test_python_literals_become_the_json_of_their_values(data: st.DataObject, arguments: dict[str, Any]) -> None:
    written = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    text = f"<|tool_call_start|>[f({written})]<|tool_call_end|>"
    assert called(text, data.draw(cuts(text))) == arguments


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"a='it\'s \x41\u00e9\U0001f600\n\q'", {"a": "it's Aé😀\n\\q"}),
        (r"a='\ud83d \u12'", {"a": "\ufffd \\u12"}),
        ("a=(1, 2,), b=[1,], c=()", {"a": [1, 2], "b": [1], "c": []}),
        ("a = true , b=null,", {"a": True, "b": None}),
        ("a=word, b=1.50, c=007", {"a": "word", "b": 1.5, "c": "007"}),
        ("a={'k': [1, {'l': ()}], 'm': \"')]\"}", {"a": {"k": [1, {"l": []}], "m": "')]"}}),
        ("", {}),
    ],
)
def test_python_as_models_write_it(written: str, meant: dict[str, Any]) -> None:
    text = f"<|tool_call_start|>[f({written})]<|tool_call_end|>"
    assert called(text, *every_cut(text)) == meant


@pytest.mark.parametrize("written", ["1", "a b", "=1", "a=,", "a=@"])
def test_python_that_is_no_call_with_keys_is_malformed(written: str) -> None:
    text = f"<|tool_call_start|>[f({written})]<|tool_call_end|>after"
    out = every_way(CALLS, text, every_cut(text))
    if written != "a=@":  # a word like another
        assert out[1:] == [("error", "malformed_tool_call"), ("text", "after")]


# ── Gemma ────────────────────────────────────────────────────────────────────────────────────────────────────


def gemma(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, list):
        return f"[{','.join(map(gemma, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{gemma(inner)}' for key, inner in value.items())}}}"
    return json.dumps(value)


@given(
    data=st.data(), arguments=st.dictionaries(keys, nested(texts.filter(lambda text: "<" not in text)), max_size=3)
)
def test_gemmas_form_becomes_the_json_of_its_values(data: st.DataObject, arguments: dict[str, Any]) -> None:
    text = f"<|tool_call>call:f{gemma(arguments)}<tool_call|>"
    assert called(text, data.draw(cuts(text))) == arguments


@pytest.mark.parametrize("written", ["{a:1]}", "{a}", "{:1}", "{a:1}}"])
def test_gemmas_form_broken_is_malformed_or_ends_with_its_braces(written: str) -> None:
    out = every_way(CALLS, f"<|tool_call>call:f{written}<tool_call|>")
    assert out[0][0] == "tool"
    assert out[1:] in ([("error", "malformed_tool_call")], [("text", "}")])


# ── elements ─────────────────────────────────────────────────────────────────────────────────────────────────

ELEMENTS = {
    "<tool_call>\n<function=f>\n{0}</function>\n</tool_call>": "<parameter={0}>\n{1}\n</parameter>\n",
    "<minimax:tool_call><invoke name=f>{0}</invoke></minimax:tool_call>": "<parameter name={0}>\n{1}\n</parameter>",
    "<tool_call>f\n{0}</tool_call>": "<arg_key>{0}</arg_key>\n<arg_value>{1}</arg_value>\n",
}
CLOSERS = ["</parameter>", "</function>", "</tool_call>", "<parameter=", "</arg_value>", "x", "\n", " ", "<", '"']
tricky = st.lists(st.sampled_from(CLOSERS), max_size=5).map(lambda parts: "".join([*parts, "."]))


@pytest.mark.parametrize("call", ELEMENTS)
@given(data=st.data(), arguments=st.dictionaries(keys, texts | tricky, max_size=3))
def test_elements_become_a_json_object_of_their_texts(
    call: str, data: st.DataObject, arguments: dict[str, str]
) -> None:
    # A closer inside a value is data unless what may follow a value follows it.
    ambiguous = ("</parameter>", "</arg_value>")
    arguments = {
        key: value.replace("</function></tool_call>", "").replace("\n</function>", "")
        for key, value in arguments.items()
        if not any(closer + after in "".join(value.split()) for closer in ambiguous for after in ("</", "<p"))
    }
    body = "".join(ELEMENTS[call].format(key, value) for key, value in arguments.items())
    text = call.format(body)
    out = every_way(CALLS, text, [data.draw(cuts(text))])
    assert len(out) == 1
    assert json.loads(out[0][-1]) == arguments


def test_a_value_called_json_stays_as_written_and_one_that_is_none_is_a_string() -> None:
    parameters = {"a": '[1, {"b": 2}]', "c": " 3 ", "d": "true", "e": "not json", "f": '{"half": '}
    body = "".join(
        f'<｜DSML｜parameter name="{key}" string="false">{value}</｜DSML｜parameter>\n'
        for key, value in parameters.items()
    )
    text = f'<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n{body}</｜DSML｜invoke>\n</｜DSML｜tool_calls>'
    ((_, _, arguments),) = every_way(CALLS, text, every_cut(text))
    assert arguments == '{"a": [1, {"b": 2}], "c": 3, "d": true, "e": "not json", "f": {"half": }'
