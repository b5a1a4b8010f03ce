"""Thinking, tool and code markup out of the visible text, and into blocks of its own."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from penstock.errors import ConfigurationError
from penstock.events import Event
from penstock.operators.markup import Markup, MarkupKind, MarkupTable
from penstock.operators.markup_families import FAMILIES
from penstock.operators.split_blocks import SplitBlocks
from penstock.operators.stage import Operator
from penstock.operators.tag_router import TagRules

__all__ = ["markup_rows", "route_tags"]


def markup_rows(markup: str | Iterable[Markup], extra_tags: Iterable[str | Markup] = ()) -> tuple[Markup, ...]:
    """A deployment's own rows (or thinking tags, by name), then those of the family or the table it gives."""
    if not isinstance(markup, str):
        rows = tuple(markup)
    elif markup in FAMILIES:
        rows = FAMILIES[markup]
    else:
        known = ", ".join(sorted(FAMILIES))
        raise ConfigurationError(f"no markup family is called {markup!r}; there are: {known}")
    return (
        *(Markup(f"<{row}>", (f"</{row}>",)) if isinstance(row, str) else row for row in extra_tags),
        *rows,
    )


@lru_cache(maxsize=32)
def _table(rows: tuple[Markup, ...]) -> MarkupTable:
    return MarkupTable(rows)


def route_tags(
    markup: str | Iterable[Markup] = "default",
    extra_tags: Iterable[str | Markup] = (),
    *,
    implicit_open: bool = False,
    drop: Sequence[MarkupKind] = ("tool", "code"),
    keep_in_code: bool = True,
    call_ids: Iterator[str] | None = None,
) -> Operator[Event, Event]:
    """Take markup out of the visible text, whole, wherever it is cut.

    Thinking becomes thinking blocks, tool calls become tool blocks like native ones, and what is in `drop` is left
    out. The text around a section is split into blocks before and after it, so all blocks are numbered anew. Finals
    and a turn's named final message are taken apart by the same code as the deltas.

    `markup` names a family (`penstock.operators.markup_families`) or is rows of one's own; `extra_tags` adds
    rows, or thinking tags by name (`"reasoning"` is `<reasoning>…</reasoning>`). With `implicit_open` each
    message begins inside thinking, because the prompt template wrote the opener. With `keep_in_code`, markup
    quoted in inline code or a fence of the visible text is content and stays.

    Calls get the ids `call-1`, `call-2`, …, anew with every subscription; `call_ids` gives others, for those who
    join several subscriptions into one turn.

    A `StreamError` that is not fatal says in its place what a consumer may want to act on: `unclosed_thinking`,
    `incomplete_tool_call` (before the call's `BlockStop`), `malformed_tool_call`.

    Held back is at most what may still become a tag, a run of backticks, or short white space around a call. It
    leaves when it cannot be one, at the end of the block or message, before a fatal error, and on completion
    and error of the source. Linear; text without a character that could begin a tag passes on one search.
    """
    rules = TagRules(_table(markup_rows(markup, extra_tags)), drop, implicit_open, keep_in_code)
    return Operator("route_tags", lambda: SplitBlocks(rules.read, call_ids))
