"""Lecture 003: products of vectors, a mixture, one query and four keys."""

import math

import torch

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import RawAttention
from jumok.attention.scores import DotScore
from jumok.lab.entry import Quote
from jumok.lab.text import Text, same
from jumok.lab.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    explained,
    numbers,
    traced,
    vectors,
)

A, NEAR, OTHER, FAR = [2.0, 3.0], [4.0, 5.0], [-5.0, 2.0], [40.0, 50.0]
QUERY = [1.0, 2.0]
FOUR = ([2.0, -1.0], [-1.0, 0.0], [1.0, 1.0], [0.5, 0.5])
SHARE = 0.88

CLOSER = Quote(
    "003", 12, "벡터 공간 내 거리가 비슷할 수록 값이 크게나오고, 거리가 멀 수록 값이 작게나온다."
)
FIRST = Quote("003", 13, "A[2, 3], B[4, 5]; 같은 1사분면 벡터 => (2x4)+(3x5) = 23")
SECOND = Quote("003", 14, "A[2, 3], B[-5, 2]; 다른 사분면 벡터 => (2x-5)=(3x2) = -4")
MIXED = Quote(
    "003",
    8,
    "텐서A의 값은 0.88이고 텐서B의 값은 0.12 일 때 더해진 텐서C의 정보는 텐서A의 정보 88% 텐서B의 "
    "정보 12%를 가지고 있다.",
)
NEAREST = Quote("003", 20, "위 그림에서는 키의 세 번째 텐서가 가장 유사하다는 의미이다.")
POSITIVE = Quote(
    "003",
    21,
    "각각의 값을 전체 Weight의 합으로 나눠서 아래 그림처럼 전부 양수이고 Weight의 합이 1로 "
    "만들어준다.",
)


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [products(), mixture(), four_keys()]


def products() -> WorkedExample:
    """23 and -4, and a product that contradicts the rule above them."""
    layer = RawAttention(DotScore())
    keys = vectors(NEAR, OTHER)
    trace, _ = traced(
        layer,
        lambda: layer(vectors(A), keys),
        "003:13",
        ("A[2,3]",),
        ("B[4,5]", "B[-5,2]"),
    )
    near, other = explained(trace, 0).looks
    far = DotScore()(vectors(A), vectors(FAR)).item()
    left, right = A[0] * OTHER[0], A[1] * OTHER[1]
    not_equal = Text(
        "The note has an equals sign where it means a plus: the two products differ, and only "
        "their sum is -4.",
        "노트에 더하기 대신 등호가 적혀 있습니다. 두 곱은 서로 다르고, 합이 -4입니다.",
    )
    return WorkedExample(
        FIRST,
        Text("Dot products of A = [2, 3]", "A = [2, 3]의 내적"),
        Text(
            "All vectors are the note's, except for [40, 50], which is 10 times B[4, 5].",
            "벡터는 모두 노트의 것이고, B[4, 5]의 10배인 [40, 50]만 더했습니다.",
        ),
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
            WorkedStep(SECOND, same(f"2 x -5 = {left:g}"), left, Noted("-4", -4.0, 0.0), not_equal),
            WorkedStep(
                SECOND, same(f"3 x 2 = {right:g}"), right, Noted("-4", -4.0, 0.0), not_equal
            ),
            WorkedStep(
                CLOSER,
                Text(
                    f"[2, 3]·[40, 50] = {far:g} at distance {math.dist(A, FAR):.1f}, and "
                    f"[2, 3]·[4, 5] = {near.product:g} at distance {math.dist(A, NEAR):.1f}: the "
                    "lengths decide, too",
                    f"[2, 3]·[40, 50] = {far:g}(거리 {math.dist(A, FAR):.1f}), "
                    f"[2, 3]·[4, 5] = {near.product:g}(거리 {math.dist(A, NEAR):.1f}). 벡터의 "
                    "길이도 내적을 좌우합니다",
                ),
            ),
        ),
        trace,
    )


