"""Ctrl-C and `kill` stop a run between two steps."""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

SignalHandler = Callable[[int, FrameType | None], object] | int | None
"""What Python knows as a signal's handler; None: one that was not set by Python."""


class Interrupt:
    """While entered, remembers the first SIGINT or SIGTERM; a second one acts at once.

    Attributes:
        signal: the signal; None before one arrives.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._before: dict[int, SignalHandler] = {}

    def __enter__(self) -> "Interrupt":
        # In Python only the main thread can set handlers; a run in another thread has none.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
