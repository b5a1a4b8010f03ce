"""How Markdown looks on a terminal."""

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from penstock.sinks.terminal.code_rows import CodeRows
from penstock.sinks.terminal.round_text import RoundText
from penstock.sinks.terminal.rows import Row, cut_row, fold_row, row_of, width_of


def rows_of(text: str, width: int = 40, has_unicode: bool = True) -> list[Row]:
    round_text = RoundText(Console(file=io.StringIO()), has_unicode)
    round_text.feed(text)
    return round_text.finish(width)


def plain(rows: list[Row]) -> list[str]:
    return ["".join(segment.text for segment in row) for row in rows]


def shown(text: str, width: int = 40, has_unicode: bool = True) -> list[str]:
    return plain(rows_of(text, width, has_unicode))


def styles_in(text: str) -> dict[str, str]:
    return {segment.text: str(segment.style) for row in rows_of(text) for segment in row}


def test_paragraphs_wrap_between_words_and_keep_the_line_breaks_they_are_written_with() -> None:
    assert shown("one two three\nfour\n\nfive", 8) == ["one two", "three", "four", "", "five"]


def test_blank_lines_are_as_written_but_never_more_than_one_and_always_before_a_heading() -> None:
    assert shown("a\n\n\n\nb\n- c\n- d\n\n- e\n# f\ng") == ["a", "", "b", "• c", "• d", "", "• e", "", "f", "g"]


def test_emphasis_code_and_links() -> None:
    styles = styles_in("*a* **b** ~~c~~ `d` [e](http://x/y)")
    assert (styles["a"], styles["b"], styles["c"], styles["d"]) == ("italic", "bold", "strike", "cyan")
    assert (styles["e"], styles[" (http://x/y)"]) == ("underline", "dim")


def test_a_link_can_not_lie_about_where_it_leads() -> None:
    assert shown("[https://bank.example](https://evil.example)", 80) == [
        "https://bank.example (https://evil.example)"
    ]
    assert shown("<https://a.example>", 80) == ["https://a.example"]


def test_reference_links_and_html_are_shown_as_they_are_written() -> None:
    assert shown("[a][1] <b>x</b>\n\n[1]: http://x") == ["[a][1] <b>x</b>", "", "[1]: http://x"]


def test_lists_nest_count_and_tick() -> None:
    text = "- a\n  - b\n    - c\n\n1. x\n10. y\n\n- [ ] open\n- [x] done"
    assert shown(text) == ["• a", "  ◦ b", "    ▪ c", "", "1. x", "10. y", "", "☐ open", "☑ done"]
    assert shown("- a\n- [x] b", has_unicode=False) == ["* a", "* [x] b"]


def test_long_items_hang() -> None:
    assert shown("- one two three", 9) == ["• one two", "  three"]


def test_quotes_nest() -> None:
    assert shown("> a\n> > b\n>\n> c") == ["▌ a", "▌ ▌ b", "▌ ", "▌ c"]


def test_a_table_is_aligned_also_with_wide_characters() -> None:
    rows = shown("| name | n |\n|:--|--:|\n| 日本語 | 1 |\n| b | 22 |")
    assert rows == [" name      n", " ───────────", " 日本語    1", " b        22"]


def test_a_table_with_no_room_for_its_columns_becomes_lines() -> None:
    text = "| aaa | bbb | ccc |\n|--|--|--|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |"
    assert shown(text, 12) == ["aaa: 1", "bbb: 2", "ccc: 3", "", "aaa: 4", "bbb: 5", "ccc: 6"]


@pytest.mark.parametrize("width", [4, 5, 8, 13, 39, 79])
def test_no_row_is_wider_than_it_may_be(width: int) -> None:
    text = f"{'x' * 50} 日本語日本語\n\n```\n{'y' * 50}\t日本\n```\n\n| a | b |\n|--|--|\n| {'z' * 50} | 日本語 |"
    for row in rows_of(text, width):
        assert width_of(row) <= width, plain([row])


@pytest.mark.parametrize("width", [8, 20, 79])
def test_nothing_of_the_text_is_lost_at_any_width(width: int) -> None:
    words = ["alpha", "beta" * 30, "日本語" * 20, "👩‍🔧", "e\u0301clair"]
    shown_text = "".join(shown(" ".join(words) + "\n\n```\n" + "q" * 200 + "\n```", width)).replace(" ", "")
    assert shown_text == "".join(words) + "q" * 200


def test_entities_and_percent_signs_do_not_bring_control_characters_back() -> None:
    text = "&#27;[2J &#x9b;31m &#13;x &#8238;y <http://a/%1b]52;c;x%07> [a](http://b/&#27;c)"
    assert not any(
        ord(char) < 32 or 0x7F <= ord(char) < 0xA0 or char == "\u202e" for char in "".join(shown(text, 300))
    )


def code_styles(language: str, *lines: str) -> list[list[tuple[str, str]]]:
    code = CodeRows(language)
    return [[(s.text, str(s.style)) for s in row] for line in lines for row in code.rows(line, 80)]


def test_a_string_or_comment_goes_on_in_the_next_line() -> None:
    (_, doc, after) = code_styles("python", 'a = """one', "two", '""" + b')
    assert [style for _, style in doc] == ["yellow"]
    assert after[0][0] == '"""'
    for language, begin, end in (
        ("java", "/* a", "b */ int"),
        ("js", "/* a", "b */ let"),
        ("html", "<!-- a", "b --> <p>"),
    ):
        first, second = code_styles(language, begin, end)
        assert first[0] == (begin, "dim")
        assert second[0][1] == "dim"
        assert second[-1][1] != "dim"


def test_a_comment_sign_inside_a_string_opens_no_comment() -> None:
    _, second = code_styles("js", 'const glob = "src/**/*.ts";', "let a = 1;")
    assert ("let", "bright_blue") in second


def test_a_look_at_a_line_under_way_does_not_change_what_follows() -> None:
    code = CodeRows("python")
    code.rows('a = """', 80, is_under_way=True)
    assert code.rows("b", 80) == CodeRows("python").rows("b", 80)


def test_languages_nobody_knows_and_lines_too_long_to_lex_are_shown_plain() -> None:
    assert code_styles("nonesuch", "x = 1") == [[("x = 1", "none")]]
    assert len(CodeRows("python").rows("x = 1;" * 1000, 10_000)[0]) == 1


def test_a_row_is_cut_with_an_ellipsis_and_folded_without_loss() -> None:
    row = row_of(("abc", "bold"), ("日本語def", ""))
    assert plain([cut_row(row, 6)]) == ["abc日…"]
    assert cell_len(plain([cut_row(row, 7)])[0]) <= 7
    assert plain(fold_row(row, 4)) == ["abc", "日本", "語de", "f"]
    assert "".join(plain(fold_row(row, 2))) == "abc日本語def"
