"""The signs of the display, for terminals that have them and for those that do not."""

from dataclasses import dataclass

__all__ = ["ASCII_MARKS", "UNICODE_MARKS", "Marks", "clock_time"]

SPINNER_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Marks:
    """One set of signs."""

    spinner: str
    done: str
    failed: str
    stopped: str
    bar: str
    branch: str
    separator: str

    def spin(self, now: float) -> str:
        """The spinner as it is at a time."""
        return self.spinner[int(now / SPINNER_STEP_S) % len(self.spinner)]


UNICODE_MARKS = Marks("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "✓", "✗", "■", "│", "└", "·")
ASCII_MARKS = Marks("|/-\\", "+", "x", "#", "|", "`", "-")


def clock_time(seconds: float) -> str:
    """A duration for the eye: `0.4s`, `12s`, `3m 05s`."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    return f"{int(seconds) // 60}m {int(seconds) % 60:02d}s"
