"""A stalled stream is reported, and keep-alives cannot hide it (USERS 29)."""

from laws import timeline

from penstock.events import Event, MessageStart, StreamError, TextDelta
from penstock.operators.limit_silence import limit_silence


def text(piece: str) -> TextDelta:
    return TextDelta(piece, 0)


def stalls(
    pushes: list[tuple[float, Event]], first: float = 0, between: float = 0, end: str = "never"
) -> list[float]:
    seen = timeline(limit_silence(first, between), pushes, end=end)
    return [at for at, item in seen if isinstance(item, StreamError)]


def test_a_source_silent_from_the_start_is_reported_once_after_the_first_limit() -> None:
    assert stalls([], first=100) == [100]


def test_a_bare_message_start_is_no_content() -> None:
    assert stalls([(50, MessageStart("m"))], first=100) == [100]


def test_silence_between_chunks_is_measured_from_the_last_one() -> None:
    assert stalls([(10, text("a")), (50, text("b")), (90, text("c"))], first=100, between=60) == [150]


def test_a_stream_that_goes_on_is_never_reported() -> None:
    pushes: list[tuple[float, Event]] = [(i * 50.0, text("x")) for i in range(1, 40)]
    assert stalls(pushes, first=100, between=60, end="completed") == []


def test_zero_means_no_limit() -> None:
    assert stalls([(10, text("a"))]) == []


def test_the_end_ends_the_watch() -> None:
    for end in ("completed", "error", "dispose"):
        assert stalls([(10, text("a"))], first=100, between=60, end=end) == []


def test_everything_passes_and_the_error_is_retryable() -> None:
    seen = timeline(limit_silence(0, 60), [(10, text("a")), (200, text("b"))], end="never")
    assert [at for at, _ in seen] == [10, 70, 200]
    error = seen[1][1]
    assert (error.code, error.retryable, error.is_fatal) == ("stalled", True, True)
