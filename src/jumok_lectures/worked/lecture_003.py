"""Lecture 003: products of vectors, a mixture, one query and four keys."""

import math

import torch
from torch.nn import functional

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import RawAttention
from jumok.attention.scores import DotScore
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    by_torch,
    explained,
    numbers,
    traced,
    vectors,
)

T = Texts("worked_003")

A, NEAR, OTHER, FAR = [2.0, 3.0], [4.0, 5.0], [-5.0, 2.0], [40.0, 50.0]
QUERY = [1.0, 2.0]
FOUR = ([2.0, -1.0], [-1.0, 0.0], [1.0, 1.0], [0.5, 0.5])
SCORES = 14.0, 12.0  # of "Thinking" in lecture 002, as a figure of Alammar 2018 has them

CLOSER = T.quote("12")
FIRST = T.quote("13")
SECOND = T.quote("14")
MIXED = T.quote("8")
NEAREST = T.quote("20")
POSITIVE = T.quote("21")


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [products(), mixture(), four_keys()]


def products() -> WorkedExample:
    """23 and -4, and a product that contradicts the rule above them."""
    layer = RawAttention(DotScore())
    keys = vectors(NEAR, OTHER)
    trace, _ = traced(
        layer, lambda: layer(vectors(A), keys), "003:13", ("A[2,3]",), ("B[4,5]", "B[-5,2]")
    )
    near, other = explained(trace, 0).looks
    far = DotScore()(vectors(A), vectors(FAR)).item()
    left, right = A[0] * OTHER[0], A[1] * OTHER[1]
    not_equal = T("not_equal")
    return WorkedExample(
        FIRST,
        T("products_title"),
        T("products_given"),
        (
            WorkedStep(
                FIRST,
                same(f"[2, 3]·[4, 5] = 2 x 4 + 3 x 5 = {near.product:g}"),
                near.product,
                Noted("23", 23.0, 0.0),
            ),
            WorkedStep(
                SECOND,
                same(f"[2, 3]·[-5, 2] = 2 x -5 + 3 x 2 = {other.product:g}"),
                other.product,
                Noted("-4", -4.0, 0.0),
            ),
            WorkedStep(
                SECOND,
                same(f"2 x -5 = {left:g}; 3 x 2 = {right:g}"),
                left,
                Noted("-4", -4.0, 0.0),
                not_equal,
            ),
            WorkedStep(
                CLOSER,
                T(
                    "said_closer",
                    far=far,
                    dist_a_far=math.dist(A, FAR),
                    product=near.product,
                    dist_a_near=math.dist(A, NEAR),
                ),
            ),
        ),
        trace,
    )


def mixture() -> WorkedExample:
    """0.88 A + 0.12 B, where A and B are two directions, from scores that give these shares."""
    scores = torch.tensor(SCORES).view(1, 1, 1, 2)
    values = torch.eye(2).view(1, 1, 2, 2)
    mixed = attend_by_scores(scores, values)[0][0, 0, 0]
    share = float(mixed[0] ** 2 / (mixed**2).sum())
    return WorkedExample(
        MIXED,
        T("mixture_title"),
        T("mixture_given"),
        (
            WorkedStep(
                MIXED,
                T("said_mixed", mixed=numbers(mixed)),
                float(mixed[0]),
                Noted("88%", 0.88, 0.005),
            ),
            WorkedStep(MIXED, T("said_mixed_2"), float(mixed[1]), Noted("12%", 0.12, 0.005)),
            WorkedStep(MIXED, T("said_mixed_3"), share, Noted("88%", 0.88, 0.005), T("why_mixed")),
        ),
    )


def four_keys() -> WorkedExample:
    """One query asks four keys; the third has the largest product."""
    layer = RawAttention(DotScore())
    keys = vectors(*FOUR)
    names = tuple(f"k{number}" for number in range(1, 5))
    trace, output = traced(layer, lambda: layer(vectors(QUERY), keys), "003:18", ("q",), names)
    theirs = functional.scaled_dot_product_attention(vectors(QUERY), keys, keys, scale=1.0)
    looks = explained(trace, 0).looks
    products = ", ".join(f"{look.product:g}" for look in looks)
    weights = [look.weight for look in looks]
    largest = 1 + max(range(4), key=lambda number: looks[number].weight)
    return WorkedExample(
        T.quote("18"),
        T("four_keys_title"),
        T("four_keys_given"),
        (
            WorkedStep(NEAREST, T("said_nearest", products=products, largest=largest)),
            WorkedStep(
                POSITIVE,
                T("said_positive", weights=numbers(torch.tensor(weights))),
                sum(weights),
                Noted("1", 1.0, 1e-6),
            ),
            WorkedStep(
                T.quote("28"),
                T("said_28", output_0=numbers(output[0])),
                float(output[0, 0]),
                by_torch("scaled_dot_product_attention", float(theirs[0, 0, 0])),
            ),
        ),
        trace,
    )
