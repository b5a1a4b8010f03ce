"""JSON arrays and rows of values, element by element, while they arrive (formats 9)."""

import json
from typing import Any

import pytest
from conftest import recordings
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut, feed_all, peak_bytes, push, through_rx
from reactivex.subject import Subject

from penstock.operators.frame_error import FrameError, too_large
from penstock.operators.frame_json import frame_json

texts = st.text(alphabet='ab"\\{}[],: \né漢\u2028', max_size=6)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
indents = st.sampled_from([None, 0, 2])


def parsed(payloads: list[bytes]) -> list[Any]:
    return [json.loads(payload) for payload in payloads]


@given(st.data())
def test_the_elements_of_an_array_come_out_whatever_the_cuts(data: st.DataObject) -> None:
    elements = data.draw(st.lists(values, max_size=4))
    whole = json.dumps(elements, indent=data.draw(indents), ensure_ascii=data.draw(st.booleans())).encode()
    assert parsed(push(frame_json(), data.draw(cuts(whole)))) == elements


@given(st.data())
def test_values_in_a_row_come_out_whatever_the_cuts(data: st.DataObject) -> None:
    row = data.draw(st.lists(values.filter(lambda value: not isinstance(value, list)), max_size=4))
    whole = "\n".join(json.dumps(value, indent=data.draw(indents)) for value in row).encode()
    assert parsed(push(frame_json(), data.draw(cuts(whole)))) == row


@given(st.data())
def test_what_is_no_json_passes_the_same_whatever_the_cuts(data: st.DataObject) -> None:
    whole = data.draw(st.lists(st.sampled_from(list('[]{}",:\\ \nxé1')), max_size=24).map("".join)).encode()
    limit = data.draw(st.sampled_from([1, 3, 8, 1000]))
    pieces = data.draw(cuts(whole))
    assert push(frame_json(limit), pieces) == push(frame_json(limit), [whole])


def test_nothing_but_what_stands_between_values_is_lost() -> None:
    whole = b' [ {"a": [1, {"b": "]}"}]} , "x\\"y" , 12 , null ] {"c":{}}{"d":0} true '
    for pieces in every_cut(whole):
        assert push(frame_json(), pieces) == [
            b'{"a": [1, {"b": "]}"}]}',
            b'"x\\"y"',
            b"12",
            b"null",
            b'{"c":{}}',
            b'{"d":0}',
            b"true",
        ]


def test_an_element_leaves_with_its_last_byte() -> None:
    chain = frame_json().chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    chain.feed(b'[{"a":1}')
    assert seen == [b'{"a":1}']
    chain.feed(b'\n,\r\n{"b":"')
    chain.feed(b"\\")
    chain.feed(b'"}"}')
    assert seen == [b'{"a":1}', b'{"b":"\\"}"}']


def test_a_value_torn_by_the_end_is_delivered_as_it_is() -> None:
    assert push(frame_json(), [b'[{"a":1},{"b":"x']) == [b'{"a":1}', b'{"b":"x']
    assert push(frame_json(), [b"[", b" "]) == []


def test_a_closing_bracket_that_closes_nothing_stands_alone() -> None:
    for pieces in every_cut(b'}{"a":1}]]{}'):
        assert push(frame_json(), pieces) == [b"}", b'{"a":1}', b"]", b"]", b"{}"]


def test_a_byte_order_mark_is_dropped_and_text_is_encoded() -> None:
    for pieces in every_cut('\ufeff[{"é":1}]'.encode()):
        assert push(frame_json(), pieces) == ['{"é":1}'.encode()]
    assert push(frame_json(), ['\ufeff["', '漢"]']) == ['"漢"'.encode()]
    assert push(frame_json(), [b"\xef", b"\xbb"]) == [b"\xef\xbb"]


def test_a_value_too_large_is_reported_in_its_place_and_the_next_one_comes() -> None:
    for pieces in every_cut(b'[{"a":1},{"b":"' + b"]x" * 20 + b'"},{"c":3}]'):
        before, error, after = push(frame_json(20), pieces)
        assert (before, after) == (b'{"a":1}', b'{"c":3}')
        assert error == FrameError("too_large", "skipped a JSON value of 48 bytes, over the limit of 20", 48)


def test_what_is_too_large_is_not_kept() -> None:
    chain = frame_json(max_value_bytes=100_000).chain()
    seen: list[object] = []
    chain.stages[-1].emit = seen.append
    chain.feed(b'[{"a":"')
    assert peak_bytes(lambda: feed_all(chain, [b"x" * 10_000] * 1000)) < 1_000_000
    chain.feed(b'"},{}]')
    assert seen == [too_large("a JSON value", 10_000_008, 100_000), b"{}"]


def test_an_error_of_the_source_comes_after_the_value_it_cut() -> None:
    source: Subject[bytes | str] = Subject()
    seen: list[object] = []
    source.pipe(frame_json()).subscribe(seen.append, lambda _: seen.append("error"))
    source.on_next(b"[12")
    source.on_error(RuntimeError("torn"))
    assert seen == [b"12", "error"]


def test_state_belongs_to_a_subscription() -> None:
    operator = frame_json()
    assert through_rx(operator, [b'[{"a"']) == [b'{"a"']
    assert through_rx(operator, [b"{}"]) == [b"{}"]


def test_real_arrays_come_out_element_by_element() -> None:
    files = [file for file in recordings("claude-cli") if file.suffix == ".json"]
    if not files:
        pytest.skip("the recordings are not beside this checkout")
    for file in files:
        whole = file.read_bytes()
        pieces = [whole[at : at + 61] for at in range(0, len(whole), 61)]
        assert parsed(push(frame_json(), pieces)) == json.loads(whole)
