"""Context-local names of a model's changes, for traces."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_HERE: ContextVar[tuple[str, ...]] = ContextVar("jumok_changes", default=())


def changes_here() -> tuple[str, ...]:
    """What of a model is changed here: "head off: cross 2.3", "patched: decoder.blocks.1"."""
    return _HERE.get()


@contextmanager
def naming(changes: tuple[str, ...]) -> Iterator[None]:
    """Names further changes inside the block."""
    token = _HERE.set((*_HERE.get(), *changes))
    try:
        yield
    finally:
        _HERE.reset(token)
