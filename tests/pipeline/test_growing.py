"""Text that grows: views stay what they were, and reading is not paid for twice."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.growing import GrowingText

pieces = st.lists(st.text(max_size=4), max_size=8)


@given(pieces, st.lists(st.booleans(), min_size=8, max_size=8))
def test_a_view_says_what_had_grown_when_it_was_taken_whoever_reads_when(
    parts: list[str], reads: list[bool]
) -> None:
    growing = GrowingText()
    views = []
    for part, is_read in zip(parts, reads, strict=False):
        growing.append(part)
        views.append(growing.view())
        if is_read:
            assert str(views[-1]) == "".join(parts[: len(views)])
    for number, view in reversed(list(enumerate(views, 1))):
        assert str(view) == "".join(parts[:number])
        assert len(view) == len(str(view))


@given(pieces, st.text(max_size=6))
def test_it_adopts_its_own_text_and_no_other(parts: list[str], other: str) -> None:
    growing = GrowingText()
    for part in parts:
        growing.append(part)
    early = growing.view()
    own = "".join(parts)
    assert growing.adopt(other) == (other == own)
    assert growing.adopt("".join(parts))
    growing.append("more")
    assert str(early) == own
    assert str(growing) == own + "more"


def test_what_was_adopted_is_shared_not_copied() -> None:
    growing = GrowingText("some ")
    growing.append("text")
    final = "".join(["some ", "te", "xt"])
    assert growing.adopt(final)
    assert str(growing.view()) is final


@given(pieces, st.lists(st.booleans(), min_size=8, max_size=8), st.data())
def test_what_lies_between_two_lengths_is_that_part_of_the_text(
    parts: list[str], reads: list[bool], data: st.DataObject
) -> None:
    growing = GrowingText()
    for part, is_read in zip(parts, reads, strict=False):
        growing.append(part)
        if is_read:
            str(growing)
    whole = "".join(parts)
    end = data.draw(st.integers(0, len(whole)))
    begin = data.draw(st.integers(0, end))
    assert growing.between(begin, end) == whole[begin:end]
    assert growing.up_to(end) == whole[:end]
    assert str(growing) == whole
