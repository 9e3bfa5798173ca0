"""Lecture 002: "Thinking Machines", and the first cell of a matrix, 0.5."""

import math
from collections.abc import Iterator

import torch

from jumok.attention.layers import SelfAttention
from jumok.inspection.explain import KeyTerms
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

WIDTH = 64  # of queries and keys, in the paper; its root is the 8 of the figure
FIGURE = "Alammar 2018"
SENTENCE = ("I", "am", "a", "student")
OWN = (3.0, 6.0, 9.0, 1.0)  # e to the power of each word's score for itself; 1 for the others

QUERIES = Quote("002", 16, "q1과 다른 ks가 서로 얼마나 compatible한지를 고려한다.")
SCALED = Quote(
    "002",
    17,
    "Inner product score는 vector size가 커짐에 따라 arbitrary하게 커질 수 있기 때문에 "
    "normalize해준다.",
)
SHARES = Quote(
    "002",
    18,
    '"Thinking"은 자기 자신과 88%의 compatibility를, "Machines"와 12%의 compatibility를 가진다.',
)
CELL = Quote(
    "002",
    11,
    'Attention matrix의 첫 번째 0.5는 "I"가 자기 자신을 어떻게 생각하는 지에 대한 의미를 담고 '
    "있다.",
)
SUM = Quote("002", 19, "0.88 * v1 + 0.12 * v2 = z1")

OF_THINKING = Text(
    "The note gives the shares 88% and 12% and the sum z1, and no scores. A published figure with "
    "the same words and shares has them: q1·k1 = 112 and q1·k2 = 96, divided by √64 = 8: 14 and "
    "12 (Alammar 2018, The Illustrated Transformer, "
    "https://jalammar.github.io/illustrated-transformer). Vectors are chosen so that these "
    "products follow: q1 is 64 times 1, k1 64 times 1.75, k2 64 times 1.5; v1 = [1, 0], v2 = "
    "[0, 1], so that z1 shows the shares themselves. The row of Machines is neither in the note "
    "nor in that figure: q2 = q1 / 2.",
    "노트에는 비율 88%, 12%와 합 z1이 있고 점수는 없습니다. 점수는 단어와 비율이 같은 공개된 "
    "그림에 있습니다. q1·k1 = 112, q1·k2 = 96이고, √64 = 8로 나누면 14와 12입니다(Alammar 2018, "
    "The Illustrated Transformer, https://jalammar.github.io/illustrated-transformer). 벡터는 이 "
    "내적이 나오도록 정했습니다. q1은 1이 64개, k1은 1.75가 64개, k2는 1.5가 64개입니다. "
    "v1 = [1, 0], v2 = [0, 1]로 두어 z1에 비율이 그대로 보입니다. Machines의 행은 노트에도 그 "
    "그림에도 없어 q2 = q1 / 2로 두었습니다.",
)
OF_THE_CELL = Text(
    "The note gives the word and the cell, 0.5. The sentence is that of notes 001 and 003, "
    "and the vectors are chosen: each word is one direction, so that it scores 0 for the "
    "other three words, and I scores log 3 = 1.0986 for itself.",
    "노트에는 단어와 칸의 값 0.5만 있습니다. 문장은 노트 001과 003의 것이고, 벡터는 "
    "정했습니다. 단어마다 방향이 하나여서 다른 세 단어에 대한 점수는 0이고, I 자신에 대한 "
    "점수는 log 3 = 1.0986입니다.",
)


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [thinking(), first_cell()]


