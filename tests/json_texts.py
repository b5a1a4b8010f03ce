"""JSON texts as encoders write them, and as they break."""

import json

from hypothesis import strategies as st

__all__ = ["broken_documents", "documents"]

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["😀", "a\\b", '"quoted"', "\n\t\r\b\f/", "\x00", "é\u2028", "}],{[:"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """JSON as encoders write it: ASCII or not, dense or indented."""
    value = draw(VALUES)
    is_ascii, indent = draw(st.booleans()), draw(st.sampled_from([None, None, 1]))
    return json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "replace").decode()


@st.composite
def broken_documents(draw: st.DrawFn) -> str:
    """A document with a few characters put in, taken out or doubled."""
    text = draw(documents())
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        wrong = draw(st.sampled_from([*'"\\{}[]:,019-.eEtrx \nu\x01', r"\ud83d", r"\udc00", r"\u00", "NaN", "//"]))
        text = draw(st.sampled_from([text[:at] + wrong + text[at:], text[:at] + text[at + 1 :]]))
    return text
