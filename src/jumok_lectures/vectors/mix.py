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
from jumok_lectures.judging import mean
from jumok_lectures.text import Text
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


def shares(weight: float, length: float, seeds: tuple[int, ...]) -> Mixed:
    """R² of A and of B in weight * A + (1 - weight) * B, where B is `length` times as long."""
    found = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        first, second = torch.randn(2, SAMPLES, READ_WIDTH, generator=generator)
        mixed = weight * first + (1.0 - weight) * length * second
        found.append((read_back(mixed, first), read_back(mixed, second)))
    return Mixed([each[0] for each in found], [each[1] for each in found])


def expected(weight: float) -> float:
    """R² of A by theory."""
    return weight**2 / (weight**2 + (1.0 - weight) ** 2)


def named(width: int, seeds: tuple[int, ...]) -> Mixed:
    """How often A is the best named of all words, and B among the best two."""
    found = []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        vectors = word_vectors(generator, WORDS, width)
        pairs = torch.stack([torch.randperm(WORDS, generator=generator)[:2] for _ in range(NAMED)])
        first, second = pairs.T
        mixed = WEIGHT * vectors[first] + (1.0 - WEIGHT) * vectors[second]
        found.append((is_named(mixed, vectors, first), is_named(mixed, vectors, second, among=2)))
    return Mixed([each[0] for each in found], [each[1] for each in found])


def run(setting: Setting) -> Findings:
    """All weights, all widths, and a longer B."""
    by_weight = {weight: shares(weight, 1.0, setting.seeds) for weight in WEIGHTS}
    longer = shares(WEIGHT, LONGER, setting.seeds)
    by_width = {width: named(width, setting.seeds) for width in WIDTHS}
    return report(by_weight, longer, by_width)


def report(by_weight: dict[float, Mixed], longer: Mixed, by_width: dict[int, Mixed]) -> Findings:
    """Shares by weight and names by width."""
    noted = by_weight[WEIGHT]

    def leads(mixed: Mixed) -> list[float]:
        return [a - b for a, b in zip(mixed.first, mixed.second, strict=True)]

    return Findings(
        columns=T.columns,
        rows=[
            *(
                [
                    f"{w:.2f} A + {1 - w:.2f} B",
                    mean(m.first),
                    mean(m.second),
                    expected(w),
                    None,
                    None,
                ]
                for w, m in by_weight.items()
            ),
            [
                T("n0_88_a_0", longer=LONGER),
                mean(longer.first),
                mean(longer.second),
                None,
                None,
                None,
            ],
            *(
                [T("n0_88_a_0_2", width=width), *(None, None, None), mean(m.first), mean(m.second)]
                for width, m in by_width.items()
            ),
        ],
        figures={
            "read_back": {str(weight): vars(mixed) for weight, mixed in by_weight.items()},
            "read_back_longer": vars(longer),
            "named": {str(width): vars(mixed) for width, mixed in by_width.items()},
        },
        conditions=(
            T.condition("read_back_of_a", leads(noted)),
            T.condition("share_of_a_away", [abs(each - WEIGHT) for each in noted.first]),
            T.condition("share_of_b_away", [abs(each - (1.0 - WEIGHT)) for each in noted.second]),
            T.condition("a_minus_b_where", leads(longer), longer=LONGER),
        ),
        sentence=_sentence(by_weight[WEIGHT], longer, by_width),
        panels=_panels(by_weight, by_width),
    )


def _sentence(noted: Mixed, longer: Mixed, by_width: dict[int, Mixed]) -> Text:
    a, b = mean(noted.first), mean(noted.second)
    narrow, wide = (mean(by_width[width].second) for width in (WIDTH, WIDTHS[-1]))
    return T(
        "sentence",
        a=a,
        b=b,
        longer=LONGER,
        first=mean(longer.first),
        second=mean(longer.second),
        words=WORDS,
        narrow=narrow,
        width=WIDTH,
        wide=wide,
        widths_last=WIDTHS[-1],
    )


def _panels(by_weight: dict[float, Mixed], by_width: dict[int, Mixed]) -> tuple[Chart, ...]:
    weights = [float(weight) for weight in by_weight]
    a, b = T("a"), T("b")
    return (
        T.chart(
            (
                Series(a, [(w, mean(m.first)) for w, m in by_weight.items()]),
                Series(b, [(w, mean(m.second)) for w, m in by_weight.items()]),
                Series(T("a_as_the_note"), [(w, w) for w in weights]),
                Series(T("b_as_the_note"), [(w, 1 - w) for w in weights]),
            ),
            least=0.0,
            most=1.0,
        ),
        Chart(
            T("chart_title_2"),
            T("chart_x_2"),
            T("chart_y_2", words=WORDS),
            (
                Series(a, [(float(w), mean(m.first)) for w, m in by_width.items()]),
                Series(
                    T("b_among_the_best"), [(float(w), mean(m.second)) for w, m in by_width.items()]
                ),
            ),
            log_x=True,
            least=0.0,
            most=1.05,
        ),
    )
