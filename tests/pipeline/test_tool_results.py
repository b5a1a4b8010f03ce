"""What goes into a tool and what comes out of it, as text."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tool_results import images_in, json_of, short_result, text_of

PNG = "data:image/png;base64,iVBO"


@pytest.mark.parametrize(
    ("output", "text", "images"),
    [
        ("plain", "plain", ()),
        (None, "", ()),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", ()),
        ({"content": [{"type": "text", "text": "a"}], "isError": False}, "a", ()),
        ([{"type": "content", "content": {"type": "text", "text": "a"}}], "a", ()),
        ([{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}], "", (PNG,)),
        ([{"type": "image", "data": "iVBO", "mimeType": "image/png"}], "", (PNG,)),
        ([{"type": "input_image", "image_url": PNG}, {"type": "text", "text": "a"}], "a", (PNG,)),
        ([{"type": "image_url", "image_url": {"url": "https://e.com/a.png"}}], "", ("https://e.com/a.png",)),
        ({"temperature": 21}, '{"temperature":21}', ()),
        ([1, 2], "[1,2]", ()),
        ({"type": "user", "id": 1}, '{"type":"user","id":1}', ()),
        ({1: Path("a")}, '{"1":"a"}', ()),
    ],
)
def test_an_output_has_a_text_and_images(output: Any, text: str, images: tuple[str, ...]) -> None:
    assert text_of(output) == text
    assert images_in(output) == images


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("", ""),
        ("done\n", "done"),
        ("\n\nfirst\nsecond\nthird\n", "first (+2 lines)"),
        ("x" * 200, "x" * 79 + "…"),
        ("x" * 200 + "\ny", "x" * 68 + "… (+1 lines)"),
    ],
)
def test_a_short_result_is_its_first_line_and_how_many_more(text: str, short: str) -> None:
    assert short_result(text) == short


def test_arguments_that_look_like_content_parts_stay_arguments() -> None:
    assert json_of({"type": "text", "text": "a"}) == '{"type":"text","text":"a"}'


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just(object()) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "source", "image_url", "data"]), inner)
    ),
    max_leaves=8,
)


@given(ANYTHING)
def test_whatever_a_tool_returns_there_is_a_text_for_it(output: Any) -> None:
    assert isinstance(text_of(output), str)
    assert all(isinstance(image, str) for image in images_in(output))
    assert isinstance(short_result(text_of(output)), str)
