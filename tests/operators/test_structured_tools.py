"""A structured-output document streams out as what it says (seed 002: what the specification gave up)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut, push
from text_streams import every_way, text_message

from penstock.events import Event, Text, TextDelta, ToolInputDelta, ToolInvocation, TurnCompleted
from penstock.operators.structured_tools import structured_tools

DOCUMENT = '{"content": "Let me \\"look\\".\\n", "toolCall": {"name": "f", "args": {"a": [1, "}"]}}}'


def test_content_and_call_stream_out_as_they_are_written() -> None:
    out: list[Event] = []
    chain = structured_tools().chain()
    chain.stages[0].emit = out.append
    seen: list[str] = []
    for event in text_message(*DOCUMENT)[:-2]:
        out.clear()
        chain.feed(event)
        seen += [
            e.text if isinstance(e, TextDelta) else e.json for e in out if isinstance(e, TextDelta | ToolInputDelta)
        ]
    assert seen == [*'Let me "look".\n', *'{"a": [1, "}"]}']


def test_a_document_is_the_same_at_every_cut() -> None:
    expected = [("text", 'Let me "look".\n'), ("tool", "f", '{"a": [1, "}"]}')]
    assert every_way(structured_tools(), DOCUMENT, every_cut(DOCUMENT)) == expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ('{"toolCall": {"name": "f", "args": {}}, "content": "after"}', [("tool", "f", "{}"), ("text", "after")]),
        ('{"content": "a", "toolCall": null}', [("text", "a")]),
        ('{"content": "", "tool_calls": []}', []),
        ('{"content": "a", "confidence": {"x": [1]}, "n": 1}', [("text", "a")]),
        (
            '{"tool_calls": [{"name": "f", "args": {}}, {"name": "g", "arguments": {}}]}',
            [("tool", "f", "{}"), ("tool", "g", "{}")],
        ),
        (' \n{ "content" : "a" } \n', [("text", "a")]),
        ('{"content": "a"} and more', [("text", "aand more")]),
        ('{"content": "\\ud83d\\ude00\\u00e9\\ud83d"}', [("text", "😀é\ufffd")]),
    ],
)
def test_documents_in_their_variety(document: str, expected: list[tuple[str, ...]]) -> None:
    assert every_way(structured_tools(), document, every_cut(document)) == expected


@pytest.mark.parametrize(
    "text", ["plain text", '{"answer": 42}', "[1]", "{", "", '{"contents": "x"}', "{}", '  {"a']
)
def test_text_that_is_no_such_document_passes_as_it_is(text: str) -> None:
    expected = [("text", text)] if text else []
    assert every_way(structured_tools(), text, every_cut(text)) == expected


@pytest.mark.parametrize("end", range(len(DOCUMENT)))
def test_a_document_cut_off_keeps_its_content_and_makes_no_call(end: int) -> None:
    out = every_way(structured_tools(), DOCUMENT[:end])
    call = [part for part in out if part[0] == "tool"]
    errors = [part for part in out if part[0] == "error"]
    is_complete = end >= len(DOCUMENT) - 1
    assert errors == ([("error", "incomplete_tool_call")] if call and not is_complete else errors)
    assert not is_complete or not errors


def test_a_document_that_breaks_its_promise_is_an_error_in_its_place() -> None:
    assert every_way(structured_tools(), '{"content": "a", oops: 1}') == [
        ("text", "a"),
        ("error", "malformed_document"),
    ]
    out = every_way(structured_tools(), '{"toolCall": {"args": {}}, "content": "a"}')
    assert out == [("error", "malformed_tool_call"), ("error", "malformed_document")]


def test_keys_are_a_deployments_own() -> None:
    operator = structured_tools(("say",), ("do",), ("verb",), ("with",))
    text = '{"say": "a", "do": {"verb": "f", "with": {"b": 1}}}'
    assert every_way(operator, text, every_cut(text)) == [("text", "a"), ("tool", "f", '{"b": 1}')]


def test_finals_and_the_final_message_say_the_same() -> None:
    assert push(structured_tools(), [Text(DOCUMENT, 0, "m"), TurnCompleted("stop", DOCUMENT)]) == [
        Text('Let me "look".\n', 0, "m"),
        ToolInvocation("call-1", "f", {"a": [1, "}"]}, 1, "m"),
        TurnCompleted("stop", 'Let me "look".\n'),
    ]


@given(data=st.data(), content=st.text(st.characters(codec="utf-8"), min_size=1), ascii_only=st.booleans())
def test_any_content_comes_out_as_it_was(data: st.DataObject, content: str, ascii_only: bool) -> None:
    document = json.dumps({"content": content}, ensure_ascii=ascii_only)
    assert every_way(structured_tools(), document, [data.draw(cuts(document))]) == [("text", content)]
