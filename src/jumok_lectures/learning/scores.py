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
from collections.abc import Sequence

import torch
from torch import nn

from jumok.attention.interfaces import ScoreFunction
from jumok.attention.scores import AdditiveScore, BilinearScore, DotScore, ScaledDotScore
from jumok.training.precision import one_thread
from jumok_lectures.findings import Chart, Findings, Series, Setting
from jumok_lectures.fitting import fit
from jumok_lectures.judging import differences, mean, spread
from jumok_lectures.texts import Texts

T = Texts("scores")

WORDS, KEYS, LABELS = 64, 16, 8
WIDTHS = (8, 32, 128)
RATE, BATCH, TESTED = 5e-3, 64, 500
SCORES = {
    "dot": DotScore,
    "scaled-dot": ScaledDotScore,
    "bilinear": BilinearScore,
    "additive": AdditiveScore,
}
NAMES = T.named("names")
PLACES = T.named("places")


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


def answers(score: str, place: str, width: int, seed: int, steps: int) -> float:
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
        with one_thread():
            fit(parameters, loss, steps, RATE)
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


def run(setting: Setting, widths: Sequence[int] = WIDTHS, steps: int = 300) -> Findings:
    """Every score at every width, in both places."""
    right: dict[tuple[str, str, int], list[float]] = {}
    for place, score, width in itertools.product(PLACES, SCORES, widths):
        setting.say(f"training: {NAMES[score].en}, {PLACES[place].en}, width {width}")
        right[place, score, width] = [
            answers(score, place, width, seed, steps) for seed in setting.seeds
        ]
    widest = max(widths)

    def shares(place: str, width: int) -> dict[str, float]:
        return {score: mean(right[place, score, width]) for score in SCORES}

    def gain(place: str, score: str) -> list[float]:
        return differences(right[place, "additive", widest], right[place, score, widest])

    def chart(place: str) -> Chart:
        series = {
            score: {width: right[place, score, width] for width in widths} for score in SCORES
        }
        return T.chart(
            [Series.of_seeds(NAMES[score], points) for score, points in series.items()],
            title=PLACES[place],
            log_x=True,
            least=0.0,
            most=1.05,
            marks=((T("chance"), math.exp(-math.log(KEYS))),),
        )

    return T.findings(
        rows=[
            [
                PLACES[place],
                NAMES[score],
                width,
                mean(own),
                spread(own),
                multiplications(score, place, width),
            ]
            for (place, score, width), own in right.items()
        ],
        figures={f"{place}, {score}, {width}": own for (place, score, width), own in right.items()},
        conditions=[
            T.condition("behind_w_q_and", gain("projected", "scaled-dot")),
            T.condition("q_k_d_right", right["projected", "scaled-dot", widest]),
            T.condition("as_they_are_additive", gain("plain", "dot")),
        ],
        panels=[chart(place) for place in PLACES],
        widest=widest,
        steps=steps,
        plain=shares("plain", widest),
        keys=1 / KEYS,
        behind=shares("projected", widest),
        more=multiplications("additive", "projected", widest)
        / multiplications("scaled-dot", "projected", widest),
        narrowest=min(widths),
        narrow=shares("projected", min(widths)),
    )
