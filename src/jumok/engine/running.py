"""One batch for the searches of several threads: sentences join it and leave it between two steps.

It has no thread of its own: one of the threads that search makes the steps of all, and when its own
search is over, another one takes its place. A thread that searches alone never waits. Sources are
read before they join, each by its own thread.
"""

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

from jumok.computation import current_check
from jumok.engine.request import Request, search


@dataclass(eq=False)
class _Search:
    """A request in the batch.

    Attributes:
        check: raises an exception to end it; None: it is never ended early.
        turn: set when it is over, or when its thread has to make the steps.
    """

    request: Request
    check: Callable[[], None] | None
    turn: threading.Event = field(default_factory=threading.Event)
    over: bool = False
    error: BaseException | None = None

    def look(self) -> None:
        """Notes whether it is over."""
        try:
            if self.check is not None and not self.over:
                self.check()
        except BaseException as error:  # its own thread raises it
            self.error = error
        self.over = self.error is not None or self.request.layout.searched == 0


class RunningBatch:
    """What several threads search for at a time.

    Args:
        session: of the model of all requests, for the steps.
    """

    def __init__(self, session: AbstractContextManager[int]) -> None:
        held = ExitStack()
        self._session = held.enter_context(session)
        weakref.finalize(self, held.close)
        self._stop = ctypes.c_int32(0)
        self._turn = threading.Lock()
        self._searches: list[_Search] = []
        self._led = False

    def search(self, request: Request) -> None:
        """Searches for the sentences of a request, which were read before.

        Raises:
            MemoryError: there is not enough memory.
            What the check of `cancel_scope` raises, after the step that is being made.
        """
        own = _Search(request, current_check())
        with self._turn:
            self._searches.append(own)
            self._stop.value = 1
            leads, self._led = not self._led, True
        if not leads:
            self._wait(own)
        if not own.over:
            self._lead(own)
        if own.error is not None:
            raise own.error

    def look_again(self) -> None:
        """Every check is made after the next step: one of them may have something to say now."""
        self._stop.value = 1

    def _wait(self, own: _Search) -> None:
        """Until it is over, or its thread has to make the steps."""
        while not own.turn.is_set():
            try:
                own.turn.wait()
            except BaseException as error:  # a signal: what is being computed must not be freed
                own.error = error
                self.look_again()

    def _lead(self, own: _Search) -> None:
        """Makes steps until its own search is over, and hands over."""
        try:
            while not own.over:
                self._advance()
        finally:
            own.over = True  # also if a signal has ended it
            with self._turn:
                self._dismiss()
                self._led = bool(self._searches)
                if self._led:
                    self._searches[0].turn.set()

    def _advance(self) -> None:
        """Makes steps until a search is over, or until another one joins or wants to leave."""
        with self._turn:
            self._stop.value = 0
            together = list(self._searches)
        for each in together:
            each.look()  # before the steps: what was wanted before `stop` was set back
        running = [each for each in together if not each.over]
        if running:
            self._search(running)
        with self._turn:
            self._dismiss()

    def _dismiss(self) -> None:
        """Lets those go whose searches are over."""
        for each in self._searches:
            if each.over:
                each.turn.set()
        self._searches = [each for each in self._searches if not each.over]

    def _search(self, running: Sequence[_Search]) -> None:
        try:
            search(self._session, [each.request for each in running], self._stop)
        except BaseException as error:
            for each in running:
                each.error = error
        for each in running:
            each.look()
