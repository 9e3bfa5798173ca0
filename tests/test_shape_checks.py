"""What the tests check annotations with: it refuses all that beartype refuses, and asks it less."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import jaxtyping
import numpy as np
import pytest
import torch
from beartype import beartype

from jumok.shapes import Float, Tensor
from tests.shape_checks import SHORT, checked


def counting() -> tuple[Any, list[int]]:
    """The decorator, and how often it asked beartype."""
    asked: list[int] = []

    def checker(function: Any) -> Any:
        check = beartype(function)

        def count(*args: Any, **named: Any) -> Any:
            asked.append(1)
            return check(*args, **named)

        return count

    return checked(typechecker=checker), asked


decorate, _ = counting()


@decorate
def scaled(x: Float[Tensor, "length dim"], by: float = 2.0) -> Float[Tensor, "length dim"]:
    return x[:1] if by == 0.0 else x * by  # wrong where by is 0


def test_a_call_like_one_that_passed_is_not_checked_again() -> None:
    decorate, asked = counting()
    again = decorate(scaled.__wrapped__)
    assert torch.equal(again(torch.ones(2, 3)), torch.full((2, 3), 2.0))
    first = len(asked)
    again(torch.zeros(2, 3))
    again(torch.zeros(2, 3))
    assert (first, len(asked)) == (2, 2)  # its arguments, and its result
    again(torch.zeros(4, 3))
    again(torch.zeros(4, 3).double())
    again(torch.zeros(4, 3), by=1.5)
    assert len(asked) == 8


def test_a_function_inside_another_is_checked_once_for_all_calls_of_that() -> None:
    decorate, asked = counting()

    def outer(x: torch.Tensor, by: float) -> torch.Tensor:
        @decorate
        def inner(x: Float[Tensor, "length dim"]) -> Float[Tensor, "length dim"]:
            return x[:1] if by == 0.0 else x * by

        return inner(x)

    assert [float(outer(torch.ones(2, 3), by).sum()) for by in (1.0, 2.0)] == [6.0, 12.0]
    assert len(asked) == 2  # its arguments, and its result
    with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
        outer(torch.ones(2, 3), 0.0)
    with pytest.raises(jaxtyping.TypeCheckError):
        outer(torch.ones(3), 1.0)


def test_wrong_arguments_are_refused_before_and_after_right_ones() -> None:
    for _ in range(2):
        for wrong in (torch.ones(3), torch.ones(2, 3, dtype=torch.int64), np.ones((2, 3)), None):
            with pytest.raises(jaxtyping.TypeCheckError):
                scaled(wrong)
        with pytest.raises(jaxtyping.TypeCheckError):
            scaled(torch.ones(2, 3), "2")
        scaled(torch.ones(2, 3))


def test_a_wrong_result_is_refused_after_right_ones_of_the_same_arguments() -> None:
    for _ in range(2):
        scaled(torch.ones(2, 3))
        with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
            scaled(torch.ones(2, 3), 0.0)


@decorate
def positions(length: int) -> Float[Tensor, "{length} dim"]:
    return torch.zeros(3, 2)


@decorate
def kept(which: Literal["first", "last"], *parts: Float[Tensor, " length"]) -> int:
    return len(parts)


@decorate
def joined(parts: list[Float[Tensor, " length"]]) -> Float[Tensor, " all"]:
    return torch.cat(parts)


def test_numbers_names_and_items_are_looked_at() -> None:
    assert positions(3).shape == (3, 2)
    with pytest.raises(jaxtyping.TypeCheckError):
        positions(4)
    assert kept("first", torch.ones(2), torch.ones(2)) == 2
    for wrong in (("middle", torch.ones(2)), ("first", torch.ones(2), torch.ones(3))):
        with pytest.raises(jaxtyping.TypeCheckError):
            kept(*wrong)
    assert joined([torch.ones(2)]).shape == (2,)
    with pytest.raises(jaxtyping.TypeCheckError):
        joined([torch.ones(2, 2)])


def test_a_long_list_is_always_checked() -> None:
    decorate, asked = counting()
    join = decorate(joined.__wrapped__)
    for _ in range(3):
        join([torch.ones(2)] * (SHORT + 1))
    assert len(asked) == 6
    with pytest.raises(jaxtyping.TypeCheckError):
        join([torch.ones(2, 2)] * (SHORT + 1))


@decorate
@dataclass(frozen=True)
class Pair:
    first: Float[Tensor, " length"]
    second: Float[Tensor, " length"]


def test_the_fields_of_a_dataclass_are_checked() -> None:
    assert Pair(torch.ones(2), torch.ones(2)).second.shape == (2,)
    with pytest.raises(jaxtyping.TypeCheckError):
        Pair(torch.ones(2), torch.ones(3))


def maker(decorate: Any, shape: str) -> Any:
    @decorate
    def longer(x: Float[Tensor, shape]) -> int:
        return len(x)

    return longer


def test_functions_that_one_definition_makes_are_checked_together() -> None:
    decorate, asked = counting()
    made = [maker(decorate, "length") for _ in range(5)]
    assert [longer(torch.ones(3)) for longer in made] == [3] * 5
    assert len(asked) == 2
    for longer in made:
        with pytest.raises(jaxtyping.TypeCheckError):
            longer(torch.ones(3, 2))
    other = maker(decorate, "length dim")  # its annotation is another
    assert other(torch.ones(3, 2)) == 3
    with pytest.raises(jaxtyping.TypeCheckError):
        other(torch.ones(3))


@decorate
def counted(first: int, *, last: "int | None" = None) -> Iterator[int]:
    yield from range(first, last or 3)


@decorate
def named(which: int) -> str:
    return "one" if which == 1 else which  # type: ignore[return-value]  # wrong if it is not 1


def test_functions_without_arrays_are_checked_by_beartype_alone() -> None:
    for _ in range(2):
        assert named(1) == "one"
        with pytest.raises(jaxtyping.TypeCheckError, match="return"):
            named(2)
        with pytest.raises(jaxtyping.TypeCheckError, match="which"):
            named("1")
        assert list(counted(1)) == [1, 2]
        assert list(counted(1, last=5)) == [1, 2, 3, 4]
        with pytest.raises(jaxtyping.TypeCheckError):
            counted("1")


def test_nothing_is_checked_where_types_are_not_executed(monkeypatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    assert scaled(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_the_modules_of_jumok_are_checked() -> None:
    from jumok.attention.core import attend

    with pytest.raises(jaxtyping.TypeCheckError):
        attend(*[torch.ones(3)] * 3)
