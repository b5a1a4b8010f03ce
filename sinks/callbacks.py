"""Updates as calls of one's own functions."""

import inspect
from collections.abc import Callable
from typing import Any

from penstock.events import MessageStart
from penstock.messages import Messages
from penstock.sinks.failures import Failures
from penstock.sinks.sink import Item, Sink
from penstock.updates import AssistantUpdate, MessagesChanged, ToolBlockUpdate

__all__ = ["CallbackSink"]


class CallbackSink(Sink):
    """Calls functions of yours; give those you want, plain or `async`.

    * `on_assistant_message_added()`: a new assistant message begins.
    * `on_assistant_content_updated(chunk, accumulated)`: its text grew by `chunk`.
    * `on_tool_block_updated(update)`: a tool call started, streamed, runs or ended (`ToolBlockUpdate`).
    * `on_messages_change(messages)`: after every applied update, the conversation as an immutable snapshot.
    * `on_content_update(content)`: the accumulated text alone.
    * `on_tool_update(call)`: a tool call being built: it has `id`, `name` and `parameters`.
    * `on_item(item)`: every event and update.

    A callback that raises is logged once per place and does not disturb the stream or another callback; after
    five failures in a row it is not called any more. If any of them is a coroutine function, all are called from
    the turn's own task for this sink, through a mailbox that merges what it cannot keep up with.
    """

    def __init__(
        self,
        *,
        on_assistant_message_added: Callable[[], Any] | None = None,
        on_assistant_content_updated: Callable[[str, str], Any] | None = None,
        on_tool_block_updated: Callable[[ToolBlockUpdate], Any] | None = None,
        on_messages_change: Callable[[Messages], Any] | None = None,
        on_content_update: Callable[[str], Any] | None = None,
        on_tool_update: Callable[[ToolBlockUpdate], Any] | None = None,
        on_item: Callable[[Item], Any] | None = None,
    ) -> None:
        self._routes: dict[type, list[_Callback]] = {}
        self._every = _Callback(on_item, lambda item: (item,)) if on_item else None
        self._route(MessageStart, on_assistant_message_added, _main_message)
        self._route(AssistantUpdate, on_assistant_content_updated, lambda u: (u.chunk, u.content))
        self._route(AssistantUpdate, on_content_update, lambda u: (u.content,))
        self._route(ToolBlockUpdate, on_tool_block_updated, lambda u: (u,))
        self._route(ToolBlockUpdate, on_tool_update, lambda u: (u,) if u.stage in ("start", "streaming") else None)
        self._route(MessagesChanged, on_messages_change, lambda u: (u.messages,))
        self.accepts = None if on_item else frozenset(self._routes)
        callbacks = [callback for callbacks in self._routes.values() for callback in callbacks]
        if any(c.is_async for c in [*callbacks, *([self._every] if self._every else [])]):
            self.on_next = self._on_next_async  # type: ignore[method-assign,assignment]

    def _route(
        self, kind: type, function: Callable[..., Any] | None, arguments: Callable[[Any], tuple[Any, ...] | None]
    ) -> None:
        if function is not None:
            self._routes.setdefault(kind, []).append(_Callback(function, arguments))

    def _callbacks(self, item: Item) -> "list[_Callback]":
        callbacks = self._routes.get(type(item), [])
        return [*callbacks, self._every] if self._every else callbacks

    def on_next(self, item: Item) -> None:
        for callback in self._callbacks(item):
            callback.call(item)

    async def _on_next_async(self, item: Item) -> None:
        for callback in self._callbacks(item):
            returned = callback.call(item)
            if inspect.isawaitable(returned):
                await callback.guard(returned)


def _main_message(start: MessageStart) -> tuple[()] | None:
    return None if start.parent_call_id else ()


class _Callback:
    """One function, and what of an item it is called with; None means not at all."""

    def __init__(self, function: Callable[..., Any], arguments: Callable[[Any], tuple[Any, ...] | None]) -> None:
        self.is_async = inspect.iscoroutinefunction(function)
        self._function = function
        self._arguments = arguments
        self._name = getattr(function, "__qualname__", repr(function))
        self._failures = Failures(f"callback {self._name}")
        self._is_live = True

    def call(self, item: Item) -> Any:
        arguments = self._arguments(item) if self._is_live else None
        if arguments is None:
            return None
        try:
            returned = self._function(*arguments)
        except Exception as error:
            self._is_live = not self._failures.add("call", error)
            return None
        if not self.is_async:
            self._failures.in_a_row = 0
        return returned

    async def guard(self, returned: Any) -> None:
        try:
            await returned
        except Exception as error:
            self._is_live = not self._failures.add("await", error)
        else:
            self._failures.in_a_row = 0
