"""Where a JSON value ends, found piece by piece."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import every_cut

from penstock.operators.cursor import Broken, Cursor, Cut, Reading
from penstock.operators.json_scanner import JsonScanner, next_key, read_short_string, read_string, read_value

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)


def read(reading: Reading[object], cursor: Cursor, pieces: list[str]) -> object:
    """Run a reader over text in pieces; its result, or the exception that it ended with."""
    try:
        next(reading)
        for piece in pieces:
            cursor.add(piece)
            next(reading)
        cursor.ended = True
        next(reading)
    except StopIteration as done:
        return done.value
    except (Cut, Broken) as trouble:
        return type(trouble)
    raise AssertionError("it waits for text that will never come")


@given(
    value=values, tail=st.sampled_from(["", " ", "}", ", 1", "]"]), places=st.lists(st.integers(0, 200), max_size=5)
)
def test_the_end_of_a_value_is_found_wherever_it_is_cut(value: object, tail: str, places: list[int]) -> None:
    text = json.dumps(value)
    whole = text + tail
    edges = sorted({0, len(whole), *(place for place in places if place < len(whole))})
    scanner = JsonScanner()
    for start, end in pairwise(edges):
        found = scanner.scan(whole[start:end], 0)
        if found >= 0:
            assert start + found == len(text)
            break
    else:
        assert scanner.may_end_here
        assert tail == ""


def test_a_million_brackets_are_only_a_number() -> None:
    deep = "[" * 1_000_000
    scanner = JsonScanner()
    assert scanner.scan(deep, 0) == -1
    assert scanner.scan("]" * 1_000_000, 0) == 1_000_000


@pytest.mark.parametrize("text", ['{"a": "}\\""}', "[1, [2], {}]", '"a\\\\"', "-1.5e3", "null"])
def test_a_value_is_passed_on_as_written_at_every_cut(text: str) -> None:
    for cut in every_cut(text):
        cursor, pieces = Cursor(), list[str]()
        assert read(read_value(cursor, pieces.append), cursor, cut) is None
        assert "".join(pieces) == text


@pytest.mark.parametrize("text", ['{"a"', '"a', "[", '"a\\'])
def test_a_value_that_is_not_all_there_is_cut(text: str) -> None:
    cursor = Cursor()
    assert read(read_value(cursor, len), cursor, [text]) is Cut


@given(text=st.text(), ascii_only=st.booleans())
def test_a_string_says_what_json_says_it_says(text: str, ascii_only: bool) -> None:
    written = json.dumps(text, ensure_ascii=ascii_only)
    for cut in ([written], list(written)):
        cursor, pieces = Cursor(), list[str]()
        assert read(_behind_the_quote(cursor, pieces), cursor, cut) is None
        assert "".join(pieces) == text


def _behind_the_quote(cursor: Cursor, pieces: list[str]) -> Reading[None]:
    yield from cursor.peek()
    yield from read_string(cursor, pieces.append)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"\\ud83d"', "\ufffd"),
        ('"\\ude00x"', "\ufffdx"),
        ('"\\ud83d\\n"', "\ufffd\n"),
        ('"\\ud83d\\u0041"', "\ufffdA"),
        ('"\\ud83d\\ud83d\\ude00"', "\ufffd😀"),
        ('"\\u12g4"', "\\u12g4"),
        ('"\\q"', "\\q"),
    ],
)
def test_broken_escapes_are_data(written: str, meant: str) -> None:
    for cut in every_cut(written):
        cursor, pieces = Cursor(), list[str]()
        read(_behind_the_quote(cursor, pieces), cursor, cut)
        assert "".join(pieces) == meant


def test_a_key_or_a_name_is_not_endless() -> None:
    cursor = Cursor()
    assert read(read_short_string(cursor), cursor, ['"', *("x" * 600)]) is Broken


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('"a": 1', "a"),
        (', "a" :1', "a"),
        ("}", None),
        ('"a"', Cut),
        ('"a":', Cut),
        ("a: 1", Broken),
        ('"a" 1', Broken),
    ],
)
def test_the_next_key_of_an_object(text: str, result: object) -> None:
    for cut in every_cut(text):
        cursor = Cursor()
        assert read(next_key(cursor), cursor, cut) == result
