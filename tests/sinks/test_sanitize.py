"""What a model prints can not command a terminal, however it is cut (USERS 39, CWE-150)."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import cuts, every_cut

from penstock.sinks.sanitize import Sanitizer, sanitize

ESC, BEL, CAN, SUB = "\x1b", "\x07", "\x18", "\x1a"
ST = ESC + "\\"

SAFE = re.compile(
    "[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]*"
).fullmatch


def sequences() -> list[str]:
    """Every family of terminal commands, in its forms: they leave nothing behind."""
    strings = [
        "0;title", "2;t", "8;;http://evil.example", "52;c;aGk=", "52;p;?", "4;1;rgb:ff/0/0", "10;?", "104",
        "7;file://h/p", "9;note", "133;A", "777;notify;a;b", "1337;File=inline=1:aGk=", "", "é;日本",
    ]  # fmt: skip
    controls = [
        "2J", "3J", "H", "1;1H", "6n", "5n", "c", ">c", "?25l", "?1049h", "?2004h", "?2026h", "31m", "0m", "K", "L",
        "38;2;1;2;3m", "38:2::1:2:3m", "10A", "M", "P", "@", "X", "s", "u", "r", "20h", "8;50;100t", "21t", "!p",
        " q", '61"p', "?1000h", "?1003h", ">4;2m", "i", "4i", "5i", "b", "999999999999D",
    ]  # fmt: skip
    escapes = [
        "c", "7", "8", "D", "E", "M", "H", "N", "O", "Z", "=", ">", "(0", "(B", ")0", "#8", "%G", "%@", " F", "l",
        "m", "n", "o", "|", "}", "~", "\\",
    ]  # fmt: skip
    made = [f"{start}{body}" for start, body in itertools.product((f"{ESC}[", "\x9b"), controls)]
    for start, body in itertools.product((f"{ESC}]", "\x9d"), strings):
        made += [f"{start}{body}{end}" for end in (BEL, ST, "\x9c", CAN, SUB)]
    for start in (f"{ESC}P", f"{ESC}X", f"{ESC}^", f"{ESC}_", "\x90", "\x98", "\x9e", "\x9f"):
        made += [f"{start}{body}{end}" for body in ("+q544e", "$qm", "Gi=1,a=T;aGk=") for end in (ST, "\x9c")]
    made += [ESC + body for body in escapes]
    made += [
        f"{ESC}{ESC}[2J",
        f"{ESC}]0;a{ESC}]0;b{BEL}",
        f"{ESC}[31{ESC}[2J",
        f"{ESC}]52;c;{ESC}[2J",
        "\x9b\x9b31m",
    ]
    made += [chr(code) for code in (*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F)]
    made += [chr(code) for code in (*range(0x80, 0x85), *range(0x86, 0x90), *range(0x91, 0x98), 0x99, 0x9A, 0x9C)]
    made += [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x2070), 0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB)]
    return made


CORPUS = sequences()


def safe(pieces: list[str]) -> str:
    sanitizer = Sanitizer()
    return "".join([sanitizer.feed(piece) for piece in pieces])


def test_the_corpus_is_large_enough() -> None:
    assert len(set(CORPUS)) >= 300


def test_every_sequence_leaves_nothing_behind_wherever_it_is_cut() -> None:
    for payload in CORPUS:
        for pieces in every_cut(f"a{payload}b"):
            assert safe(pieces) == "ab", (payload, pieces)


def test_a_sequence_without_its_end_takes_the_rest_of_its_line_at_most() -> None:
    for start in (f"{ESC}]52;c;", "\x9d0;", f"{ESC}P", "\x90", f"{ESC}_G", f"{ESC}["):
        for pieces in every_cut(f"one{start}\ntwo"):
            assert safe(pieces) == "one\ntwo"
    assert sanitize(f"one{ESC}]0;swallowed\ntwo") == "one\ntwo"
    assert sanitize(f"one{ESC}]0;swallowed") == "one"
    assert sanitize(f"one{ESC}") == "one"


@pytest.mark.parametrize("line_break", ["\r\n", "\r", "\n", "\x85", "\u2028", "\u2029"])
def test_every_line_break_is_a_line_feed_so_no_line_overwrites_itself(line_break: str) -> None:
    for pieces in every_cut(f"rm -rf /{line_break}ls"):
        assert safe(pieces) == "rm -rf /\nls"


def test_carriage_returns_and_line_feeds_are_counted_as_lines_not_as_characters() -> None:
    for pieces in every_cut("a\r\n\r\n\r\rb\n\n"):
        assert safe(pieces) == "a\n\n\n\nb\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "tab\tand line\n",
        "مرحبا بالعالم \u200f(\u200e) \u061c",
        "👩🏽‍🔧 👨‍👩‍👧‍👦 🏞️ 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "e\u0301 ñ Z̡̛͇͖a",
        "می\u200cخواهم",
        "日本語 한국어 ไทย हिन्दी",
        "\u00ad\u2060\u200b\u00a0",
    ],
)
def test_what_people_write_with_passes_unchanged(text: str) -> None:
    assert sanitize(text) is text
    for pieces in every_cut(text):
        assert safe(pieces) == text


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert sanitize("a\ud800b\udfff") == "a\ufffdb\ufffd"


HOSTILE = [ESC, "[", "]", "P", "\\", BEL, "\x9b", "\x9d", "\x9c", "3", "m", " ", "\n", "\r", "x", "\u202e"]


@given(st.data(), st.text(alphabet=st.sampled_from(HOSTILE)))
def test_any_text_is_safe_and_cutting_it_changes_nothing(data: st.DataObject, text: str) -> None:
    whole = sanitize(text)
    assert SAFE(whole)
    assert safe(data.draw(cuts(text))) == whole


def test_clean_text_costs_one_search_and_no_copy() -> None:
    sanitizer = Sanitizer()
    piece = "nothing to do here " * 100
    assert sanitizer.feed(piece) is piece
