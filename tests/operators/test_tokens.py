"""The little language of markup, and finding it in pieces."""

import pytest
from laws import every_cut

from penstock.operators.tokens import Hit, Tokens


def find(tokens: Tokens[str], pieces: list[str]) -> list[tuple[str, str]]:
    """Every token in a text that arrives in pieces: its label and its name."""
    found: list[tuple[str, str]] = []
    held = ""
    for number, piece in enumerate([*pieces, ""]):
        held += piece
        pos = 0
        while (hit := tokens.search(held, pos, number == len(pieces))) is not None and hit.label is not None:
            found.append((hit.label, hit.name))
            pos = max(hit.end, hit.start + 1)
        held = "" if hit is None else held[hit.start :]
    return found


@pytest.mark.parametrize(
    ("token", "text", "names"),
    [
        ("<a>", "x<a><A><a", ["", ""]),
        ("[A]", "[a][A]", [""]),
        ("<f=*>", "<f=one two><f=><f=\n>", ["one two"]),
        ("<@(", "<a.b-c(<1(<(", ["a.b-c"]),
        ("<x␣name␣=␣¨*¨␣>", "<x name='a'><xname=b><x\n name = “c” >", ["a", "b", "c"]),
        ("<a▸<b", "<a<b<a", [""]),
        ("<a␣⏹", "<a <a \n", [""]),
        ("<a>␣", "<a>  <a>", ["", ""]),
    ],
)
def test_a_token_is_found_at_every_cut(token: str, text: str, names: list[str]) -> None:
    tokens = Tokens([(token, "it")])
    for cut in every_cut(text):
        assert find(tokens, cut) == [("it", name) for name in names]


def test_of_several_tokens_the_longest_wins_wherever_it_is_cut() -> None:
    tokens = Tokens([("<a>", "short"), ("<a>\n", "long"), ("<@>\n\n", "longest")])
    for text, label in (
        ("<a>x", "short"),
        ("<a>\nx", "long"),
        ("<a>\n\nx", "longest"),
        ("<a>", "short"),
        ("<a>\n", "long"),
    ):
        for cut in every_cut(text):
            assert find(tokens, cut) == [(label, "a" if label == "longest" else "")]


def test_of_equals_the_first_given_wins() -> None:
    assert find(Tokens([("<f.@>", "first"), ("<@>", "second")]), ["<f.x>"]) == [("first", "x")]


def test_what_may_become_a_token_waits_and_what_cannot_does_not() -> None:
    tokens = Tokens([("<think>", "it"), ("<f=*>", "named")])
    assert tokens.search("a <thi", 0, False) == Hit(2, 6)
    assert tokens.search("a <f=" + "x" * 100, 0, False) == Hit(2, 105)
    for text in ("a <thx", "a <f=" + "x" * 200, "a <f=<"):
        hit = tokens.search(text, 0, False)
        assert hit is None or hit.start > 2
    assert tokens.search("a <thi", 0, True) is None


def test_no_tokens_find_nothing() -> None:
    assert Tokens[str]([]).search("<anything>", 0, False) is None
