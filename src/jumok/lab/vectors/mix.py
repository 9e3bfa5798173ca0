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

from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.text import Text
from jumok.lab.vectors.reading import is_named, read_back, word_vectors

WEIGHT = 0.88  # of A in the note; B has the rest
WEIGHTS = (0.5, 0.6, 0.7, 0.8, WEIGHT, 0.95, 0.99)
READ_WIDTH, SAMPLES = 32, 20_000
WORDS, NAMED, WIDTH = 1000, 1000, 64
WIDTHS = (16, 32, 64, 128, 256, 512, 1024, 2048)
LONGER = 10.0  # times as long as A
NEAR = 0.05  # a share within this of the weight is the weight
LEAD = 0.1  # by this much more of A has to be read back than of B


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


def conditions(noted: Mixed, longer: Mixed) -> tuple[Condition, ...]:
    """More of the heavier one; as much as its weight; and so whatever its length."""

    def leads(mixed: Mixed) -> list[float]:
        return [a - b for a, b in zip(mixed.first, mixed.second, strict=True)]

    return (
        Condition(
            Text(
                "read back of A minus of B, weights 0.88 and 0.12", "A와 B의 R² 차이 (0.88, 0.12)"
            ),
            leads(noted),
            LEAD,
        ),
        Condition(
            Text("share of A, away from 0.88", "A의 R²와 0.88의 차이"),
            [abs(each - WEIGHT) for each in noted.first],
            NEAR,
            above=False,
            form=".3f",
        ),
        Condition(
            Text("share of B, away from 0.12", "B의 R²와 0.12의 차이"),
            [abs(each - (1.0 - WEIGHT)) for each in noted.second],
            NEAR,
            above=False,
            form=".3f",
        ),
        Condition(
            Text(
                f"A minus B where B is {LONGER:.0f} times as long",
                f"B가 {LONGER:.0f}배 길 때 A와 B의 R² 차이",
            ),
            leads(longer),
            LEAD,
        ),
    )


def report(by_weight: dict[float, Mixed], longer: Mixed, by_width: dict[int, Mixed]) -> Findings:
    """Shares by weight and names by width."""
    return Findings(
        columns=(
            Column(Text("sum", "합")),
            Column(Text("read back of A (R²)", "되읽은 A (R²)"), ".3f"),
            Column(Text("read back of B (R²)", "되읽은 B (R²)"), ".3f"),
            Column(Text("w² / (w² + (1 - w)²)", "w² / (w² + (1 - w)²)"), ".3f"),
            Column(Text("A named", "A를 알아맞힘"), ".1%"),
            Column(Text("B among the best two", "B가 상위 둘에 듦"), ".1%"),
        ),
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
                Text(f"0.88 A + 0.12 B, B {LONGER:.0f} times as long", f"B가 {LONGER:.0f}배 길 때"),
                mean(longer.first),
                mean(longer.second),
                None,
                None,
                None,
            ],
            *(
                [
                    Text(f"0.88 A + 0.12 B, width {width}", f"0.88 A + 0.12 B, 너비 {width}"),
                    *(None, None, None),
                    mean(m.first),
                    mean(m.second),
                ]
                for width, m in by_width.items()
            ),
        ],
        figures={
            "read_back": {str(weight): vars(mixed) for weight, mixed in by_weight.items()},
            "read_back_longer": vars(longer),
            "named": {str(width): vars(mixed) for width, mixed in by_width.items()},
        },
        conditions=conditions(by_weight[WEIGHT], longer),
        sentence=_sentence(by_weight[WEIGHT], longer, by_width),
        panels=_panels(by_weight, by_width),
    )


def _sentence(noted: Mixed, longer: Mixed, by_width: dict[int, Mixed]) -> Text:
    a, b = mean(noted.first), mean(noted.second)
    narrow, wide = (mean(by_width[width].second) for width in (WIDTH, WIDTHS[-1]))
    return Text(
        f"Of 0.88 A + 0.12 B the best linear map reads back {a:.1%} of A and {b:.1%} of B: the "
        "squares of the weights count, so 88 and 12 are shares of the vector's length along A and "
        f"B, not of information. Where B is {LONGER:.0f} times as long, {mean(longer.first):.0%} "
        f"of A and {mean(longer.second):.0%} of B are read back. And 12% may be enough to name the "
        f"word: B is among the best two of {WORDS:,} words in {narrow:.0%} of the sums at width "
        f"{WIDTH} and in {wide:.0%} at width {WIDTHS[-1]}.",
        f"0.88 A + 0.12 B에서 가장 좋은 선형 사상으로 되읽을 수 있는 것은 A의 {a:.1%}, B의 "
        f"{b:.1%}입니다. 가중치의 제곱에 비례하므로 88과 12는 A와 B 방향으로의 길이의 비율이지 "
        f"정보의 비율이 아닙니다. B의 길이가 {LONGER:.0f}배이면 A는 {mean(longer.first):.0%}, B는 "
        f"{mean(longer.second):.0%}를 되읽습니다. 12%만으로도 단어를 알아맞힐 수 있습니다. 단어 "
        f"{WORDS:,}개 중 B가 상위 둘에 드는 비율은 너비 {WIDTH}에서 {narrow:.0%}, 너비 "
        f"{WIDTHS[-1]}에서 {wide:.0%}입니다.",
    )


def _panels(by_weight: dict[float, Mixed], by_width: dict[int, Mixed]) -> tuple[Chart, ...]:
    weights = [float(weight) for weight in by_weight]
    a, b = Text("A", "A"), Text("B", "B")
    return (
        Chart(
            Text("What is read back of both", "두 벡터를 되읽은 정도"),
            Text("weight of A", "A의 가중치"),
            Text("R²", "R²"),
            (
                Series(a, [(w, mean(m.first)) for w, m in by_weight.items()]),
                Series(b, [(w, mean(m.second)) for w, m in by_weight.items()]),
                Series(Text("A as the note says", "노트대로라면 A"), [(w, w) for w in weights]),
                Series(Text("B as the note says", "노트대로라면 B"), [(w, 1 - w) for w in weights]),
            ),
            least=0.0,
            most=1.0,
        ),
        Chart(
            Text("Named from 0.88 A + 0.12 B", "0.88 A + 0.12 B에서 알아맞힌 비율"),
            Text("width of the vectors", "벡터의 너비"),
            Text(f"share of sums ({WORDS:,} words)", f"비율 (단어 {WORDS:,}개)"),
            (
                Series(a, [(float(w), mean(m.first)) for w, m in by_width.items()]),
                Series(
                    Text("B, among the best two", "B, 상위 둘"),
                    [(float(w), mean(m.second)) for w, m in by_width.items()],
                ),
            ),
            log_x=True,
            least=0.0,
            most=1.05,
        ),
    )
