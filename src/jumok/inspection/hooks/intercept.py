"""Hooks on torch modules, the only ones of jumok: arguments and results, read or replaced.

They belong to one context: calls of the same module in other threads are ignored. Attention,
methods, searches and systems report themselves (`attention/events.py`); hooks are for the modules
inside of them, whose code does not know that it is read.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from torch import nn

from jumok.attention.overrides import is_overridden, override


def hooked(
    module: nn.Module,
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
) -> AbstractContextManager[None]:
    """Reports the module's arguments and results when it is called inside the block."""
    return replaced(module, before and _read(before), after and _read(after))


def _read(hear: Callable[..., None]) -> Callable[..., object]:
    """A function that passes on what it hears."""

    def same(heard: object) -> object:
        hear(heard)
        return heard

    return same


@contextmanager
def replaced(
    module: nn.Module,
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> Iterator[None]:
    """Replaces the module's arguments and results when it is called inside the block.

    Args:
        before: receives the positional arguments, and returns them.
        after: receives the module's output, and returns it.
    """
    mark = object()

    def give(_: nn.Module, args: tuple[object, ...]) -> object:
        return before(args) if before is not None and acts() else None

    def leave(_: nn.Module, __: object, made: object) -> object:
        return after(made) if after is not None and acts() else None

    def acts() -> bool:
        return is_overridden("hook", mark)

    give.acts = leave.acts = acts  # type: ignore[attr-defined]  # kernels/plain.py asks for it
    handles = []
    if before is not None:
        handles.append(module.register_forward_pre_hook(give))
    if after is not None:
        handles.append(module.register_forward_hook(leave))
    try:
        with override("hook", {mark: True}):
            yield
    finally:
        for handle in handles:
            handle.remove()
