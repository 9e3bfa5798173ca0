"""A weighted sum keeps 88 % of A and 12 % of B: of which measure of information?

The note calls the weights the shares of information. Tried: how much of each vector the best
linear map reads back out of the sum (R²), whether the two words can be named from it, and what
happens where B is longer than A.

For independent vectors of equal variance R² is w² / (w² + (1 - w)²), so 0.98 and 0.02 at 0.88: the
squares of the weights count. Naming is another matter: in a wide space a share of 12 % is enough.

Source: lecture 003; R² of independent summands: elementary; that lengths count as much as weights:
Kobayashi et al. 2020, Attention is not only a weight.
"""

from dataclasses import dataclass

import torch

from jumok_lectures.findings import Chart, Findings, Series, Setting
from jumok_lectures.judging import differences, mean
from jumok_lectures.texts import Texts
from jumok_lectures.vectors.reading import is_named, read_back, word_vectors

T = Texts("mix")

WEIGHT = 0.88  # of A in the note; B has the rest
WEIGHTS = (0.5, 0.6, 0.7, 0.8, WEIGHT, 0.95, 0.99)
READ_WIDTH, SAMPLES = 32, 20_000
WORDS, NAMED, WIDTH = 1000, 1000, 64
WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
LONGER = 10.0  # times as long as A


@dataclass(frozen=True)
class Mixed:
    """What can be read back of the two vectors of a sum, one number a seed."""

    first: list[float]
    second: list[float]

    @property
    def means(self) -> tuple[float, float]:
        """Of both."""
        return mean(self.first), mean(self.second)


def shares(weight: float, length: float, seeds: tuple[int, ...]) -> Mixed:
    """R² of A and of B in weight * A + (1 - weight) * B, where B is `length` times as long."""
    pairs = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randn(2, SAMPLES, READ_WIDTH, generator=generator)
        mixed = weight * first + (1.0 - weight) * length * second
        pairs.append((read_back(mixed, first), read_back(mixed, second)))
    return Mixed(*map(list, zip(*pairs, strict=True)))


def expected(weight: float) -> float:
    """R² of A by theory."""
    return weight**2 / (weight**2 + (1.0 - weight) ** 2)


def named(width: int, seeds: tuple[int, ...]) -> Mixed:
    """How often A is the best named of all words, and B among the best two."""
    shares = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        vectors = word_vectors(generator, WORDS, width)
        pairs = torch.stack([torch.randperm(WORDS, generator=generator)[:2] for _ in range(NAMED)])
        first, second = pairs.T
        mixed = WEIGHT * vectors[first] + (1.0 - WEIGHT) * vectors[second]
        shares.append((is_named(mixed, vectors, first), is_named(mixed, vectors, second, among=2)))
    return Mixed(*map(list, zip(*shares, strict=True)))


def run(setting: Setting) -> Findings:
    """All weights, all widths, and a longer B."""
    by_weight = {weight: shares(weight, 1.0, setting.seeds) for weight in WEIGHTS}
    longer = shares(WEIGHT, LONGER, setting.seeds)
    by_width = {width: named(width, setting.seeds) for width in WIDTHS}
    noted = by_weight[WEIGHT]
    return T.findings(
        rows=[
            *(
                [f"{w:.2f} A + {1 - w:.2f} B", *each.means, expected(w), None, None]
                for w, each in by_weight.items()
            ),
            [T("n0_88_a_0", longer=LONGER), *longer.means, None, None, None],
            *(
                [T("n0_88_a_0_2", width=width), None, None, None, *each.means]
                for width, each in by_width.items()
            ),
        ],
        figures={
            "read_back": {str(weight): vars(each) for weight, each in by_weight.items()},
            "read_back_longer": vars(longer),
            "named": {str(width): vars(each) for width, each in by_width.items()},
        },
        conditions=[
            T.condition("read_back_of_a", differences(noted.first, noted.second)),
            T.condition("share_of_a_away", [abs(each - WEIGHT) for each in noted.first]),
            T.condition("share_of_b_away", [abs(each - (1.0 - WEIGHT)) for each in noted.second]),
            T.condition("a_minus_b_where", differences(longer.first, longer.second), longer=LONGER),
        ],
        panels=_panels(by_weight, by_width),
        noted=noted.means,
        longer=LONGER,
        stretched=longer.means,
        words=WORDS,
        narrow=by_width[WIDTH].means[1],
        width=WIDTH,
        wide=by_width[WIDTHS[-1]].means[1],
        widths_last=WIDTHS[-1],
    )


def _panels(by_weight: dict[float, Mixed], by_width: dict[int, Mixed]) -> list[Chart]:
    a, b = T("a"), T("b")
    return [
        T.chart(
            [
                Series(a, [(w, each.means[0]) for w, each in by_weight.items()]),
                Series(b, [(w, each.means[1]) for w, each in by_weight.items()]),
                Series(T("a_as_the_note"), [(w, w) for w in WEIGHTS]),
                Series(T("b_as_the_note"), [(w, 1 - w) for w in WEIGHTS]),
            ],
            least=0.0,
            most=1.0,
        ),
        T.chart(
            [
                Series(name, [(float(w), each.means[at]) for w, each in by_width.items()])
                for at, name in enumerate((a, T("b_among_the_best")))
            ],
            "_2",
            y=T("chart_y_2", words=WORDS),
            log_x=True,
            least=0.0,
            most=1.05,
        ),
    ]
