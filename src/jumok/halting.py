"""Searches that end early.

Whoever starts a search may give a check (`halted_by`), which is called before every step and raises
an exception of its own to end the search. A search that is not ended writes the same.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("jumok_halting", default=None)


@contextmanager
def halted_by(check: Callable[[], None]) -> Iterator[None]:
    """Within it every search of this thread calls `check` before each step."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def heed() -> None:
    """Called before a step: raises what the check of `halted_by` raises."""
    check = _CHECK.get()
    if check is not None:
        check()


def check_of_here() -> Callable[[], None] | None:
    """The check of this thread, for another one that makes the steps."""
    return _CHECK.get()
