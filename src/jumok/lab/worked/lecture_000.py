"""Lecture 000: one word for four, y_3 from three words, all rows at once, large exponents."""

import math

import torch

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import ManyHeads, RawAttention, SelfAttention
from jumok.attention.masks import AttentionMask
from jumok.attention.scores import DotScore
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
SOURCE, TARGET = ("he", "hit", "me", "with", "a", "pie"), ("il", "a", "m'", "entarté")
ASKED = (0,), (1,), (2,), (1, 3, 4, 5)  # the source words whose directions a query has
SURE = 6.0  # the score of such a word; 0 for the others

KEYS = Quote("000", 98, r"\text{Keys} \quad \vec{k}_1 = \vec{x_1}^\intercal \mathbf{W}^\mathbf{K}")
CHOSEN = Text(
    "The note writes symbols only. Chosen: x1 = [1, 0], x2 = [0, 1], x3 = [1, 1]; W_Q = "
    "[[1, 0], [0, 2]], W_K = [[1, 1], [0, 1]], W_V = 3 times the identity.",
    "노트에는 기호만 있습니다. x1 = [1, 0], x2 = [0, 1], x3 = [1, 1], W_Q = [[1, 0], [0, "
    "2]], W_K = [[1, 1], [0, 1]], W_V = 단위행렬의 3배로 정했습니다.",
)


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [one_for_four(), raw_output(), head_width(), third_output(), overflow(), all_at_once()]


def one_for_four() -> WorkedExample:
    """The table of the weights of six words for four, one of which translates four words."""
    layer = RawAttention(DotScore())
    keys = torch.eye(len(SOURCE))
    queries = torch.stack([SURE * keys[list(asked)].sum(dim=0) for asked in ASKED])
    trace, _ = traced(layer, lambda: layer(queries[None], keys[None]), "000:20", TARGET, SOURCE)
    matrix = torch.from_numpy(trace.sites[0].weights[0])
    rows = matrix.sum(dim=1)
    table = Quote("000", 24, "entarté\tα14\tα24\tα34\tα44\tα54\tα64")
    return WorkedExample(
        Quote("000", 20, "he\thit\tme\twith"),
        Text("One French word for four English ones", "영어 네 단어에 해당하는 프랑스어 한 단어"),
        Text(
            "The note's table has the words and symbols for the weights. Chosen: each English word "
            "is one direction; il asks for he, a for hit, m' for me, and entarté for hit, with, a "
            f"and pie, each with the score {SURE:g}. No model was trained on this.",
            "노트의 표에는 단어와 가중치 기호만 있습니다. 영어 단어마다 방향을 하나씩 두고, "
            "il은 he, a는 hit, m'는 me를, entarté는 hit, with, a, pie를 찾도록 점수를 "
            f"{SURE:g}으로 정했습니다. 학습한 모델이 아닙니다.",
        ),
        (
            WorkedStep(
                Quote("000", 21, "il\tα11"),
                same(f"il: {numbers(matrix[0])}"),
            ),
            WorkedStep(
                table,
                Text(
                    f"entarté: {numbers(matrix[3])}: a quarter for each of the four words that it "
                    "translates",
                    f"entarté: {numbers(matrix[3])}. 번역하는 네 단어에 4분의 1씩 나뉩니다",
                ),
            ),
            WorkedStep(
                table,
                Text(
                    f"sums of the rows: {numbers(rows)}. The first index of the table is the "
                    "English word; in the formula of line 30 it is the French one.",
                    f"행의 합: {numbers(rows)}. 표에서는 첫째 번호가 영어 단어이고, 30행의 "
                    "식에서는 프랑스어 단어입니다.",
                ),
            ),
        ),
        trace,
        row=3,
    )


