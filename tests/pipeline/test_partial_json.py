"""Partial JSON: the same value however it is cut, the measure being jiter; bad text reported where it is bad."""

import json
import re
from typing import Any

import jiter
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from json_texts import broken_documents, documents
from laws import cuts, every_cut

from penstock.partial_json import Malformed, PartialJson, extract_streaming_params


def read(*deltas: str) -> PartialJson:
    reader = PartialJson()
    for delta in deltas:
        reader.feed(delta)
    return reader


OPEN_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*$|-$")


def by_jiter(text: str) -> tuple[Any, str]:
    """What jiter reads, and its complaint; nothing yet is no complaint."""
    try:
        return jiter.from_json(text.encode(), partial_mode="trailing-strings", allow_inf_nan=False), ""
    except ValueError as problem:
        return None, "" if str(problem).startswith("EOF") else str(problem)


def agrees_with_jiter(text: str) -> None:
    reader = read(text)
    value, complaint = by_jiter(text)
    if complaint:
        assert reader.error is not None, f"{text!r}: jiter says {complaint}"
    elif reader.value() != value:  # documented: a number at the very end is withheld
        without = OPEN_NUMBER.sub("", text)
        assert without != text, f"{text!r}: {reader.value()!r}, jiter {value!r}"
        assert reader.value() == by_jiter(without)[0]


@given(documents())
@example('{"a":"\\ud83d\\ude00","b":[1,-2.5e3,true,null,{"c":""}]}')
@example('"\\ud83d\\ude00"')
def test_every_prefix_of_a_document_agrees_with_jiter(text: str) -> None:
    for end in range(len(text) + 1):
        agrees_with_jiter(text[:end])
        assert read(text[:end]).error is None
    assert read(text, " ").is_complete


@given(broken_documents())
@example('["\\ud83dx"]')
@example('{"a":1,"a":"x')
@example("[1 2]")
def test_every_prefix_of_a_broken_document_agrees_with_jiter(text: str) -> None:
    for end in range(len(text) + 1):
        agrees_with_jiter(text[:end])


@given(documents() | broken_documents())
def test_a_text_is_complete_exactly_where_a_parser_accepts_it(text: str) -> None:
    try:
        jiter.from_json(text.encode(), allow_inf_nan=False)
    except ValueError:
        is_json = False
    else:
        is_json = True
    assert read(text, "\n").is_complete == is_json


@given(st.data(), documents() | broken_documents())
def test_however_the_text_is_cut_the_value_and_the_error_are_the_same(data: st.DataObject, text: str) -> None:
    whole = read(text)
    for deltas in (data.draw(cuts(text)), list(text)):
        reader = read(*deltas)
        assert (reader.value(), reader.error, reader.is_complete) == (whole.value(), whole.error, whole.is_complete)


def test_every_cut_of_a_small_document_gives_the_same_value() -> None:
    text = '{"pa\\u0074h": "a\\n\\ud83d\\ude00", "n": [-1.5e+3, true, null, {}], "": ""} '
    for deltas in every_cut(text):
        reader = read(*deltas)
        assert reader.value() == json.loads(text)
        assert reader.is_complete


@given(broken_documents())
def test_the_offset_of_an_error_is_the_first_character_that_cannot_be_right(text: str) -> None:
    error = read(text).error
    if error is not None:
        before, at = read(text[: error.offset]), read(text[: error.offset + 1])
        assert before.error is None
        assert at.error is not None
        assert at.error.offset == error.offset
        assert read(text).value() == at.value(), "the last good value stays"


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("x", 0),
        ('{"a":1,}', 7),
        ("[1,]", 3),
        ("[01]", 2),
        ("[1.x", 3),
        ("[--", 2),
        ("[truth", 4),
        ('{"a" 1', 5),
        ("{1", 1),
        ('["\\q', 3),
        ('["\\u00g', 6),
        ('["\\ud83dx', 8),
        ('["\\udc00', 5),
        ('["a\nb', 3),
        ("{} {", 3),
        ("[1}", 2),
        ("[NaN", 1),
        ("[" + "1" * 1001, 1001),
        ("[" * 201, 200),
    ],
)
def test_malformed_text_is_reported_with_its_offset(text: str, offset: int) -> None:
    error = read(text).error
    assert error is not None
    assert error.offset == offset
    assert error.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u00e', {"a": "x"}),
        ('{"a": "x\\ud83d\\ude0', {"a": "x"}),
        ('{"a": 12', {}),
        ('{"a": 12,', {"a": 12}),
        ('{"a": fals', {}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": [1, {"b": "c', {"a": [1, {"b": "c"}]}),
        ('{"a": 1} nonsense', {"a": 1}),
        ('["kept", oops', ["kept"]),
    ],
)
def test_what_is_not_whole_is_withheld(text: str, value: Any) -> None:
    assert read(text).value() == value
    assert read(*text).value() == value


