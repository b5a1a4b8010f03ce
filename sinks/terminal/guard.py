"""Whatever ends or suspends the program, the terminal gets its modes back first."""

import atexit
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

__all__ = ["Guard"]

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
_SUSPENDING = [getattr(signal, name) for name in ("SIGTSTP",) if hasattr(signal, name)]


class Guard:
    """While it is up, `leave` runs before the program ends, by itself or by a signal, and before it is suspended;
    `enter` runs when it goes on.

    Only signals that nobody handles are caught, only in the main thread, and after `leave` they do what they always
    do. Nothing can be done about SIGKILL.
    """

    def __init__(self, leave: Callable[[], object], enter: Callable[[], object]) -> None:
        self._leave = leave
        self._enter = enter
        self._caught: list[int] = []

    def raise_up(self) -> None:
        """Begin to watch."""
        atexit.register(self._leave)
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING + _SUSPENDING:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end if number in _ENDING else self._suspend)
                    self._caught.append(number)

    def take_down(self) -> None:
        """Watch no more."""
        atexit.unregister(self._leave)
        is_main = threading.current_thread() is threading.main_thread()
        for number in self._caught if is_main else ():
            if signal.getsignal(number) in (self._end, self._suspend):
                signal.signal(number, signal.SIG_DFL)
        self._caught = []

    def _end(self, number: int, frame: FrameType | None) -> None:
        try:
            self._leave()
        finally:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        self._leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The program stops in the line above, and goes on here.
        signal.signal(number, self._suspend)
        self._enter()
