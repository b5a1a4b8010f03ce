"""Text inside a block: emphasis, code, links."""

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.text import Text

from penstock.sinks.sanitize import sanitize
from penstock.sinks.terminal.rows import style

__all__ = ["inline_text"]

# Emphasis and links nested deeper stay as they are written.
_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 10}).enable("strikethrough")
_STYLES = {"em_open": "italic", "strong_open": "bold", "s_open": "strike", "link_open": "underline"}

_MAX_PARSED_CHARS = 20_000
"""A paragraph longer than this is data, not prose with emphasis, and would take noticeable time."""


def inline_text(content: str) -> Text:
    """The content of a block as styled text.

    Line breaks stay where they are written: models break lines on purpose. The address of a link is shown behind
    it, where its text does not say it already: what is visible can not lie about where it leads.
    """
    if len(content) > _MAX_PARSED_CHARS:
        return Text(content)
    tokens: list[Token] = []
    _parser.inline.parse(content, _parser, {}, tokens)
    text = Text()
    opened: list[tuple[str, int, str]] = []
    for token in tokens:
        kind = token.type
        if kind == "text" or kind == "text_special":
            # Entities and percent signs are decoded by the parser, so what was safe may be so no more.
            text.append(sanitize(token.content))
        elif kind == "code_inline":
            text.append(sanitize(token.content), style("cyan"))
        elif kind == "softbreak" or kind == "hardbreak":
            text.append("\n")
        elif kind in _STYLES:
            opened.append((_STYLES[kind], len(text), str(token.attrGet("href") or "")))
        elif kind == "image":
            source = sanitize(str(token.attrGet("src") or ""))
            text.append(sanitize(f"[{token.content}]"), style("italic")).append(f" ({source})", style("dim"))
        elif token.nesting < 0 and opened:
            words, start, address = opened.pop()
            text.stylize(style(words), start)
            address = sanitize(address)
            if address and address.removeprefix("mailto:") != text.plain[start:]:
                text.append(f" ({address})", style("dim"))
    return text