def test_extract_streaming_params_gives_the_parameters_readable_so_far() -> None:
    assert extract_streaming_params('{"path": "a.py", "content": "def f(') == {"path": "a.py", "content": "def f("}
    assert extract_streaming_params("") == {}
    assert extract_streaming_params("[1, 2") == {}
    assert extract_streaming_params("*** Begin Patch") == {}


@given(documents())
def test_a_snapshot_never_changes_afterwards(text: str) -> None:
    reader = PartialJson()
    early = []
    late = []
    for character in text:
        reader.feed(character)
        early.append((reader.snapshot(), json.dumps(reader.value())))
        late.append(reader.snapshot())
    for (snapshot, then), unread in zip(early, late, strict=True):
        assert json.dumps(snapshot.value) == then
        assert json.dumps(unread.value) == then


def test_a_name_given_twice_counts_the_second_time_and_leaves_older_snapshots_alone() -> None:
    reader = read('{"a": "first", ')
    content = reader.follow(("a",))
    before = reader.snapshot()
    reader.feed('"a": "sec')
    assert (str(content), reader.value(), before.value) == ("sec", {"a": "sec"}, {"a": "first"})
    reader.feed('ond"}')
    assert (str(content), content.is_complete, reader.value()) == ("second", True, {"a": "second"})


# ── following a string ───────────────────────────────────────────────────────────────────────────────────


@given(st.data(), st.text(max_size=40), st.sampled_from([("content",), ("edits", 1, "new")]), st.booleans())
def test_text_deltas_of_a_path_add_up_to_its_string(
    data: st.DataObject, content: str, path: tuple[str | int, ...], is_ascii: bool
) -> None:
    content = content.encode("utf-8", "replace").decode()
    value = {"path": "a", "content": content, "edits": [{"new": "x"}, {"old": "y", "new": content}, "z"]}
    reader = PartialJson()
    heard: list[str] = []
    text = reader.follow(path, on_text=heard.append)
    for delta in data.draw(cuts(json.dumps(value, ensure_ascii=is_ascii))):
        reader.feed(delta)
        assert "".join(heard) == str(text)
    assert "".join(heard) == content
    assert text.is_complete
    assert text.chars == len(content)
    assert text.lines == len(content.removesuffix("\n").split("\n")) if content else text.lines == 0
    assert (text.head(5), text.tail(5)) == (content[:5], content[-5:])


@given(st.integers(0, 60))
def test_following_may_begin_at_any_time(when: int) -> None:
    document = '{"a": [1, ["x", "middle\\n", "y"]], "b": "last\\ttext"}'
    reader = read(document[:when])
    heard: list[str] = []
    middle, last = reader.follow(("a", 1, 1)), reader.follow(("b",), heard.append)
    for character in document[when:]:
        reader.feed(character)
    assert (str(middle), str(last), "".join(heard)) == ("middle\n", "last\ttext", "last\ttext")
    assert middle.is_complete
    assert reader.follow(("a", 0)).chars == reader.follow(("nowhere", "at all")).chars == 0


def test_the_live_value_is_borrowed_and_its_open_string_is_live() -> None:
    reader = read('{"path": "a.py", "content": "one\\ntw')
    content = reader.live["content"]
    assert reader.live["path"] == "a.py"
    assert (content.chars, content.lines, content.is_complete) == (6, 2, False)
    reader.feed('o"}')
    assert reader.live == {"path": "a.py", "content": "one\ntwo"}


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_a_million_levels_of_nesting_are_an_error_not_a_crash(bracket: str) -> None:
    reader = read(bracket * 1_000_000)
    assert isinstance(reader.error, Malformed)
    assert reader.error.offset == 200 * len(bracket)
    assert reader.value() is not None


def test_after_an_error_nothing_is_read_and_nothing_grows() -> None:
    reader = read('{"a": "b"} oops')
    error = reader.error
    reader.feed('{"c": "')
    reader.feed("d")
    assert (reader.error, reader.value(), reader.is_complete) == (error, {"a": "b"}, False)
