"""Lecture 000: one word for four, y_3 from three words, all rows at once, large exponents."""

import math

import torch

from jumok.attention.core import attend_by_scores
from jumok.attention.layers import ManyHeads, RawAttention, SelfAttention
from jumok.attention.masks import AttentionMask
from jumok.attention.scores import DotScore
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    explained,
    numbers,
    set_matrix,
    traced,
    vectors,
)

T = Texts("worked_000")

WORDS = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
W_QUERY, W_KEY = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 1.0]]
W_VALUE = [[3.0, 0.0], [0.0, 3.0]]
BASE, HEADS = 512, 8  # of the base model of Vaswani et al. 2017
SCORES = 710.0, 709.0
SOURCE, TARGET = ("he", "hit", "me", "with", "a", "pie"), ("il", "a", "m'", "entarté")
ASKED = (0,), (1,), (2,), (1, 3, 4, 5)  # the source words whose directions a query has
SURE = 6.0  # the score of such a word; 0 for the others

KEYS = T.quote("98")
CHOSEN = T("chosen")


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
    table = T.quote("24")
    return WorkedExample(
        T.quote("20"),
        T("one_for_four_title"),
        T("one_for_four_given", sure=SURE),
        (
            WorkedStep(T.quote("21"), same(f"il: {numbers(matrix[0])}")),
            WorkedStep(table, T("said_table", matrix_3=numbers(matrix[3]))),
            WorkedStep(table, T("said_table_2", rows=numbers(rows))),
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
        T.quote("62"),
        T("raw_output_title"),
        T("raw_output_given"),
        (
            WorkedStep(T.quote("62b"), same(f"x3·xj = {products}")),
            WorkedStep(T.quote("63"), same(f"softmax: {weights}")),
            WorkedStep(T.quote("65"), same(f"y3 = {sums} = {numbers(output[2])}")),
            WorkedStep(T.quote("75"), T("said_75")),
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
        T.quote("148"),
        T("all_at_once_title"),
        CHOSEN,
        (
            WorkedStep(
                T.quote("151"),
                same(f"N x d = {words.shape[1]} x {words.shape[2]}: {grid(words[0])}"),
            ),
            WorkedStep(
                T.quote("159"), same(f"Q = {grid(query)}; K = {grid(key)}; V = {grid(value)}")
            ),
            WorkedStep(T.quote("163"), same(f"Q K^T = {grid(products)}")),
            WorkedStep(T.quote("182"), same(f"i < j: {grid(hidden)}")),
            WorkedStep(
                T.quote("174"),
                T("said_174", whole=", ".join(numbers(row) for row in whole), off=off),
            ),
        ),
    )


def chosen_layer() -> SelfAttention:
    """With W_Q, W_K and W_V as chosen."""
    layer = SelfAttention(2, 2, 2)
    set_matrix(layer.query, W_QUERY)
    set_matrix(layer.general.key, W_KEY)
    set_matrix(layer.general.value, W_VALUE)
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
        T.quote("105"),
        T("third_output_title"),
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
                T.quote("142"),
                same(
                    f"q3·kj = {products}; / √2: "
                    f"{numbers(torch.tensor([look.score for look in looks]))}"
                ),
            ),
            WorkedStep(
                T.quote("63b"), T("said_63", weights=numbers(weights), sum=float(weights.sum()))
            ),
            WorkedStep(T.quote("98b"), same(f"y3 = {alphas} = {numbers(output[2])}")),
            WorkedStep(T.quote("190"), T("said_190", first=first)),
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
        T.quote("121"),
        T("overflow_title"),
        T("overflow_given"),
        (
            WorkedStep(
                T.quote("127"),
                same(f"exp(709) = {float(powers[0]):.15e}"),
                float(powers[0]),
                Noted("8.218407461554972e+307", 8.218407461554972e307, 5e291),
            ),
            WorkedStep(
                T.quote("132"),
                same(f"exp(710) = {float(powers[1])}"),
                float(powers[1]),
                Noted("inf", math.inf, 0.0),
            ),
            WorkedStep(T.quote("121b"), T("said_121", kept=numbers(kept))),
        ),
    )


def head_width() -> WorkedExample:
    """d_k of the paper."""
    with torch.device("meta"):
        layer = ManyHeads.with_fixed_budget(BASE, HEADS)
    head = layer.heads[0]
    assert isinstance(head, SelfAttention)
    width = head.query.out_features
    quote = T.quote("100")
    return WorkedExample(
        quote,
        T("head_width_title"),
        T("head_width_given", base=BASE, heads=HEADS),
        (
            WorkedStep(
                quote,
                T("said_quote", base=BASE, heads=HEADS),
                float(width),
                Noted("1024", 1024.0, 0.0),
                T("why_quote"),
            ),
        ),
    )
