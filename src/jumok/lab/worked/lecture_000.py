"""Lecture 000: y_3 from three words, the largest exponent of float64, the width of a head."""

import math

import torch

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import ManyHeads, SelfAttention
from jumok.attention.masks import AttentionMask
from jumok.lab.entry import Quote
from jumok.lab.text import Text, same
from jumok.lab.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    explained,
    filled,
    numbers,
    traced,
    vectors,
)

WORDS = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
W_QUERY, W_KEY = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 1.0]]
W_VALUE = [[3.0, 0.0], [0.0, 3.0]]
BASE, HEADS = 512, 8  # of the base model of Vaswani et al. 2017
SCORES = 710.0, 709.0

KEYS = Quote("000", 98, r"\text{Keys} \quad \vec{k}_1 = \vec{x_1}^\intercal \mathbf{W}^\mathbf{K}")
CHOSEN = Text(
    "The note writes symbols only. Chosen: x1 = [1, 0], x2 = [0, 1], x3 = [1, 1]; W_Q = "
    "[[1, 0], [0, 2]], W_K = [[1, 1], [0, 1]], W_V = 3 times the identity.",
    "노트에는 기호만 있습니다. x1 = [1, 0], x2 = [0, 1], x3 = [1, 1], W_Q = [[1, 0], [0, "
    "2]], W_K = [[1, 1], [0, 1]], W_V = 단위행렬의 3배로 정했습니다.",
)


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [head_width(), third_output(), overflow()]


def chosen_layer() -> SelfAttention:
    """With W_Q, W_K and W_V as chosen."""
    layer = SelfAttention(2, 2, 2)
    filled(layer.query, W_QUERY)
    filled(layer.general.key, W_KEY)
    filled(layer.general.value, W_VALUE)
    return layer


def third_output() -> WorkedExample:
    """y_3 through queries, keys and values, and nothing of later words."""
    layer = chosen_layer()
    words = vectors(*WORDS)
    mask = AttentionMask(causal=True).draw(3, 3, words.device)[0]
    trace, output = traced(
        layer, lambda: layer(words, mask), "000:105", ("x1", "x2", "x3"), causal=True
    )
    looks = explained(trace, 2).looks
    site = trace.sites[0]
    assert site.query is not None
    assert site.key is not None
    query, keys = torch.from_numpy(site.query[0]), torch.from_numpy(site.key[0])
    products = ", ".join(f"{look.product:g}" for look in looks)
    weights = torch.tensor([look.weight for look in looks])
    first = numbers(torch.from_numpy(site.weights[0, 0]))
    alphas = " + ".join(f"{look.weight:.4f} v{i}" for i, look in enumerate(looks, start=1))
    return WorkedExample(
        Quote("000", 105, "Calculating the value of  $y_3$ , the third element of a sequence"),
        Text("y_3 from x_1, x_2 and x_3", "x_1, x_2, x_3에서 y_3을 얻기까지"),
        CHOSEN,
        (
            WorkedStep(
                KEYS,
                same(
                    f"q3 = x3 W_Q = {numbers(query[2], 0)}; k1 = {numbers(keys[0], 0)}, "
                    f"k2 = {numbers(keys[1], 0)}, k3 = {numbers(keys[2], 0)}"
                ),
            ),
            WorkedStep(
                Quote("000", 142, "의 제곱근으로 나누어 준다."),
                same(
                    f"q3·kj = {products}; / √2: "
                    f"{numbers(torch.tensor([look.score for look in looks]))}"
                ),
            ),
            WorkedStep(
                Quote("000", 63, r"Attention weights  $\alpha_{3j} = \operatorname{softmax}"),
                Text(
                    f"softmax: {numbers(weights)}, which add up to {float(weights.sum()):.4f}",
                    f"softmax: {numbers(weights)}, 합은 {float(weights.sum()):.4f}",
                ),
            ),
            WorkedStep(
                Quote("000", 98, r"\alpha_{31} \vec{\mathbf{V}}_1"),
                same(f"y3 = {alphas} = {numbers(output[2])}"),
            ),
            WorkedStep(
                Quote("000", 190, "set to  $-\\infty$ , which the softmax will turn to zero"),
                Text(
                    f"x1 attends to x1 alone: its weights are {first}",
                    f"x1은 x1만 봅니다. 가중치는 {first}",
                ),
            ),
        ),
        trace,
        row=2,
    )


def overflow() -> WorkedExample:
    """exp(709), exp(710), and a softmax that survives both."""
    powers = torch.tensor([709.0, 710.0], dtype=torch.float64).exp()
    scores = torch.tensor(SCORES, dtype=torch.float64).view(1, 1, 1, 2)
    weights = attend_by_scores(scores, torch.eye(2, dtype=torch.float64).view(1, 1, 2, 2))[1]
    kept = weights[0, 0, 0]
    return WorkedExample(
        Quote("000", 121, "내적값이 커지면 지수함수(exp)를 취했을 때 overflow가 일어날 수 있다."),
        Text("exp of large scores", "큰 점수의 exp"),
        Text("In float64, as in the note.", "노트와 같이 float64로 계산합니다."),
        (
            WorkedStep(
                Quote("000", 127, "8.218407461554972e+307"),
                same(f"exp(709) = {float(powers[0]):.15e}"),
                float(powers[0]),
                Noted("8.218407461554972e+307", 8.218407461554972e307, 5e291),
            ),
            WorkedStep(
                Quote("000", 132, "inf"),
                same(f"exp(710) = {float(powers[1])}"),
                float(powers[1]),
                Noted("inf", math.inf, 0.0),
            ),
            WorkedStep(
                Quote("000", 121, "overflow가 일어날 수 있다."),
                Text(
                    f"softmax of 710 and 709 in jumok: {numbers(kept)}; the largest score is "
                    "subtracted first, so that nothing overflows",
                    f"점수 710과 709의 softmax를 jumok으로 구하면 {numbers(kept)}. 가장 큰 점수를 "
                    "먼저 빼므로 넘치지 않습니다",
                ),
            ),
        ),
    )


def head_width() -> WorkedExample:
    """d_k of the paper."""
    with torch.device("meta"):
        layer = ManyHeads.with_fixed_budget(BASE, HEADS)
    head = layer.heads[0]
    assert isinstance(head, SelfAttention)
    width = head.query.out_features
    quote = Quote("000", 100, "$d_k = d_v = 1024$ 로 설정했음.")
    return WorkedExample(
        quote,
        Text("The width of queries and keys in the paper", "원 논문의 쿼리와 키의 너비"),
        Text(
            f"d_model = {BASE} and h = {HEADS} are the paper's (Vaswani et al. 2017, table 3).",
            f"d_model = {BASE}, h = {HEADS}은 논문의 값입니다(Vaswani et al. 2017, 표 3).",
        ),
        (
            WorkedStep(
                quote,
                Text(
                    f"d_model / h = {BASE} / {HEADS}: the width of a head's queries in jumok",
                    f"d_model / h = {BASE} / {HEADS}: jumok에서 헤드 하나의 쿼리 너비",
                ),
                float(width),
                Noted("1024", 1024.0, 0.0),
                Text(
                    "The paper divides one width among the heads (3.2.2); 1,024 is d_model of its "
                    "large model.",
                    "논문은 너비 하나를 헤드들이 나눕니다(3.2.2절). 1,024는 큰 모델의 "
                    "d_model입니다.",
                ),
            ),
        ),
    )
