"""Listening to the methods of a model while somebody else calls them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def wrapped(
    owner: nn.Module,
    name: str,
    before: Callable[..., None] | None = None,
    after: Callable[[Any], None] | None = None,
    inside: list[str] | None = None,
) -> Iterator[None]:
    """The method tells what it is given and what it gives; what it calls itself goes unheard.

    Args:
        inside: the methods that are at work, shared by those of one decoder.
    """
    method = getattr(owner, name)
    working = [] if inside is None else inside

    def heard(*given: Any) -> Any:
        quiet = bool(working)
        if before is not None:
            if not quiet:
                before(*given)
            working.append(name)
        try:
            made = method(*given)
        finally:
            if before is not None:
                working.pop()
        if after is not None and not quiet:
            after(made)
        return made

    setattr(owner, name, heard)
    try:
        yield
    finally:
        delattr(owner, name)
