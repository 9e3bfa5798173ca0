"""Lecture 002: "Thinking Machines", and the first cell of a matrix, 0.5."""

import math
from collections.abc import Iterator

import torch
from torch.nn import functional

from jumok.attention.layers import SelfAttention
from jumok.inspection.explain import KeyTerms
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    Noted,
    WorkedExample,
    WorkedStep,
    by_hand,
    by_torch,
    explained,
    numbers,
    set_matrix,
    traced,
    vectors,
)

T = Texts("worked_002")

WIDTH = 64  # of queries and keys, in the paper; its root is the 8 of the figure
FIGURE = "Alammar 2018"
SDPA = "scaled_dot_product_attention"
SENTENCE = ("I", "am", "a", "student")
OWN = (3.0, 6.0, 9.0, 1.0)  # e to the power of each word's score for itself; 1 for the others

QUERIES = T.quote("16")
SCALED = T.quote("17")
SHARES = T.quote("18")
CELL = T.quote("11")
SUM = T.quote("19")

OF_THINKING = T("of_thinking")
OF_THE_CELL = T("of_the_cell")


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [thinking(), first_cell()]


def thinking() -> WorkedExample:
    """Scores of 14 and 12, shares of 88 and 12 percent, and z1."""
    layer = SelfAttention(2, WIDTH, 2)
    set_matrix(layer.query, [[1.0] * WIDTH, [0.5] * WIDTH])
    set_matrix(layer.general.key, [[112 / WIDTH] * WIDTH, [96 / WIDTH] * WIDTH])
    set_matrix(layer.general.value, [[1.0, 0.0], [0.0, 1.0]])
    words = vectors([1.0, 0.0], [0.0, 1.0])
    trace, output = traced(layer, lambda: layer(words), "002:15", ("Thinking", "Machines"))
    itself, other = explained(trace, 0).looks
    mixture = output[0]
    with torch.no_grad():
        parts = layer.query(words), layer.general.key(words), layer.general.value(words)
        theirs = functional.scaled_dot_product_attention(*parts)
    return WorkedExample(
        T.quote("15"),
        T("thinking_title"),
        OF_THINKING,
        (
            *scores_of(itself, other),
            WorkedStep(
                SHARES,
                T("said_shares", score=itself.score, score_2=other.score, weight=itself.weight),
                itself.weight,
                Noted("88%", 0.88, 0.005),
            ),
            WorkedStep(
                SHARES,
                same(f"softmax: 1 - {itself.weight:.4f} = {other.weight:.4f}"),
                other.weight,
                Noted("12%", 0.12, 0.005),
            ),
            WorkedStep(
                SUM,
                T("said_sum", weight=itself.weight, weight_2=other.weight, found=numbers(mixture)),
                float(mixture[0]),
                Noted("0.88", 0.88, 0.005),
            ),
            WorkedStep(SUM, T("said_sum_2"), float(mixture[1]), Noted("0.12", 0.12, 0.005)),
            *(
                WorkedStep(
                    SUM,
                    T("said_machines", place=place),
                    float(output[1, place]),
                    by_torch(SDPA, float(theirs[0, 1, place])),
                )
                for place in (0, 1)
            ),
        ),
        trace,
    )


def scores_of(itself: KeyTerms, other: KeyTerms) -> Iterator[WorkedStep]:
    """The products of both keys, which were chosen, and their scores, which a figure has."""
    for number, look in ((1, itself), (2, other)):
        yield WorkedStep(QUERIES, same(f"q1·k{number} = {look.product:g}"))
    for look, noted in ((itself, 14), (other, 12)):
        drawn = Noted(str(noted), float(noted), 0.0, "figure", FIGURE)
        divided = same(f"{look.product:g} / √{WIDTH} = {look.score:g}")
        yield WorkedStep(SCALED, divided, look.score, drawn)


def first_cell() -> WorkedExample:
    """A row of attention whose word keeps half of its attention for itself."""
    size = len(SENTENCE)
    layer = SelfAttention(size, size, size)
    scores = torch.tensor(OWN).log() * math.sqrt(size)
    set_matrix(layer.query, torch.diag(scores).tolist())
    set_matrix(layer.general.key, torch.eye(size).tolist())
    set_matrix(layer.general.value, torch.eye(size).tolist())
    words = torch.eye(size)[None]
    trace, output = traced(layer, lambda: layer(words), "002:11", SENTENCE)
    matrix = torch.from_numpy(trace.sites[0].weights[0])
    rows, columns = matrix.sum(dim=1), matrix.sum(dim=0)
    first = explained(trace, 0).looks[0]
    theirs = (torch.diag(scores) / math.sqrt(size)).softmax(-1)
    return WorkedExample(
        CELL,
        T("first_cell_title"),
        OF_THE_CELL,
        (
            WorkedStep(
                CELL,
                same(
                    f"softmax: e^{first.score:.4f} / (e^{first.score:.4f} + 3 e^0) = "
                    f"3 / 6 = {first.weight:.4f}"
                ),
                first.weight,
                by_torch("softmax", float(theirs[0, 0])),
            ),
            WorkedStep(
                CELL,
                T("said_second", weight=float(matrix[1, 1])),
                float(matrix[1, 1]),
                by_hand("6 / (6 + 1 + 1 + 1)", "0.6667"),
            ),
            WorkedStep(
                T.quote("9"),
                T("said_9", rows=numbers(rows)),
                float(rows[(rows - 1).abs().argmax()]),
                Noted("1", 1.0, 1e-6),
            ),
            WorkedStep(T.quote("10"), T("said_10", columns=numbers(columns))),
            WorkedStep(T.quote("12"), T("said_12", output_0=numbers(output[0]))),
        ),
        trace,
    )
