"""Events: what modules, methods, searches and systems report to the listeners of this context.

An event has an owner, the object that reports it, and a name: a method with `observable` reports
its calls under its own name, and `emit` reports whatever else happens: the attention of a module
(`attention/observe.py`), the candidates of a search, the rows of a batch. Listeners are not stored
in their owner: what other threads do with it is not reported. Without listeners an event costs the
reading of one context variable.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

MethodArguments = ParamSpec("MethodArguments")
Result = TypeVar("Result")
EventOwner = TypeVar("EventOwner")


class ReentrancyGuard(threading.local):
    """The methods of an owner that are running in this thread."""

    def __init__(self) -> None:
        self.names: list[str] = []


@dataclass(frozen=True)
class Listener:
    """A listener to one event.

    Attributes:
        before: receives the facts of an event, or the arguments of a method; None: they are not
            wanted.
        after: receives the method's result.
        working: shared by the methods of one owner: calls among these are not reported.
    """

    before: Callable[..., object] | None = None
    after: Callable[..., object] | None = None
    working: ReentrancyGuard = field(default_factory=ReentrancyGuard)

    def notify(
        self,
        name: str,
        method: Callable[[], Result],
        given: Sequence[object],
        named: Mapping[str, object],
    ) -> Result:
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


_LISTENERS: ContextVar[Mapping[tuple[int, str], tuple[Listener, ...]] | None] = ContextVar(
    "jumok_listeners", default=None
)
"""By the id of the owner and the name of the event."""


def observable(
    method: Callable[Concatenate[EventOwner, MethodArguments], Result],
) -> Callable[Concatenate[EventOwner, MethodArguments], Result]:
    """A method that can be listened to."""
    name = method.__name__

    @wraps(method)
    def call(
        self: EventOwner, *given: MethodArguments.args, **named: MethodArguments.kwargs
    ) -> Result:
        everybody = _LISTENERS.get()
        registered = None if everybody is None else everybody.get((id(self), name))
        if not registered:
            return method(self, *given, **named)

        run: Callable[[], Result] = partial(method, self, *given, **named)
        for listener in registered:
            run = partial(listener.notify, name, run, given, named)
        return run()

    return call  # type: ignore[return-value]  # callers cannot name self


@contextmanager
def listening_to_each(triples: Iterable[tuple[object, str, Listener]]) -> Iterator[None]:
    """Listens in this context inside the block: to each owner's event of this name."""
    here = dict(_LISTENERS.get() or {})
    for owner, event, listener in triples:
        here[id(owner), event] = (*here.get((id(owner), event), ()), listener)
    token = _LISTENERS.set(here)
    try:
        yield
    finally:
        _LISTENERS.reset(token)


def listening_to(owner: object, events: Mapping[str, Listener]) -> AbstractContextManager[None]:
    """Listens to these events of one owner, by name, in this context inside the block."""
    return listening_to_each((owner, event, each) for event, each in events.items())


@contextmanager
def unheard() -> Iterator[None]:
    """Inside the block nothing is reported in this context."""
    token = _LISTENERS.set(None)
    try:
        yield
    finally:
        _LISTENERS.reset(token)


def listeners(owner: object, event: str) -> tuple[Callable[..., Any], ...]:
    """The functions that receive the facts of this event in this context."""
    everybody = _LISTENERS.get()
    if everybody is None:
        return ()
    registered = everybody.get((id(owner), event), ())
    return tuple(listener.before for listener in registered if listener.before is not None)


def emit(owner: object, event: str, *facts: object) -> None:
    """Reports an event of `owner` that is not a method call to its listeners."""
    for listener in listeners(owner, event):
        listener(*facts)


def any_listeners() -> bool:
    """Whether anything has a listener in this context."""
    return bool(_LISTENERS.get())


def has_listeners(owner: object, event: str) -> bool:
    """Whether `owner` has a listener to this event in this context."""
    return bool(listeners(owner, event))
