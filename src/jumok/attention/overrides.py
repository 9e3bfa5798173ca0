"""Attributes and hooks of a module that hold in one context: for one call, one thread.

A model is shared by all threads that use it. A caller that ablates a head, or masks a word, does so
for its own calls, and not for those of others. Attention, methods, searches and systems report
themselves (`attention/events.py`); hooks are for the modules inside of them, whose code does not
know that it is read.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:  # the native engine asks for overrides, and needs no torch
    from torch import nn

Value = TypeVar("Value")
Owner = TypeVar("Owner")

_VALUES: ContextVar[Mapping[tuple[int, str], Any] | None] = ContextVar("jumok_here", default=None)
"""By the id of the owner and the attribute's name."""

_CHANGES: ContextVar[tuple[str, ...]] = ContextVar("jumok_changes", default=())


class ContextAttribute(Generic[Value]):
    """An attribute, None at first, whose value `override` changes for one context only."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._key = name, f"_{name}"

    @overload
    def __get__(self, owner: None, kind: type) -> "ContextAttribute[Value]": ...

    @overload
    def __get__(self, owner: object, kind: type) -> Value: ...

    def __get__(self, owner: object | None, kind: type) -> "ContextAttribute[Value] | Value":
        if owner is None:
            return self
        values = _VALUES.get()
        own: Any = owner.__dict__.get(self._key)
        value: Value = own if values is None else values.get((id(owner), self._name), own)
        return value

    def __set__(self, owner: object, value: Value) -> None:
        """Sets the value for all contexts that have none of their own."""
        owner.__dict__[self._key] = value


def any_overrides() -> bool:
    """Whether any attribute of any module has another value in this context."""
    return bool(_VALUES.get())


def is_overridden(name: str, owner: object) -> bool:
    """Whether the attribute `name` of this owner has another value in this context."""
    values = _VALUES.get()
    return values is not None and (id(owner), name) in values


@contextmanager
def override(name: str, values: Mapping[Owner, object]) -> Iterator[None]:
    """Gives the attribute `name` of these owners these values in this context, inside the block."""
    before = _VALUES.get() or {}
    here = {(id(owner), name): value for owner, value in values.items()}
    token = _VALUES.set({**before, **here})
    try:
        yield
    finally:
        _VALUES.reset(token)


def hooked(
    module: "nn.Module",
    before: Callable[..., None] | None = None,
    after: Callable[..., None] | None = None,
) -> AbstractContextManager[None]:
    """Reports the module's arguments and results when it is called inside the block."""
    return replaced(module, before and _passing_on(before), after and _passing_on(after))


def _passing_on(hear: Callable[..., None]) -> Callable[..., object]:
    """A function that passes on what it hears."""

    def same(heard: object) -> object:
        hear(heard)
        return heard

    return same


@contextmanager
def replaced(
    module: "nn.Module",
    before: Callable[..., object] | None = None,
    after: Callable[..., object] | None = None,
) -> Iterator[None]:
    """Replaces the module's arguments and results when it is called inside the block.

    Args:
        before: receives the positional arguments, and returns them.
        after: receives the module's output, and returns it.
    """
    mark = object()

    def give(_: "nn.Module", args: tuple[object, ...]) -> object:
        return before(args) if before is not None and acts() else None

    def leave(_: "nn.Module", __: object, made: object) -> object:
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


def changes_here() -> tuple[str, ...]:
    """The changes of models in this context: "head off: cross 2.3", "patched: decoder.blocks.1"."""
    return _CHANGES.get()


@contextmanager
def naming(changes: tuple[str, ...]) -> Iterator[None]:
    """Names further changes, for the traces that are made inside the block."""
    token = _CHANGES.set((*_CHANGES.get(), *changes))
    try:
        yield
    finally:
        _CHANGES.reset(token)
