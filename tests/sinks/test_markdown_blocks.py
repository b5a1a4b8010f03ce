"""Growing Markdown: closed blocks never change, and all of them together are the whole parsed at once (USERS 7)."""

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import cuts, every_cut
from rich.console import Console

from penstock.sinks.terminal.markdown_blocks import Block, CodeLines, MarkdownBlocks, Part, _spans
from penstock.sinks.terminal.markdown_rows import MarkdownRows

FRAGMENTS = [
    "- ", "* ", "+ ", "1. ", "2) ", "- [ ] ", "  ", "    ", "\t", "> ", "```", "~~~", "````", "py", "# ", "## ",
    "---", "===", "| a | b |", "|--|--|", "\n", "\n", "\n\n", "text", "word *em*", "`c`", "**b**", "[x]: /u",
    "<div>", "<!--", "-->", " ", "\\", "&amp;", "日本", "👩‍🔧",
]  # fmt: skip
markdown = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(lambda parts: "".join(parts).rstrip())

EXAMPLE = """# Title
A paragraph
of two lines.

1. one
2. two

   ```python
   code()
   ```
10. ten
- [x] done

| a | b |
|---|---|
| 1 | 2 |
> quoted
> > deeper

Setext
======
```js
let a;

/* b
c */
```
    indented
***
end"""


def parts_of(pieces: list[str], takes: bool = True) -> list[Part]:
    blocks = MarkdownBlocks()
    parts: list[Part] = []
    for piece in pieces:
        blocks.feed(piece)
        if takes:
            parts += blocks.take()
            blocks.peek(100)
    return parts + blocks.finish()


def at_once(text: str) -> list[Part]:
    """The parts by one parse of the whole, without the way through closing and cutting."""
    blocks = MarkdownBlocks()
    blocks._lines = text.split("\n")
    return blocks._parts(list(_spans(blocks._lines)))


def content(parts: list[Part]) -> list[Any]:
    """What the parts say, with the lines of a code block put together."""
    out: list[Any] = []
    for part in parts:
        if not isinstance(part, CodeLines):
            out.append((part.has_gap, [(token.type, token.content, token.info) for token in part.tokens]))
        elif part.is_start:
            out.append([part.language, part.has_gap, list(part.lines)])
        else:
            out[-1][2].extend(part.lines)
    return out


def rows_of(parts: list[Part], width: int = 40) -> list[str]:
    rows = MarkdownRows(Console(file=io.StringIO()))
    return ["".join(segment.text for segment in row) for part in parts for row in rows.rows(part, width)]


def test_an_example_is_the_same_at_every_cut() -> None:
    whole = at_once(EXAMPLE)
    for pieces in every_cut(EXAMPLE):
        assert content(parts_of(pieces)) == content(whole)


@settings(max_examples=300)
@given(st.data(), markdown)
def test_closing_blocks_as_they_come_is_parsing_the_whole_at_once(data: st.DataObject, text: str) -> None:
    whole = at_once(text)
    pieces = data.draw(cuts(text))
    assert content(parts_of(pieces)) == content(whole)
    assert rows_of(parts_of(pieces)) == rows_of(whole)
    assert content(parts_of(pieces, takes=False)) == content(whole)


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("para\n", 0),
        ("para\n\n", 1),
        ("# heading\n", 1),
        ("para\n# heading\n", 2),
        ("heading\n---\n", 1),
        ("- a\n- b\n", 1),
        ("- a\n\n", 0),
        ("- a\n\npara\n", 1),
        ("1. a\n   more\n2. b\n3. c\n", 2),
        ("| a |\n|---|\n| 1 |\n", 0),
        ("| a |\n|---|\n| 1 |\n\n", 1),
        ("> a\n", 0),
        ("> a\n\n", 1),
        ("***\n", 1),
        ("    code\n\n", 0),
        ("[ref]: /url\n", 0),
        ("<div>\n\n", 1),
    ],
)
def test_a_block_is_closed_as_soon_as_nothing_can_change_it_and_not_before(text: str, closed: int) -> None:
    blocks = MarkdownBlocks()
    blocks.feed(text)
    assert len(blocks.take()) == closed


def test_code_is_handed_out_line_by_line() -> None:
    blocks = MarkdownBlocks()
    blocks.feed("```python title\nx = 1\ny =")
    assert blocks.take() == [CodeLines("python", ["x = 1"], is_start=True, has_gap=False)]
    assert blocks.peek(100) == [CodeLines("python", ["y ="], is_start=False, has_gap=False)]
    blocks.feed(" 2\n``")
    assert blocks.take() == [CodeLines("python", ["y = 2"], is_start=False, has_gap=False)]
    assert blocks.peek(100) == []
    blocks.feed("`\n")
    assert blocks.take() == []


def test_the_look_ahead_does_not_make_a_heading_of_a_paragraph_because_a_dash_arrived() -> None:
    blocks = MarkdownBlocks()
    blocks.feed("text\n-")
    (part,) = blocks.peek(100)
    assert isinstance(part, Block)
    assert part.tokens[0].type == "paragraph_open"


def test_the_look_ahead_shows_emphasis_and_code_before_they_are_closed() -> None:
    for text, seen in (("a **bold", "a bold"), ("a **bold*", "a bold"), ("a `code", "a code"), ("a **", "a")):
        blocks = MarkdownBlocks()
        blocks.feed(text)
        assert rows_of(blocks.peek(100))[0].rstrip("*").rstrip() == seen


def test_text_nested_too_deep_for_the_parser_is_shown_as_it_is() -> None:
    text = "> " * 200 + "deep down"
    assert "deep down" in "".join(rows_of(parts_of([text])))


def test_a_text_that_changes_behind_what_is_closed_goes_on_from_there() -> None:
    blocks = MarkdownBlocks()
    blocks.feed("one\n\ntwo")
    assert len(blocks.take()) == 1
    assert blocks.taken_chars == len("one\n")
    blocks.replace_tail("\nthree\n")
    assert rows_of(blocks.finish()) == ["", "three"]
