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
from types import CodeType, NoneType
from typing import Any

import jaxtyping
import numpy as np
import torch

CHECKER = "beartype.beartype"

SHORT = 8
"""Sequences up to this length are known by all of their items."""

LONGEST_NAME = 40
"""Letters of a text that may be a member of a Literal."""

MOST_KINDS = 10_000
"""Of calls of one function that are remembered."""

Function = Callable[..., Any]

checked_always = jaxtyping.jaxtyped

ResultsByKind = dict[Hashable, set[Hashable]]
"""The kinds of results that passed, by that of the arguments."""

_RESULTS: dict[tuple[int, Function], tuple[CodeType, ResultsByKind]] = {}
"""Of each code and checker; by its identity, because constructors of two dataclasses may have equal
code."""


def install(modules: Sequence[str]) -> None:
    """Lets the annotations of these modules be checked; they must not be imported yet."""
    jaxtyping.jaxtyped = checked  # the hook decorates with what has this name
    jaxtyping.install_import_hook(modules, CHECKER)


def checked(*, typechecker: Function) -> Callable[[Any], Any]:
    """Decorates functions, and the constructors of dataclasses, as `jaxtyping.jaxtyped` does."""

    def decorate(given: Any) -> Any:
        if not isinstance(given, type):
            return checked_once(given, typechecker)
        if "__dataclass_fields__" in vars(given) and "__init__" in vars(given):
            given.__init__ = checked_once(given.__init__, typechecker)  # type: ignore[misc]
        return given

    return decorate


def checked_once(function: Function, typechecker: Function) -> Function:
    """The function; a call is checked if it is of a new kind, or its result is."""
    # Applied when it is first needed: of all functions that are imported few are called.
    always = checked_always(typechecker=typechecker)
    results_of = results_by_kind(function, typechecker)
    here = threading.local()
    whole = functools.cache(lambda: always(function))

    @functools.cache
    def result_alone() -> Function:
        """Checks its arguments, and as its result what is in `here`."""

        def give(*_: Any, **__: Any) -> Any:
            return here.result

        functools.update_wrapper(give, function)
        give.__signature__ = signature(function)  # type: ignore[attr-defined]
        return always(give)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        if jaxtyping.config.jaxtyping_disable:
            return function(*args, **named)
        kind = kind_of_all(len(args), *args, *named, *named.values())
        if kind is None:
            return whole()(*args, **named)
        results = results_of.get(kind)
        result = whole()(*args, **named) if results is None else function(*args, **named)
        found = kind_of_all(result)
        if results is None and len(results_of) < MOST_KINDS:
            results_of[kind] = {found}
        elif results is not None and (found is None or found not in results):
            here.result = result
            result_alone()(*args, **named)
            del here.result
            results.add(found)
        return result

    return call


def results_by_kind(function: Function, typechecker: Function) -> ResultsByKind:
    """What passed of a function as it is written.

    One that is defined inside another is made anew in every call of that, with the same
    annotations; to let it be checked anew each time takes far longer than what it does.
    """
    code = function.__code__
    return _RESULTS.setdefault((id(code), typechecker), (code, {}))[1]


class EachDiffersError(Exception):
    """A value that is checked whenever it is given."""


def kind_of_all(*values: object) -> Hashable:
    """All that a check of these values depends on; None: it may depend on more."""
    try:
        return (*map(kind_of, values),)
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
