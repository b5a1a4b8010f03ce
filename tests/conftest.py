"""Every test leaves the house as it found it: no task, timer, thread, child or open file survives."""

import asyncio
import gc
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings


def pytest_configure() -> None:
    """As many examples as the suite's budget allows, in CI the same ones each time.

    Signals as a terminal's shell sets them: under `nohup` or in the background, some come ignored.
    """
    settings.register_profile("suite", max_examples=60, deadline=None, derandomize="CI" in os.environ)
    settings.load_profile("suite")
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "recordings"


def recordings(*folders: str) -> list[Path]:
    """The real recordings beside the checkout; none where they are absent (the tests then skip)."""
    return [file for folder in folders for file in sorted((RECORDINGS / folder).glob("*.*"))]


@pytest.fixture(autouse=True)
def no_thread_survives() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and t.is_alive()]
    for thread in left:
        thread.join(timeout=2)
    left = [t for t in left if t.is_alive()]
    assert not left, f"threads left behind: {left}"


@pytest.fixture
def run_async() -> Iterator[asyncio.Runner]:
    """An event loop of one's own; leaving a task or a timer in it fails the test."""
    with asyncio.Runner() as runner:
        yield runner
        loop = runner.get_loop()
        tasks = [task for task in asyncio.all_tasks(loop) if not task.done()]
        timers = [handle for handle in getattr(loop, "_scheduled", ()) if not handle.cancelled()]
        assert not tasks, f"tasks left behind: {tasks}"
        assert not timers, f"timers left behind: {timers}"
    with warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        gc.collect()
    gc.freeze()  # what lives now the next test need not look through: with 5,000 tests that is a fifth of a second