def raw_output() -> WorkedExample:
    """y_3 where x itself is query, key and value."""
    layer = RawAttention(DotScore())
    words = vectors(*WORDS)
    mask = AttentionMask(causal=True).draw(3, 3, words.device)[0]
    trace, output = traced(
        layer, lambda: layer(words, words, mask), "000:62", ("x1", "x2", "x3"), causal=True
    )
    looks = explained(trace, 2).looks
    products = ", ".join(f"{look.product:g}" for look in looks)
    weights = numbers(torch.tensor([look.weight for look in looks]))
    sums = " + ".join(f"{look.weight:.4f} x{i}" for i, look in enumerate(looks, start=1))
    return WorkedExample(
        Quote("000", 62, r"= \vec{x}_3 \cdot \vec{x}_j \in \mathbb{R} \quad (j=1,2,3)$"),
        Text("y_3 where x is query, key and value", "x가 곧 쿼리이자 키이자 값(value)일 때의 y_3"),
        Text(
            "The note writes symbols only. Chosen: x1 = [1, 0], x2 = [0, 1], x3 = [1, 1].",
            "노트에는 기호만 있습니다. x1 = [1, 0], x2 = [0, 1], x3 = [1, 1]로 정했습니다.",
        ),
        (
            WorkedStep(Quote("000", 62, r"\vec{x}_3 \cdot \vec{x}_j"), same(f"x3·xj = {products}")),
            WorkedStep(
                Quote("000", 63, r"\alpha_{3j} = \operatorname{softmax}"),
                same(f"softmax: {weights}"),
            ),
            WorkedStep(
                Quote("000", 65, r"\alpha_{31}\vec{X}_1"),
                same(f"y3 = {sums} = {numbers(output[2])}"),
            ),
            WorkedStep(
                Quote("000", 75, "세 가지 다른 역할로 사용된다."),
                Text(
                    "x3 is the query of this row; as a key and as a value it is one of the three "
                    "that the row is about.",
                    "이 행에서 x3은 쿼리이고, 키와 값(value)으로는 세 단어 가운데 하나입니다.",
                ),
            ),
        ),
        trace,
        row=2,
    )


def all_at_once() -> WorkedExample:
    """Q, K and V of a whole sequence, Q K^T and its mask, against one row after another."""
    layer, words = chosen_layer(), vectors(*WORDS)
    mask = AttentionMask(causal=True).draw(3, 3, words.device)[0]
    with torch.no_grad():
        query, key = layer.query(words)[0], layer.general.key(words)[0]
        value = layer.general.value(words)[0]
        whole = layer(words, mask)[0]
        alone = [layer(words[:, : i + 1])[0, i] for i in range(3)]
    products = query @ key.T
    hidden = products.masked_fill(~mask[0], -math.inf)
    off = max(float((whole[i] - row).abs().max()) for i, row in enumerate(alone))

    def grid(matrix: torch.Tensor) -> str:
        rows = (" ".join(f"{value:g}" for value in row) for row in matrix.tolist())
        return "; ".join(rows).replace("-inf", "-∞")

    return WorkedExample(
        Quote("000", 148, "에 한꺼번에 적용하기"),
        Text("The whole sequence at once", "시퀀스 전체를 한꺼번에"),
        CHOSEN,
        (
            WorkedStep(
                Quote("000", 151, "차원 임베딩 벡터(행벡터)를 쌓은 행렬"),
                same(f"N x d = {words.shape[1]} x {words.shape[2]}: {grid(words[0])}"),
            ),
            WorkedStep(
                Quote("000", 159, r"\mathbf{Q} = \mathbf{XW^Q}"),
                same(f"Q = {grid(query)}; K = {grid(key)}; V = {grid(value)}"),
            ),
            WorkedStep(
                Quote("000", 163, "행렬로 표현 가능하다."), same(f"Q K^T = {grid(products)}")
            ),
            WorkedStep(
                Quote("000", 182, r"-\infty$ 로 설정한다."),
                same(f"i < j: {grid(hidden)}"),
            ),
            WorkedStep(
                Quote("000", 174, r"\text{SelfAttention}"),
                Text(
                    f"the three rows of the output: {', '.join(numbers(row) for row in whole)}; "
                    "computed one after another, each from the words up to its own, they differ "
                    f"by {off:.1g} at most",
                    f"출력의 세 행: {', '.join(numbers(row) for row in whole)}. 각 행을 자기까지의 "
                    f"단어만으로 하나씩 구해도 차이는 최대 {off:.1g}입니다",
                ),
            ),
        ),
    )


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
