"""How trouble with the bytes travels: in its place among the payloads, because framing knows no events."""

from msgspec import Struct

__all__ = ["DEFAULT_LIMIT_BYTES", "FrameError", "too_large"]

DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024
"""Tool results and images make honest lines of megabytes; what is larger than this is a runaway."""


class FrameError(Struct, frozen=True, gc=False):
    """Bytes that could not be delivered, standing where they stood; the stream goes on behind them.

    `code` is `too_large` (over the size limit) or `truncated` (the input ended inside an event, and the caller
    asked to be told). A backend's reader turns it into a `StreamError` that is not fatal.
    """

    code: str
    message: str
    dropped_bytes: int = 0


def too_large(what: str, size: int, limit: int) -> FrameError:
    """The error for `what` of `size` bytes where at most `limit` are kept."""
    return FrameError("too_large", f"skipped {what} of {size} bytes, over the limit of {limit}", size)