def mixture() -> WorkedExample:
    """0.88 A + 0.12 B, where A and B are two directions."""
    scores = torch.tensor([SHARE, 1 - SHARE]).log().view(1, 1, 1, 2)
    values = torch.eye(2).view(1, 1, 2, 2)
    mixed = attend_by_scores(scores, values)[0][0, 0, 0]
    share = float(mixed[0] ** 2 / (mixed**2).sum())
    return WorkedExample(
        MIXED,
        Text("A mixture of A and B", "A와 B의 혼합"),
        Text(
            "The note gives the shares; A = [1, 0] and B = [0, 1] are chosen, so that the elements "
            "of C show how much of each is in it.",
            "비율은 노트의 것입니다. C의 원소에 각각의 몫이 그대로 보이도록 A = [1, 0], B = "
            "[0, 1]로 두었습니다.",
        ),
        (
            WorkedStep(
                MIXED,
                Text(
                    f"C = 0.88 A + 0.12 B = {numbers(mixed)}; A in C",
                    f"C = 0.88 A + 0.12 B = {numbers(mixed)}. C에 든 A",
                ),
                float(mixed[0]),
                Noted("88%", 0.88, 0.005),
            ),
            WorkedStep(
                MIXED, Text("B in C", "C에 든 B"), float(mixed[1]), Noted("12%", 0.12, 0.005)
            ),
            WorkedStep(
                MIXED,
                Text(
                    "A's share of the squared length of C, which is what a linear map reads back "
                    "from it (jumok lab mix)",
                    "C의 길이의 제곱에서 A가 차지하는 몫으로, 선형 사상이 되읽는 양입니다(jumok "
                    "lab mix)",
                ),
                share,
                Noted("88%", 0.88, 0.005),
                Text(
                    "A weight is no amount of information: in the squared length A has 0.88² of "
                    "0.88² + 0.12².",
                    "가중치는 정보의 양이 아닙니다. 길이의 제곱으로는 A가 0.88² + 0.12² 가운데 "
                    "0.88²입니다.",
                ),
            ),
        ),
    )


def four_keys() -> WorkedExample:
    """One query asks four keys; the third has the largest product."""
    layer = RawAttention(DotScore())
    keys = vectors(*FOUR)
    names = tuple(f"k{number}" for number in range(1, 5))
    trace, output = traced(layer, lambda: layer(vectors(QUERY), keys), "003:18", ("q",), names)
    looks = explained(trace, 0).looks
    products = ", ".join(f"{look.product:g}" for look in looks)
    weights = [look.weight for look in looks]
    largest = 1 + max(range(4), key=lambda number: looks[number].product)
    return WorkedExample(
        Quote("003", 18, "쿼리 텐서 한개와 키 텐서 4개로 예를 들어보겠다."),
        Text("One query and four keys", "쿼리 한 개와 키 네 개"),
        Text(
            "The note's numbers are in figures that its text does not have; the text calls the "
            "third key the most similar. q = [1, 2] and the keys are chosen; the keys are the "
            "values, too.",
            "노트의 숫자는 본문에 없는 그림에 있고, 본문에는 세 번째 키가 가장 유사하다고 적혀 "
            "있습니다. q = [1, 2]와 키는 정했으며, 키가 값(value)이기도 합니다.",
        ),
        (
            WorkedStep(
                NEAREST,
                Text(
                    f"q·k = {products}: the largest is the product with key",
                    f"q·k = {products}. 가장 큰 것은 몇 번째 키와의 내적인가",
                ),
                float(largest),
                Noted("세 번째", 3.0, 0.0),
            ),
            WorkedStep(
                POSITIVE,
                Text(
                    f"softmax: {numbers(torch.tensor(weights))}, all positive; their sum",
                    f"softmax: {numbers(torch.tensor(weights))}, 모두 양수입니다. 합",
                ),
                sum(weights),
                Noted("1", 1.0, 1e-6),
            ),
            WorkedStep(
                Quote("003", 28, "벨류와 곱해져서 Weighted Sum을 수행해서"),
                Text(
                    f"Σ weight x value = {numbers(output[0])}",
                    f"Σ 가중치 x 값(value) = {numbers(output[0])}",
                ),
            ),
        ),
        trace,
    )
