"""torch's hooks for one context: calls of the same module in other threads are ignored."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import nn

_HERE: ContextVar[frozenset[object]] = ContextVar("jumok_hooks", default=frozenset())


@contextmanager
def hooked(
    module: nn.Module,
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
) -> Iterator[None]:
    """Reports the module's arguments and results when it is called inside the block.

    Args:
        before: receives the positional arguments.
        after: receives the module's output.
    """
    mark = object()
    handles = []
    if before is not None:

        def hear(
            _: nn.Module, given: tuple[object, ...], tell: Callable[..., None] = before
        ) -> None:
            if mark in _HERE.get():
                tell(given)

        handles.append(module.register_forward_pre_hook(hear))
    if after is not None:

        def heard(
            _: nn.Module, __: object, made: object, tell: Callable[..., None] = after
        ) -> None:
            if mark in _HERE.get():
                tell(made)

        handles.append(module.register_forward_hook(heard))
    token = _HERE.set(_HERE.get() | {mark})
    try:
        yield
    finally:
        _HERE.reset(token)
        for handle in handles:
            handle.remove()


@contextmanager
def replaced(
    module: nn.Module,
    before: Callable[..., tuple[object, ...]] | None = None,
    after: Callable[..., object] | None = None,
) -> Iterator[None]:
    """Replaces the module's arguments and results when it is called inside the block.

    Args:
        before: receives the positional arguments, and returns them.
        after: receives the module's output, and returns it.
    """
    mark = object()
    handles = []
    if before is not None:

        def give(
            _: nn.Module, given: tuple[object, ...], change: Callable[..., object] = before
        ) -> object:
            return change(given) if mark in _HERE.get() else None

        handles.append(module.register_forward_pre_hook(give))
    if after is not None:

        def leave(
            _: nn.Module, __: object, made: object, change: Callable[..., object] = after
        ) -> object:
            return change(made) if mark in _HERE.get() else None

        handles.append(module.register_forward_hook(leave))
    token = _HERE.set(_HERE.get() | {mark})
    try:
        yield
    finally:
        _HERE.reset(token)
        for handle in handles:
            handle.remove()
