"""Where tool calls come from: three engines, one contract."""

from collections.abc import Iterable
from typing import Literal, TypeAlias

from penstock.events import Event
from penstock.operators.markup import Markup, MarkupKind
from penstock.operators.route_tags import markup_rows, route_tags
from penstock.operators.stage import Operator
from penstock.operators.structured_tools import structured_tools

__all__ = ["ToolEngine", "tool_engine"]

_CODE: tuple[MarkupKind, ...] = ("code",)

ToolEngine: TypeAlias = Literal["native", "tags", "structured"]


def tool_engine(
    engine: ToolEngine = "native",
    markup: str | Iterable[Markup] = "default",
    extra_tags: Iterable[str | Markup] = (),
    *,
    implicit_open: bool = False,
    keep_in_code: bool = True,
) -> Operator[Event, Event]:
    """Visible text without markup, and the tool calls of the model, whichever way it makes them.

    * `native`: the backend's own tool blocks pass; calls written into the text are left out of it.
    * `tags`: calls written into the text become tool blocks.
    * `structured`: the text is a document of content and calls (`structured_tools`); only thinking is routed.

    All give the same events for the same call: `BlockStart` of kind tool, `ToolInputDelta`s whose joined text
    is the argument text, `BlockStop`.
    """
    if engine == "tags":
        return route_tags(markup, extra_tags, implicit_open=implicit_open, drop=_CODE, keep_in_code=keep_in_code)
    if engine == "structured":
        thinking = [row for row in markup_rows(markup, extra_tags) if row.kind == "thinking"]
        return route_tags(thinking, implicit_open=implicit_open, keep_in_code=keep_in_code) | structured_tools()
    return route_tags(markup, extra_tags, implicit_open=implicit_open, keep_in_code=keep_in_code)
