"""What penstock raises. Trouble *inside* a stream is data (`penstock.events.StreamError`), never one of these.

PenstockError
├── UsageError              the caller asked for something that cannot be
│   ├── UnknownBackend      no backend of that name; the message lists those there are
│   └── ConfigurationError  a setting is wrong; the message names it
├── TurnClosed              a turn was used after it ended
└── SourceFailed            the source broke and the caller asked to be told by an exception
"""

__all__ = ["ConfigurationError", "PenstockError", "SourceFailed", "TurnClosed", "UnknownBackend", "UsageError"]


class PenstockError(Exception):
    """The root of everything penstock raises."""


class UsageError(PenstockError):
    """The caller asked for something that cannot be; the message says what to do instead."""


class UnknownBackend(UsageError):
    """No backend of that name is registered."""


class ConfigurationError(UsageError):
    """A setting is missing, misspelt or of the wrong type."""


class TurnClosed(PenstockError):
    """The turn has ended; open a new one with `Pipeline.turn()`."""


class SourceFailed(PenstockError):
    """The source broke in the middle; what had arrived by then was delivered."""
