"""Which score function: a dot product, one divided by √d, a matrix, or a small network?

One attention has to find, among 16 keys, the one that belongs to its query: both are vectors of
the same word, from two tables that have nothing to do with each other (like the states of an
encoder and a decoder in two languages). All scores are those of `jumok.attention.scores`. They are
tried on the vectors as they are, as in the RNNs of lectures 000 and 004, and behind W_Q and W_K, as
in a Transformer, by the width of the vectors.

Source: Luong et al. 2015, section 3.1; Bahdanau et al. 2015, appendix A.1.2; Vaswani et al. 2017,
section 3.2.1 (additive attention does better than products without the division for large d_k);
Britz et al. 2017, section 4.5.
"""

import itertools
import math
from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.interfaces import ScoreFunction
from jumok.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from jumok.lab.findings import Chart, Column, Findings, Series, Setting, TableCell
from jumok.lab.judging import Condition, differences, mean, spread
from jumok.lab.learning.fitting import fit
from jumok.lab.text import Text

WORDS, KEYS, LABELS = 64, 16, 8
WIDTHS = (8, 32, 128)
WIDEST = WIDTHS[-1]
STEPS, RATE, BATCH, TESTED = 300, 5e-3, 64, 500
SCORES = {
    "dot": DotScore,
    "scaled-dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "additive": AdditiveScore,
}
NAMES = {
    "dot": Text("q·k", "q·k"),
    "scaled-dot": Text("q·k / √d", "q·k / √d"),
    "bilinear": Text("q W k", "q W k"),
    "additive": Text("v·tanh(W q + U k)", "v·tanh(W q + U k)"),
}
PLACES = {
    "plain": Text("the vectors as they are", "벡터 그대로"),
    "projected": Text("behind W_Q and W_K", "W_Q, W_K를 지나서"),
}
AS_GOOD, LOST = 0.05, 0.5  # within so much of the right answers; a score that learns nothing


@dataclass(frozen=True)
class RightKeys:
    """Right answers of one score, one number a seed."""

    right: list[float]


