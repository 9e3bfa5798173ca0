"""Tables of functions by the class of their first argument."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Kind = TypeVar("Kind")
Rest = ParamSpec("Rest")
Made = TypeVar("Made")


def taking(
    kind: type[Kind], make: Callable[Concatenate[Kind, Rest], Made]
) -> Callable[Concatenate[object, Rest], Made]:
    """`make` with a first argument of any class, which has to be a `kind` when it is called.

    The functions of a table so have one type, and each still says what it takes.
    """

    @wraps(make)
    def call(thing: object, /, *rest: Rest.args, **named: Rest.kwargs) -> Made:
        assert isinstance(thing, kind)
        return make(thing, *rest, **named)

    return call
