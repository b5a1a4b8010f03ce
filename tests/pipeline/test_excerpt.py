"""Of a long string a compact line needs the ends: everything it can be asked is as if all had been kept."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts

from penstock.excerpt import KEPT_CHARS, Excerpt
from penstock.parameters import Parameters
from penstock.partial_json import LiveText

texts = st.builds(
    lambda unit, times, end: unit * times + end,
    st.text(st.characters(exclude_categories=[]), max_size=60),
    st.sampled_from([1, 30, 70, 400, 3000]),
    st.sampled_from(["", "\n", "end"]),
)


def grown(text: LiveText, pieces: list[str]) -> Any:
    for piece in pieces:
        text.grow(piece)
    return text


@given(st.data(), texts)
def test_however_it_is_cut_an_excerpt_answers_as_the_whole_text_does(data: st.DataObject, text: str) -> None:
    pieces = [piece for piece in data.draw(cuts(text)) if piece]
    whole, excerpt = grown(LiveText(), pieces), grown(Excerpt(), pieces)
    assert (excerpt.chars, excerpt.lines) == (whole.chars, whole.lines)
    assert (excerpt.head(400), excerpt.tail(400)) == (whole.head(400), whole.tail(400))
    assert excerpt.is_cut == (len(text) > KEPT_CHARS)
    assert str(excerpt) == text[:KEPT_CHARS]
    assert excerpt.equals(text)


@given(texts, st.integers(min_value=0), st.sampled_from(["x", "\ud800", "é"]))
def test_it_equals_no_other_text(text: str, at: int, wrong: str) -> None:
    excerpt = grown(Excerpt(), [text])
    at = at % (len(text) + 1)
    assert not excerpt.equals(text[:at] + wrong + text[at:])
    if text[at : at + 1] not in ("", wrong):
        assert not excerpt.equals(text[:at] + wrong + text[at + 1 :])


def test_those_who_listen_hear_all_of_it() -> None:
    heard: list[str] = []
    excerpt = Excerpt()
    excerpt.listeners.append(heard.append)
    grown(excerpt, ["line\n" * 300] * 5)
    assert "".join(heard) == "line\n" * 1500


def test_a_text_of_megabytes_takes_a_few_kilobytes() -> None:
    excerpt = grown(Excerpt(), ["a line of a file\n" * 1000] * 100)
    assert sum(map(len, excerpt.pieces)) == KEPT_CHARS
    assert len(excerpt.tail(10**9)) <= KEPT_CHARS


@pytest.mark.parametrize("size", [1, 7, 10_000, 10**9])
def test_parameters_know_their_arguments_again_by_parts_of_them(size: int) -> None:
    arguments = {"path": "a.py", "content": "x = 'é'\n" * 2000, "more": [{"text": "y" * 5000}, 1, None]}
    text = json.dumps(arguments)
    parameters = Parameters()
    for begin in range(0, len(text), size):
        assert not parameters.equals(arguments), "not before they are complete"
        parameters.feed(text[begin : begin + size])
    assert parameters.equals(arguments)
    assert (parameters.text("path"), parameters.lines("content")) == ("a.py", 2000)
    others: list[Any] = [
        {**arguments, "content": "x = 'è'\n" * 2000},
        {**arguments, "more": [{"text": "y" * 4999 + "z"}, 1, None]},
        {**arguments, "more": [{"text": "y" * 5000}, 1]},
        {**arguments, "content": 5},
        {"path": "a.py"},
        [arguments],
        text,
    ]
    for other in others:
        assert not parameters.equals(other)