class Finder(nn.Module):
    """Attention over keys with a label each; the label of the query's word is asked for.

    Args:
        score: one of SCORES.
        projected: whether W_Q and W_K come before it.
    """

    def __init__(self, score: str, width: int, projected: bool) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False) if projected else nn.Identity()
        self.key = nn.Linear(width, width, bias=False) if projected else nn.Identity()
        self.score: ScoreFunction = SCORES[score](width, width)

    def forward(self, queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Weights (batch key) of one query each."""
        asked = self.score.queries(self.query(queries)[:, None])
        return self.score(asked, self.score.keys(self.key(keys)))[:, 0].softmax(-1)


def answers(score: str, place: str, width: int, seed: int) -> float:
    """Share of test queries whose own key has the most weight, after training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        finder = Finder(score, width, place == "projected")
    generator = torch.Generator().manual_seed(seed)
    asking, asked = torch.randn(2, WORDS, width, generator=generator)

    def draw(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        words = torch.rand(count, WORDS, generator=generator).topk(KEYS).indices
        own = torch.randint(KEYS, (count,), generator=generator)
        return asking[words.gather(1, own[:, None])[:, 0]], asked[words], own

    def loss() -> torch.Tensor:
        queries, keys, own = draw(BATCH)
        labels = torch.randint(LABELS, (BATCH, KEYS), generator=generator)
        rows = torch.arange(BATCH)
        same = labels == labels[rows, own][:, None]
        return -(finder(queries, keys) * same).sum(-1).clamp(min=1e-9).log().mean()

    parameters = list(finder.parameters())
    if parameters:  # a dot product of the vectors as they are has none
        fit(parameters, loss, STEPS, RATE)
    with torch.no_grad():
        queries, keys, own = draw(TESTED)
        return float((finder(queries, keys).argmax(-1) == own).double().mean())


def multiplications(score: str, place: str, width: int) -> int:
    """Of one query with KEYS keys, which have to be transformed as well; tanh is not counted."""
    per_pair = width * KEYS
    if score == "bilinear":
        per_pair += width * width * KEYS
    if score == "additive":
        per_pair += width * width * (KEYS + 1)
    return per_pair + (width * width * (KEYS + 1) if place == "projected" else 0)


def run(setting: Setting) -> Findings:
    """Every score at every width, in both places."""
    found: dict[tuple[str, str, int], RightKeys] = {}
    for place, score, width in itertools.product(PLACES, SCORES, WIDTHS):
        setting.say(f"training: {NAMES[score].en}, {PLACES[place].en}, width {width}")
        right = [answers(score, place, width, seed) for seed in setting.seeds]
        found[place, score, width] = RightKeys(right)
    return report(found)


def conditions(found: dict[tuple[str, str, int], RightKeys]) -> tuple[Condition, ...]:
    """The product may replace the network where it has matrices and is divided."""

    def right(place: str, score: str) -> list[float]:
        return found[place, score, WIDEST].right

    return (
        Condition(
            Text("behind W_Q and W_K: additive minus q·k / √d", "W_Q, W_K 뒤: 네트워크 - q·k / √d"),
            differences(right("projected", "additive"), right("projected", "scaled-dot")),
            AS_GOOD,
            above=False,
        ),
        Condition(
            Text("q·k / √d, right answers", "q·k / √d의 정답률"),
            right("projected", "scaled-dot"),
            LOST,
        ),
        Condition(
            Text("as they are: additive minus q·k", "벡터 그대로: 네트워크 - q·k"),
            differences(right("plain", "additive"), right("plain", "dot")),
            AS_GOOD,
            above=False,
        ),
    )


def report(found: dict[tuple[str, str, int], RightKeys]) -> Findings:
    """A row for each score in each place."""
    rows: list[list[TableCell]] = [
        [
            PLACES[place],
            NAMES[score],
            width,
            mean(each.right),
            spread(each.right),
            multiplications(score, place, width),
        ]
        for (place, score, width), each in found.items()
    ]
    return Findings(
        columns=(
            Column(Text("vectors", "벡터")),
            Column(Text("score", "점수")),
            Column(Text("width", "너비"), "d"),
            Column(Text("right key", "바른 키"), ".0%"),
            Column(Text("± over seeds", "시드 간 ±"), ".0%"),
            Column(Text("multiplications a query", "쿼리당 곱셈"), ",d"),
        ),
        rows=rows,
        figures={
            f"{place}, {score}, {width}": each.right
            for (place, score, width), each in found.items()
        },
        conditions=conditions(found),
        sentence=_sentence(found),
        panels=[_chart(place, found) for place in PLACES],
    )


def _sentence(found: dict[tuple[str, str, int], RightKeys]) -> Text:
    def shares(place: str, width: int) -> dict[str, str]:
        return {score: format(mean(found[place, score, width].right), ".0%") for score in SCORES}

    plain, behind = shares("plain", WIDEST), shares("projected", WIDEST)
    narrow = shares("projected", WIDTHS[0])
    more = multiplications("additive", "projected", WIDEST) / multiplications(
        "scaled-dot", "projected", WIDEST
    )
    return Text(
        f"At width {WIDEST}, after {STEPS} steps: of the vectors as they are the product finds "
        f"{plain['dot']} of the keys (chance: {1 / KEYS:.0%}; it has nothing to learn), with a "
        f"matrix {plain['bilinear']}, the small network {plain['additive']}. Behind W_Q and W_K "
        f"q·k finds {behind['dot']}, q·k / √d {behind['scaled-dot']}, the network "
        f"{behind['additive']} with {more:.1f} times the multiplications: there the product may "
        "replace the network. In narrow vectors the network finds more: at width "
        f"{WIDTHS[0]} {narrow['additive']} against {narrow['scaled-dot']}.",
        f"너비 {WIDEST}, {STEPS}단계 학습 후: 벡터 그대로일 때 바른 키를 찾는 비율은 내적 "
        f"{plain['dot']}(우연: {1 / KEYS:.0%}, 배울 것이 없음), 행렬이 있으면 "
        f"{plain['bilinear']}, 작은 신경망은 {plain['additive']}입니다. W_Q와 W_K를 지나면 q·k "
        f"{behind['dot']}, q·k / √d {behind['scaled-dot']}, 신경망 {behind['additive']}이고 "
        f"신경망의 곱셈은 {more:.1f}배입니다. 이때는 신경망을 내적으로 바꾸어도 됩니다. 좁은 "
        f"벡터에서는 신경망이 낫습니다. 너비 {WIDTHS[0]}에서 {narrow['additive']} 대 "
        f"{narrow['scaled-dot']}입니다.",
    )


def _chart(place: str, found: dict[tuple[str, str, int], RightKeys]) -> Chart:
    series = [
        Series(
            NAMES[score],
            [(float(width), mean(found[place, score, width].right)) for width in WIDTHS],
            low=[min(found[place, score, width].right) for width in WIDTHS],
            high=[max(found[place, score, width].right) for width in WIDTHS],
        )
        for score in SCORES
    ]
    return Chart(
        PLACES[place],
        Text("width of the vectors", "벡터의 너비"),
        Text("right key", "바른 키"),
        series,
        log_x=True,
        least=0.0,
        most=1.05,
        marks=((Text("chance", "우연"), math.exp(-math.log(KEYS))),),
    )
