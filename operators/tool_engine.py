"""Where tool calls come from: three engines, one contract."""

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from penstock.events import Event
from penstock.operators.markup import Markup
from penstock.operators.route_tags import markup_rows, route_tags
from penstock.operators.stage import Operator
from penstock.operators.structured_tools import structured_tools

__all__ = ["ToolEngine", "tool_engine"]

ToolEngine: TypeAlias = Literal["native", "tags", "structured"]


def tool_engine(
    engine: ToolEngine = "native",
    markup: str | Iterable[Markup] = "default",
    extra_tags: Iterable[str | Markup] = (),
    *,
    implicit_open: bool = False,
    keep_in_code: bool = True,
    call_ids: Iterator[str] | None = None,
) -> Operator[Event, Event]:
    """Visible text without markup, and the tool calls of the model, whichever way it makes them.

    * `native`: the backend's own tool blocks pass; calls written into the text are left out of it.
    * `tags`: calls written into the text become tool blocks.
    * `structured`: the text is a document of content and calls (`structured_tools`), after any thinking.

    All give the same events for the same call: `BlockStart` of kind tool, `ToolInputDelta`s whose joined text
    is the argument text, `BlockStop`.
    """
    rows = markup_rows(markup, extra_tags)
    if engine == "structured":
        # Thinking stands before the document; inside it, only its content is text in which markup counts.
        thinking = [row._replace(only_at_start=True) for row in rows if row.kind == "thinking"]
        before = route_tags(thinking, implicit_open=implicit_open)
        return before | structured_tools(call_ids=call_ids) | route_tags(rows, keep_in_code=keep_in_code)
    return route_tags(
        rows,
        implicit_open=implicit_open,
        drop=("code",) if engine == "tags" else ("tool", "code"),
        keep_in_code=keep_in_code,
        call_ids=call_ids,
    )
