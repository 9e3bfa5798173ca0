"""Cooperative cancellation: `cancel_scope` gives a check that every search calls before each step.

The check raises an exception of its own to end the search.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("jumok_cancellation", default=None)


@contextmanager
def cancel_scope(check: Callable[[], None]) -> Iterator[None]:
    """Within it every search of this thread calls `check` before each step."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_cancelled() -> None:
    """Called before a step: raises what the check of `cancel_scope` raises."""
    check = _CHECK.get()
    if check is not None:
        check()


def current_check() -> Callable[[], None] | None:
    """The check of this thread, for another one that makes the steps."""
    return _CHECK.get()
