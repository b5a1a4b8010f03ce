"""What goes into a tool and what comes out of it, as text people can read."""

from typing import Any

import orjson

from penstock.one_line import one_line

__all__ = ["images_in", "json_of", "short_result", "text_of"]


def text_of(output: Any) -> str:
    """The text of an output: itself, the text parts of a list of content parts, or else its JSON."""
    if isinstance(output, str):
        return output
    if output is None:
        return ""
    parts = _parts(output)
    if parts:
        return "\n".join([part["text"] for part in parts if isinstance(part.get("text"), str)])
    return json_of(output)


def json_of(value: Any) -> str:
    """A value as JSON; a string is taken for text that is written already."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # too deep, or an integer too large: not worth losing the stream for
        return str(value)


def images_in(output: Any) -> tuple[str, ...]:
    """The images among the content parts of an output, as addresses (`data:` where they came inline)."""
    if isinstance(output, str) or output is None:
        return ()
    return tuple(image for part in _parts(output) if (image := _image(part)))


def short_result(text: str, width: int = 80) -> str:
    """The first line that says something, and how many more there are."""
    stripped = text.strip()
    first, _, rest = stripped.partition("\n")
    if not rest:
        return one_line(first, width)
    more = f" (+{rest.count(chr(10)) + 1} lines)"
    return one_line(first, width - len(more)) + more


def _parts(output: Any) -> list[dict[str, Any]]:
    """The content parts an output is made of, in the shape of Anthropic, MCP, OpenAI or ACP; else none."""
    if isinstance(output, dict):
        if isinstance(output.get("content"), list):
            output = output["content"]
        else:
            output = [output]
    if not isinstance(output, list) or not all(isinstance(part, dict) for part in output):
        return []
    inner = [part["content"] if isinstance(part.get("content"), dict) else part for part in output]
    return inner if all(_is_part(part) for part in inner) else []


def _is_part(part: dict[str, Any]) -> bool:
    return isinstance(part.get("type"), str) and (isinstance(part.get("text"), str) or bool(_image(part)))


def _image(part: dict[str, Any]) -> str:
    source = part.get("source")
    if isinstance(source, dict):
        kind, data = source.get("media_type"), source.get("data")
        address = source.get("url")
    else:
        kind, data = part.get("mimeType"), part.get("data")
        address = part.get("image_url")
        if isinstance(address, dict):
            address = address.get("url")
    if "image" not in str(part.get("type")):
        return ""
    if isinstance(address, str) and address:
        return address
    return f"data:{kind or 'image/png'};base64,{data}" if isinstance(data, str) and data else ""
