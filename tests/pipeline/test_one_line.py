"""One line, of a bounded width, safe to show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from penstock.one_line import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ls -la", "ls -la"),
        ("", ""),
        ("a\nb", "a⏎b"),
        ("a\r\n\r\n  b\n", "a⏎b"),
        ("a\u2028b", "a⏎b"),
        ("a\tb", "a b"),
        ("\x1b]52;c;\x07", "␛]52;c;␇"),
        ("\x9b2J\x7f", "�2J␡"),
        ("a\u202etxt.exe", "a�txt.exe"),
        ("\ud83d", "�"),
        ("0123456789", "0123456789"),
        ("0123456789x", "012345678…"),
        ("日本語日本", "日本語日本"),
        ("日本語日本語", "日本語日…"),
        ("e\u0301" * 10, "e\u0301" * 10),
        ("👨\u200d👩\u200d👧\u200d👦\u200d👧\u200d👦", "👨\u200d👩\u200d👧\u200d👦…"),
    ],
)
def test_a_line_shows_breaks_neutralises_controls_and_ends_in_an_ellipsis_where_cut(text: str, line: str) -> None:
    assert one_line(text, 10) == line


CHARACTERS = (
    st.characters(max_codepoint=0x1CFF)  # the scripts of the world, marks and controls
    | st.characters(min_codepoint=0x2000, max_codepoint=0x206F)
    | st.characters(min_codepoint=0x3000, max_codepoint=0x4DBF)
    | st.characters(min_codepoint=0xFF01, max_codepoint=0xFF60)
    | st.sampled_from("\n\r\t\x1b\x9b😀👩🏽日é❤🇫🇷\ufe0f\u200d\ud83d\udc00")
)


@given(st.text(CHARACTERS, max_size=60), st.integers(1, 20))
def test_a_line_is_never_wider_than_allowed_and_never_holds_a_control_character(text: str, width: int) -> None:
    line = one_line(text, width)
    assert cell_len(line) <= width
    assert all(character.isprintable() or character.isspace() or not character.isascii() for character in line)
    assert not set(line) & {"\n", "\r", "\x1b", "\x9b", "\u2028", "\u202e"}
    line.encode()


def test_the_cost_is_the_width_not_the_text() -> None:
    assert one_line("\n" * 10_000_000 + "x", 20) == "…"
    assert one_line("a\u0301" * 5_000_000, 4).endswith("…")
