"""The conversation as state, kept beside the stream."""

from penstock.events import Event
from penstock.messages import MessageState
from penstock.operators.stage import Operator, Stage
from penstock.updates import MessagesChanged, Update

__all__ = ["track_messages"]


class TrackMessages(Stage[Event | Update, Event | Update]):
    """Applies every item to a `MessageState`, passes it, and follows a change with `MessagesChanged`.

    Nothing is held. The cost of an update does not depend on how many messages there are.
    """

    __slots__ = ("_notifies", "_state")

    def __init__(self, state: MessageState, notifies: bool) -> None:
        self._state = state
        self._notifies = notifies

    def feed(self, item: Event | Update) -> None:
        has_changed = type(item) in MessageState.takes and self._state.apply(item)
        self.emit(item)
        if has_changed and self._notifies:
            self.emit(MessagesChanged(self._state.messages))


def track_messages(
    state: MessageState | None = None, notifies: bool = True
) -> Operator[Event | Update, Event | Update]:
    """Keep `state` (one a subscription where none is given) current, and tell of each change."""
    return Operator("track_messages", lambda: TrackMessages(state or MessageState(), notifies))
