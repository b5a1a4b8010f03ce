"""Items of some classes do not go on; all others do, in order."""

from laws import push, through_rx

from penstock.events import TextDelta
from penstock.operators.hide import hide
from penstock.updates import FinalMessageStart, ThinkingUpdate

ITEMS = [ThinkingUpdate("hm"), TextDelta("a", 0), FinalMessageStart(), ThinkingUpdate("well"), TextDelta("b", 0)]


def test_the_classes_named_are_left_out_and_nothing_else() -> None:
    expected = [TextDelta("a", 0), TextDelta("b", 0)]
    operator = hide(ThinkingUpdate, FinalMessageStart)
    assert push(operator, ITEMS) == through_rx(operator, ITEMS) == expected
    assert push(hide(), ITEMS) == ITEMS


def test_its_label_says_what_is_hidden() -> None:
    assert repr(hide(ThinkingUpdate, FinalMessageStart)) == "hide(ThinkingUpdate, FinalMessageStart)"