def thinking() -> WorkedExample:
    """Scores of 14 and 12, shares of 88 and 12 percent, and z1."""
    layer = SelfAttention(2, WIDTH, 2)
    filled(layer.query, [[1.0] * WIDTH, [0.5] * WIDTH])
    filled(layer.general.key, [[112 / WIDTH] * WIDTH, [96 / WIDTH] * WIDTH])
    filled(layer.general.value, [[1.0, 0.0], [0.0, 1.0]])
    words = vectors([1.0, 0.0], [0.0, 1.0])
    trace, output = traced(layer, lambda: layer(words), "002:15", ("Thinking", "Machines"))
    itself, other = explained(trace, 0).looks
    found = output[0]
    return WorkedExample(
        Quote("002", 15, '"Thinking"이 main character이고 neighbor을 보는 상황이다.'),
        Text("Thinking attends to itself and to Machines", "Thinking이 자신과 Machines를 볼 때"),
        OF_THINKING,
        (
            *scores_of(itself, other),
            WorkedStep(
                SHARES,
                Text(
                    f"softmax: e^{itself.score:g} / (e^{itself.score:g} + e^{other.score:g}) = "
                    f"{itself.weight:.4f}; only the difference of the scores matters",
                    f"softmax: e^{itself.score:g} / (e^{itself.score:g} + e^{other.score:g}) = "
                    f"{itself.weight:.4f}. 점수의 차이만 영향을 줍니다",
                ),
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
                Text(
                    f"z1 = {itself.weight:.4f} v1 + {other.weight:.4f} v2 = {numbers(found)}; its "
                    "first element",
                    f"z1 = {itself.weight:.4f} v1 + {other.weight:.4f} v2 = {numbers(found)}. 첫째 "
                    "원소",
                ),
                float(found[0]),
                Noted("0.88", 0.88, 0.005),
            ),
            WorkedStep(
                SUM,
                Text("the second element of z1", "z1의 둘째 원소"),
                float(found[1]),
                Noted("0.12", 0.12, 0.005),
            ),
        ),
        trace,
    )


def scores_of(itself: KeyTerms, other: KeyTerms) -> Iterator[WorkedStep]:
    """The products and the scores of both keys, which a published figure has."""
    for number, look, noted in ((1, itself, 112), (2, other, 96)):
        drawn = Noted(str(noted), float(noted), 0.0, FIGURE)
        yield WorkedStep(QUERIES, same(f"q1·k{number} = {look.product:g}"), look.product, drawn)
    for look, noted in ((itself, 14), (other, 12)):
        drawn = Noted(str(noted), float(noted), 0.0, FIGURE)
        divided = same(f"{look.product:g} / √{WIDTH} = {look.score:g}")
        yield WorkedStep(SCALED, divided, look.score, drawn)


def first_cell() -> WorkedExample:
    """A row of attention whose word keeps half of its attention for itself."""
    size = len(SENTENCE)
    layer = SelfAttention(size, size, size)
    scores = torch.tensor(OWN).log() * math.sqrt(size)
    filled(layer.query, torch.diag(scores).tolist())
    filled(layer.general.key, torch.eye(size).tolist())
    filled(layer.general.value, torch.eye(size).tolist())
    words = torch.eye(size)[None]
    trace, output = traced(layer, lambda: layer(words), "002:11", SENTENCE)
    matrix = torch.from_numpy(trace.sites[0].weights[0])
    rows, columns = matrix.sum(dim=1), matrix.sum(dim=0)
    first = explained(trace, 0).looks[0]
    return WorkedExample(
        CELL,
        Text("The first cell of the matrix: I on itself", "행렬의 첫 번째 칸: I가 자신을 볼 때"),
        OF_THE_CELL,
        (
            WorkedStep(
                CELL,
                same(
                    f"softmax: e^{first.score:.4f} / (e^{first.score:.4f} + 3 e^0) = "
                    f"3 / 6 = {first.weight:.4f}"
                ),
                first.weight,
                Noted("0.5", 0.5, 1e-6),
            ),
            WorkedStep(
                Quote("002", 9, "Attention matrix를 보면, 각 row의 합이 1이다."),
                Text(
                    f"sums of the rows: {numbers(rows)}; the farthest from 1",
                    f"행의 합: {numbers(rows)}. 1에서 가장 먼 것",
                ),
                float(rows[(rows - 1).abs().argmax()]),
                Noted("1", 1.0, 1e-6),
            ),
            WorkedStep(
                Quote("002", 10, "Softmax가 row-wise로 normalize하기 때문이다."),
                Text(
                    f"sums of the columns: {numbers(columns)}; softmax normalizes rows only",
                    f"열의 합: {numbers(columns)}. softmax는 행만 정규화합니다",
                ),
            ),
            WorkedStep(
                Quote("002", 12, "V의 각 row는 word-embedding이다."),
                Text(
                    f"the output of I: {numbers(output[0])}, the first row of the matrix; here "
                    "W_V is the identity, which makes the rows of V = X W_V the words themselves. "
                    "With a trained W_V they are not.",
                    f"I의 출력: {numbers(output[0])}, 곧 행렬의 첫 행입니다. 여기서는 W_V가 "
                    "단위행렬이어서 V = X W_V의 행이 단어 자체이지만, 학습한 W_V에서는 그렇지 "
                    "않습니다.",
                ),
            ),
        ),
        trace,
    )
