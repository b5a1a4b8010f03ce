"""Characters survive any cut, and malformed bytes give U+FFFD as the WHATWG decoder has it (USERS 13)."""

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut, push, through_rx
from reactivex import operators as ops
from reactivex.subject import Subject

from penstock.operators.decode_utf8 import decode_utf8

SCRIPTS = "Ünï, 漢字かな, العربية, नमस्ते, 👩‍👩‍👧‍👦🇩🇪, e\u0301, a\u2028b\x85c\r\nd"

# Tables 3-8 to 3-11 of the Unicode Standard, chapter 3.9: one U+FFFD for each maximal subpart.
MAXIMAL_SUBPARTS = [
    ("C0 AF E0 80 BF F0 81 82 41", "\ufffd" * 8 + "A"),
    ("ED A0 80 ED BF BF ED AF 41", "\ufffd" * 8 + "A"),
    ("F4 91 92 93 FF 41 80 BF 42", "\ufffd" * 5 + "A" + "\ufffd" * 2 + "B"),
    ("E1 80 E2 F0 91 92 F1 BF 41", "\ufffd" * 4 + "A"),
]

octets = st.lists(
    st.sampled_from([b"a", b"\n", "é".encode(), "漢".encode(), "🙂".encode(), b"\xef\xbb\xbf"])
    | st.binary(min_size=1, max_size=3)
    | st.sampled_from([b"\xf0\x9f", b"\xe2\x82", b"\xed\xa0", b"\xf4\x90", b"\xc0", b"\x80"]),
    max_size=20,
).map(b"".join)


def decoded(pieces: list[bytes]) -> str:
    return "".join(push(decode_utf8(), pieces))


def test_text_of_many_scripts_survives_every_cut() -> None:
    for pieces in every_cut(SCRIPTS.encode()):
        assert decoded(pieces) == SCRIPTS


@pytest.mark.parametrize(("malformed", "expected"), MAXIMAL_SUBPARTS)
def test_each_maximal_subpart_becomes_one_replacement_character(malformed: str, expected: str) -> None:
    for pieces in every_cut(bytes.fromhex(malformed)):
        assert decoded(pieces) == expected


@given(st.data())
def test_any_cut_of_any_bytes_gives_the_text_of_the_whole(data: st.DataObject) -> None:
    whole = data.draw(octets)
    expected = whole.decode("utf-8", "replace").removeprefix("\ufeff")
    assert decoded(data.draw(cuts(whole))) == expected


def test_a_byte_order_mark_is_dropped_once_and_only_at_the_start() -> None:
    for pieces in every_cut("\ufeff\ufeffa\ufeff".encode()):
        assert decoded(pieces) == "\ufeffa\ufeff"


@pytest.mark.parametrize("prefix", [b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x98", b"\xe2\x82", b"\xc3", b"\xef\xbb"])
def test_a_character_torn_by_the_end_becomes_one_replacement_character(prefix: bytes) -> None:
    for pieces in every_cut(b"a" + prefix):
        assert decoded(pieces) == "a\ufffd"


def test_what_is_whole_leaves_at_once_and_nothing_empty_is_emitted() -> None:
    assert push(decode_utf8(), [b"", b"ab\xe2", b"\x82", b"\xac", b"c"]) == ["ab", "€", "c"]
    assert push(decode_utf8(), [b"", b""]) == []


def test_an_error_of_the_source_arrives_after_the_torn_character() -> None:
    source: Subject[bytes] = Subject()
    seen: list[object] = []
    source.pipe(decode_utf8()).subscribe(seen.append, seen.append, lambda: seen.append("completed"))
    source.on_next(b"a\xe2\x82")
    torn = RuntimeError("torn")
    source.on_error(torn)
    assert seen == ["a", "\ufffd", torn]


def test_state_belongs_to_a_subscription() -> None:
    operator = decode_utf8()
    source = reactivex.of(b"\xe2", b"\x82\xac")
    assert through_rx(operator, [b"\xe2"]) == ["\ufffd"]
    seen: list[str] = []
    reactivex.zip(source.pipe(operator), source.pipe(operator)).pipe(ops.map("".join)).subscribe(seen.append)
    assert seen == ["€€"]
