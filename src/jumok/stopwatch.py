"""How long the parts of a computation take, and what computes them, for whoever asks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

TimedPart = Literal["encode", "decode"]


@dataclass
class Timings:
    """What a computation took.

    Attributes:
        seconds: by part, waiting for others included.
        engines: what computed them, "native" or "torch".
    """

    seconds: dict[TimedPart, float] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)


_SPENT: ContextVar[Timings | None] = ContextVar("jumok_spent", default=None)


@contextmanager
def measured() -> Iterator[Timings]:
    """What the computations of this thread take inside the block."""
    token = _SPENT.set(Timings())
    try:
        found = _SPENT.get()
        assert found is not None
        yield found
    finally:
        _SPENT.reset(token)


@contextmanager
def timed(part: TimedPart, engine: Literal["native", "torch"]) -> Iterator[None]:
    """The block is this part of a computation."""
    spent = _SPENT.get()
    if spent is None:
        yield
        return
    start = time.monotonic()
    try:
        yield
    finally:
        spent.seconds[part] = spent.seconds.get(part, 0.0) + time.monotonic() - start
        spent.engines.add(engine)
