"""Attributes of a module that may have another value in this context: for one call, one thread.

A model is shared by all threads that use it. A caller that ablates a head, or masks a word, does so
for its own calls, and not for those of others.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")
Owner = TypeVar("Owner")

_VALUES: ContextVar[Mapping[tuple[int, str], Any] | None] = ContextVar("jumok_here", default=None)
"""By the id of the owner and the attribute's name."""


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
    return _VALUES.get() is not None


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
