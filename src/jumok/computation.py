"""A computation while it runs: whether it is still wanted, and how long its parts take.

`cancel_scope` gives a check that every search of the thread calls before each step; the check
raises an exception of its own to end the search.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

TimedPart = Literal["encode", "decode"]

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("jumok_check", default=None)


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


@dataclass
class Timings:
    """What a computation took.

    Attributes:
        seconds: by part, waiting for others included.
        engines: what computed them, "native" or "torch".
    """

    seconds: dict[TimedPart, float] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)


_TIMINGS: ContextVar[Timings | None] = ContextVar("jumok_timings", default=None)


@contextmanager
def measured() -> Iterator[Timings]:
    """What the computations of this thread take inside the block."""
    timings = Timings()
    token = _TIMINGS.set(timings)
    try:
        yield timings
    finally:
        _TIMINGS.reset(token)


@contextmanager
def timed(part: TimedPart, engine: Literal["native", "torch"]) -> Iterator[None]:
    """The block is this part of a computation."""
    timings = _TIMINGS.get()
    if timings is None:
        yield
        return
    start = time.monotonic()
    try:
        yield
    finally:
        timings.seconds[part] = timings.seconds.get(part, 0.0) + time.monotonic() - start
        timings.engines.add(engine)
