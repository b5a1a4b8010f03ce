"""Failures of sinks and callbacks: logged once each, counted, never passed on."""

from penstock.sinks.sink import MAX_FAILURES

__all__ = ["Failures"]


class Failures:
    """The failures of one sink or callback. The first from each place is logged; too many in a row end it."""

    __slots__ = ("_owner", "_reported", "in_a_row")

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._reported: set[tuple[str, str, int]] = set()
        self.in_a_row = 0
        """Set to 0 by whoever sees that it works again."""

    def add(self, doing: str, error: BaseException) -> bool:
        """Note a failure; True where it was one too many."""
        self.in_a_row += 1
        place = _place(error)
        if place not in self._reported:
            self._reported.add(place)
            # Imported where needed: structlog alone would double the import time of penstock.
            import structlog

            structlog.get_logger("penstock").error(
                "sink_failed", sink=self._owner, doing=doing, error=str(error), exc_info=error
            )
        return self.in_a_row >= MAX_FAILURES


def _place(error: BaseException) -> tuple[str, str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return (type(error).__name__, "", 0)
    return (type(error).__name__, trace.tb_frame.f_code.co_filename, trace.tb_lineno)
