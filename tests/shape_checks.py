"""Annotations are checked by beartype, once for each kind of call of a function.

What a check says depends on the types of the arguments and of the result, on the shapes and element
types of arrays, and on whole numbers and short texts, which may be sizes of axes (`"{length} dim"`)
or members of a Literal. A call that is in all of this like one that passed would pass too, and is
not checked again: most calls of a decoder are like others, and the checks would take twice as long
as what they check. Long sequences, sets and mappings are always checked, because beartype draws the
items that it looks at.
"""

import functools
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from inspect import signature
from types import CellType, FunctionType, NoneType
from typing import Annotated, Any, ForwardRef, Literal, TypeVar, get_args, get_origin

import jaxtyping
import numpy as np
import torch
from beartype.roar import BeartypeCallHintViolation

CHECKER = "beartype.beartype"

SHORT = 8
"""Sequences up to this length are known by all of their items."""

LONGEST_NAME = 40
"""Letters of a text that may be a member of a Literal."""

MOST_KINDS = 10_000
"""Of calls of one function that are remembered."""

Function = Callable[..., Any]

checked_always = jaxtyping.jaxtyped


def install(modules: Sequence[str]) -> None:
    """Lets the annotations of these modules be checked; they must not be imported yet."""
    jaxtyping.jaxtyped = checked  # the hook decorates with what has this name
    jaxtyping.install_import_hook(modules, CHECKER)


def checked(*, typechecker: Function) -> Callable[[Any], Any]:
    """Decorates functions, and the constructors of dataclasses, as `jaxtyping.jaxtyped` does."""

    def decorate(given: Any) -> Any:
        def always(function: Function) -> Function:
            if by_types_alone(function):
                return with_one_error(typechecker(function))
            return checked_always(typechecker=typechecker)(function)

        if not isinstance(given, type):
            return checked_once(given, always)
        if "__dataclass_fields__" in vars(given) and "__init__" in vars(given):
            given.__init__ = checked_once(given.__init__, always)  # type: ignore[misc]
        return given

    return decorate


