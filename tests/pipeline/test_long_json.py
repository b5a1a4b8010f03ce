"""Long JSON is what orjson says it is, by another parser that takes less memory."""

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from json_texts import broken_documents, documents
from laws import peak_bytes

from penstock import long_json
from penstock.long_json import parse_json


def outcome(parse: Any, text: str) -> str:
    """What comes of it, types and all."""
    try:
        return repr(parse(text))
    except orjson.JSONDecodeError:
        return "not JSON"


@given(documents() | broken_documents())
@example("123456789012345678901234567890")
@example("-9223372036854775809")
@example("[18446744073709551615, 18446744073709551616, -0, -0.0, 1e5, 1E-7]")
@example("1e400")
@example("9" * 5000)
@example('["NaN", NaN]')
@example("-Infinity")
@example(r'"\ud800"')
@example(r'"\uD83D\uDE00"')
@example('"\ud800"')
@example('"\x01"')
@example("\ufeff1")
@example("[" * 5000)
@example("[" * 20_000 + "]" * 20_000)
def test_a_long_text_gives_what_orjson_gives(text: str) -> None:
    padded = text + " " * long_json._LONG_CHARS
    assert outcome(parse_json, padded) == outcome(orjson.loads, text)


@pytest.mark.parametrize("letter", ["x", "é", "漢"])
def test_parsing_takes_little_more_than_what_it_gives(letter: str) -> None:
    """Issue 7: memory linear in the message, with a factor below 4."""
    content = f"a line of {letter}\n" * 50_000
    text = orjson.dumps({"content": content}).decode()
    assert peak_bytes(lambda: parse_json(text)) < 3 * len(content) * (2 if letter == "漢" else 1)
