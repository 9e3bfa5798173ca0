"""Methods that report their arguments and results to the listeners of this context.

A model is shared by all threads that use it, so its listeners are not stored in it: what other
threads do with the model is not reported, and nothing on the model changes.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")
Owner = TypeVar("Owner")


class Working(threading.local):
    """The methods of an owner that are running in this thread."""

    def __init__(self) -> None:
        self.names: list[str] = []


@dataclass(frozen=True)
class Ear:
    """A listener to one method.

    Attributes:
        before: receives the method's arguments; None: they are not wanted.
        after: receives the method's result.
        working: shared by the methods of one owner: calls among these are not reported.
    """

    before: Callable[..., None] | None = None
    after: Callable[..., None] | None = None
    working: Working = field(default_factory=Working)

    def hear(
        self,
        name: str,
        method: Callable[[], Made],
        given: Sequence[object],
        named: Mapping[str, object],
    ) -> Made:
        """Calls the method, and reports its arguments and its result."""
        working = self.working.names
        quiet = bool(working)
        if self.before is not None:
            if not quiet:
                self.before(*given, **named)
            working.append(name)
        try:
            made = method()
        finally:
            if self.before is not None:
                working.pop()
        if self.after is not None and not quiet:
            self.after(made)
        return made


_EARS: ContextVar[Mapping[tuple[int, str], tuple[Ear, ...]] | None] = ContextVar(
    "jumok_ears", default=None
)
"""By the id of the owner and the method's name."""


def heard(
    method: Callable[Concatenate[Owner, Given], Made],
) -> Callable[Concatenate[Owner, Given], Made]:
    """A method that can be listened to."""
    name = method.__name__

    @wraps(method)
    def call(self: Owner, *given: Given.args, **named: Given.kwargs) -> Made:
        everybody = _EARS.get()
        ears = None if everybody is None else everybody.get((id(self), name))
        if not ears:
            return method(self, *given, **named)

        run: Callable[[], Made] = partial(method, self, *given, **named)
        for ear in ears:
            run = partial(ear.hear, name, run, given, named)
        return run()

    return call  # type: ignore[return-value]  # callers cannot name self


@contextmanager
def listening_to(owner: object, ears: Mapping[str, Ear]) -> Iterator[None]:
    """Listens to these methods of `owner`, by name, in this context inside the block."""
    before = _EARS.get() or {}
    here = {
        (id(owner), name): (*before.get((id(owner), name), ()), ear) for name, ear in ears.items()
    }
    token = _EARS.set({**before, **here})
    try:
        yield
    finally:
        _EARS.reset(token)


def tell(owner: object, event: str, *facts: object) -> None:
    """Reports an event of `owner` that is not a method call to its listeners."""
    everybody = _EARS.get()
    for ear in () if everybody is None else everybody.get((id(owner), event), ()):
        assert ear.before is not None
        ear.before(*facts)


def is_heard(owner: object, event: str) -> bool:
    """Whether `owner` has a listener to this event in this context."""
    everybody = _EARS.get()
    return everybody is not None and (id(owner), event) in everybody