def checked_once(function: Function, always: Callable[[Function], Function]) -> Function:
    """The function; a call is checked if it is of a new kind, or its result is.

    Args:
        always: jaxtyping's own decorator. It is applied when it is first needed: of all functions
            that are imported few are called.
    """
    checks = checks_of(function, always)
    results_of, config, passed = checks.results_of, jaxtyping.config, checks.passed

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        if config.jaxtyping_disable:
            return function(*args, **named)
        if passed is None:
            return by_values(*args, **named)
        types = (len(args), *map(type, args), *named, *map(type, named.values()))
        results = passed.get(types)
        if results is None:
            result = by_values(*args, **named)
            if all(map(tells_all, map(type, (*args, *named.values())))):
                passed[types] = {type(result)} if tells_all(type(result)) else set()
            return result
        result = function(*args, **named)
        if type(result) not in results:
            checks.called(lambda *_, **__: result, args, named)
            if tells_all(type(result)):
                results.add(type(result))
        return result

    def by_values(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        kind = kind_of_all(len(args), *args, *named, *named.values())
        if kind is None:
            return checks.called(function, args, named)
        results = results_of.get(kind)
        new = results is None
        result = checks.called(function, args, named) if new else function(*args, **named)
        found = kind_of_all(result)
        if new and len(results_of) < MOST_KINDS:
            results_of[kind] = {found}
        elif not new and (found is None or found not in results):
            checks.called(lambda *_, **__: result, args, named)
            results.add(found)
        return result

    return call


def with_one_error(check: Function) -> Function:
    """What beartype refuses is an error of jaxtyping too, which is a TypeError."""

    @functools.wraps(check)
    def call(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        try:
            return check(*args, **named)
        except BeartypeCallHintViolation as error:
            raise jaxtyping.TypeCheckError(str(error)) from error

    return call


def by_types_alone(function: Function) -> bool:
    """Whether no annotation is of axes, which jaxtyping compares, or of values; or may be."""

    def asks_more(annotation: object) -> bool:
        if isinstance(annotation, str | ForwardRef | TypeVar | type(jaxtyping.AbstractArray)):
            return True
        if get_origin(annotation) in (Literal, Annotated):
            return True
        return any(map(asks_more, get_args(annotation)))

    return not any(map(asks_more, function.__annotations__.values()))


@functools.cache
def tells_all(given: type) -> bool:
    """Whether the values of this type have no items, and are no types, that a check looks at."""
    known = issubclass(given, str | bytes | torch.Tensor | np.ndarray | torch.nn.Module)
    return known or not issubclass(given, Collection | type)


class Checks:
    """The checks of one function, and the kinds of its calls that have passed."""

    def __init__(self, function: Function, always: Callable[[Function], Function]) -> None:
        self.results_of: dict[Hashable, set[Hashable]] = {}  # by the kinds of the arguments
        self.passed: dict[Hashable, set[type]] | None = {} if by_types_alone(function) else None
        self._function, self._always = function, always
        self._here = threading.local()

    def called(self, function: Function, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the function gives, with its arguments and its result checked."""
        __tracebackhide__ = True
        self._here.function = function
        return self._checked(*args, **named)

    @functools.cached_property
    def _checked(self) -> Function:
        here = self._here

        def enter(*args: Any, **named: Any) -> Any:
            return vars(here).pop("function")(*args, **named)  # which must not outlive the call

        functools.update_wrapper(enter, self._function)
        enter.__signature__ = signature(self._function)  # type: ignore[attr-defined]
        return self._always(enter)


known: dict[tuple[int, str], Checks] = {}
"""By the identity of the code, because constructors of two dataclasses may have equal code."""


def checks_of(function: Function, always: Callable[[Function], Function]) -> Checks:
    """Those of the same `def`, if it stands in another function and has run before.

    Decorating takes milliseconds, and a search makes some functions thousands of times.
    """
    if "<locals>" not in function.__qualname__ or function.__defaults__ or function.__kwdefaults__:
        return Checks(function, always)
    code = function.__code__
    # What the first of them has in its closure must not be kept for the others.
    cells = tuple(CellType() for _ in code.co_freevars)
    bare = FunctionType(code, function.__globals__, closure=cells)
    functools.update_wrapper(bare, function)
    del bare.__wrapped__
    own = Checks(bare, always)
    # Of closures over sizes and types, the annotations may differ.
    return known.setdefault((id(function.__code__), repr(function.__annotations__)), own)


class EachDiffersError(Exception):
    """A value that is checked whenever it is given."""


def kind_of_all(*values: object) -> Hashable:
    """All that a check of these values depends on; None: it may depend on more."""
    try:
        return tuple([_kind_by_type(type(value))(value) for value in values])
    except EachDiffersError:
        return None


def kind_of(value: object) -> Hashable:
    """All that a check of the value depends on.

    Raises:
        EachDiffersError: it may depend on more.
    """
    return _kind_by_type(type(value))(value)


@functools.cache
def _kind_by_type(given: type) -> Callable[[Any], Hashable]:
    if issubclass(given, torch.Tensor | np.ndarray):
        return lambda value: (given, value.shape, value.dtype)
    if given in (int, bool, NoneType):
        return lambda value: (given, value)
    if given is str:
        return lambda value: value if len(value) <= LONGEST_NAME else str
    if issubclass(given, tuple | list):
        return functools.partial(_kind_of_items, given)
    if issubclass(given, type):
        return lambda value: value
    if issubclass(given, Collection) and not issubclass(given, str | bytes | torch.nn.Module):
        return _refuse
    return lambda _: given


def _kind_of_items(given: type, items: Collection[object]) -> Hashable:
    return (given, *map(kind_of, items)) if len(items) <= SHORT else _refuse(items)


def _refuse(_: object) -> Hashable:
    raise EachDiffersError
