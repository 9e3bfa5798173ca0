"""One vector of 256, 512 or 1,024 numbers for a sentence of any length: how much does it hold?

The encoder is the simplest RNN that forgets nothing by itself, h_t = R h_{t-1} + e(x_t) with a
random orthogonal R (a permutation with signs), so that every word is as strong in the last state as
any other. What is read back is the word that fits best at each place, e(s)·R^-(T - i) h_T. Words
are drawn at random: a sentence has more structure, and a trained network uses it; how the limit
moves with length and width is the same. The theory gives the share of right words:

    p = ∫ φ(x - √(d / T)) Φ(x)^(V - 1) dx

for width d, T words and a vocabulary of V, so what decides is d / T alone. With attention there is
a vector for each word, and a query for a place reads this one.

Source: lecture 004; Frady et al. 2018, A theory of sequence indexing and working memory in
recurrent neural networks, section 2.2; White et al. 2004.
"""

import math
from dataclasses import dataclass

import torch

from jumok.lab.findings import Chart, Column, Findings, Series, Setting, TableCell
from jumok.lab.judging import Condition, mean, spread
from jumok.lab.text import Text, same
from jumok.shapes import Float, Int, Tensor

WIDTHS = (256, 512, 1024)  # the note's
LENGTHS = (4, 8, 16, 32, 64, 128, 256)
WORDS, SENTENCES = 32, 40
HELD = 0.9  # share of right words up to which a sentence counts as held
TIMES = 3.0  # four times the width must hold more than so many times the words
SHARP = 30.0  # scores of attention: those of another place are about SHARP / √d


@dataclass(frozen=True)
class Recalled:
    """Share of right words, one number a seed, by length.

    Attributes:
        one: from the last state.
        attended: with attention over one vector a word.
    """

    one: dict[int, list[float]]
    attended: dict[int, list[float]]

    def held(self) -> list[float]:
        """The length up to which HELD of the words are right, one a seed; between two lengths
        along a line over the logarithm of the length.
        """
        seeds = range(len(self.one[LENGTHS[0]]))
        return [_crossing([self.one[length][seed] for length in LENGTHS]) for seed in seeds]


def _crossing(shares: list[float]) -> float:
    for place in range(1, len(shares)):
        above, below = shares[place - 1], shares[place]
        if above >= HELD > below:
            part = (above - HELD) / (above - below)
            return float(LENGTHS[place - 1] * (LENGTHS[place] / LENGTHS[place - 1]) ** part)
    return float(LENGTHS[-1] if shares[-1] >= HELD else LENGTHS[0])


def expected(width: int, length: int) -> float:
    """The share of right words by the formula."""
    normal = torch.distributions.Normal(0.0, 1.0)
    x = torch.linspace(-10.0, 10.0 + math.sqrt(width / length), 4001, dtype=torch.float64)
    density = normal.log_prob(x - math.sqrt(width / length)).exp() * normal.cdf(x) ** (WORDS - 1)
    return float(torch.trapezoid(density, x))


class Folding:
    """h_t = R h_{t-1} + e(x_t).

    Args:
        width: of h.
        generator: draws R and the words' vectors.
    """

    def __init__(self, width: int, generator: torch.Generator) -> None:
        def signs(*shape: int) -> Tensor:
            return 2.0 * torch.randint(2, shape, generator=generator) - 1.0

        self.vectors = signs(WORDS, width)
        self.order = torch.randperm(width, generator=generator)
        self.signs = signs(width)

    def turned(self, states: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes dim"]:
        """R h."""
        return (states * self.signs)[..., self.order]

    def last_state(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch dim"]:
        """h_T."""
        state = torch.zeros(len(words), self.vectors.shape[1])
        for place in range(words.shape[1]):
            state = self.turned(state) + self.vectors[words[:, place]]
        return state

    def recalled(
        self, state: Float[Tensor, "batch dim"], length: int
    ) -> Int[Tensor, "batch length"]:
        """The word that fits best at each place."""
        vectors, found = self.vectors, []
        for _ in range(length):  # from the last word backwards
            found.append((state @ vectors.T).argmax(-1))
            vectors = self.turned(vectors)
        return torch.stack(found[::-1], dim=1)


def attend(
    folding: Folding, words: Int[Tensor, "batch length"], generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """The words that a query for each place reads: keys are codes of places, values words."""
    width = folding.vectors.shape[1]
    places = torch.randn(words.shape[1], width, generator=generator)
    places = places / places.norm(dim=-1, keepdim=True)
    weights = (SHARP * places @ places.T).softmax(-1)
    return (weights @ folding.vectors[words] @ folding.vectors.T).argmax(-1)


def recall(width: int, seeds: tuple[int, ...]) -> Recalled:
    """Every length."""
    one: dict[int, list[float]] = {length: [] for length in LENGTHS}
    attended: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        folding = Folding(width, generator)
        for length in LENGTHS:
            words = torch.randint(WORDS, (SENTENCES, length), generator=generator)
            found = folding.recalled(folding.last_state(words), length)
            one[length].append(float((found == words).double().mean()))
            read = attend(folding, words, generator)
            attended[length].append(float((read == words).double().mean()))
    return Recalled(one, attended)


def run(setting: Setting) -> Findings:
    """The note's three widths."""
    return report({width: recall(width, setting.seeds) for width in WIDTHS})


def conditions(found: dict[int, Recalled]) -> tuple[Condition, ...]:
    """The vector's size does not depend on the length, and what it holds does."""
    widest, narrowest = found[WIDTHS[-1]], found[WIDTHS[0]]
    longest = LENGTHS[-1]
    times = [a / b for a, b in zip(widest.held(), narrowest.held(), strict=True)]
    return (
        Condition(
            Text(
                f"{WIDTHS[-1]} numbers, {longest} words: right words",
                f"수 {WIDTHS[-1]}개, 단어 {longest}개: 바른 단어",
            ),
            widest.one[longest],
            HELD,
            above=False,
        ),
        Condition(
            Text(
                f"{WIDTHS[0]} numbers, {LENGTHS[1]} words: right words",
                f"수 {WIDTHS[0]}개, 단어 {LENGTHS[1]}개: 바른 단어",
            ),
            narrowest.one[LENGTHS[1]],
            HELD,
        ),
        Condition(
            Text(
                "words held by 1,024 numbers over those by 256",
                "1,024개와 256개가 담는 단어 수의 비",
            ),
            times,
            TIMES,
        ),
        Condition(
            Text(
                f"attention, {WIDTHS[0]} numbers a word, {longest} words",
                f"어텐션, 단어마다 수 {WIDTHS[0]}개, 단어 {longest}개",
            ),
            narrowest.attended[longest],
            HELD,
        ),
    )


def report(found: dict[int, Recalled]) -> Findings:
    """A row for each width and length."""
    rows: list[list[TableCell]] = [
        [
            width,
            length,
            mean(each.one[length]),
            spread(each.one[length]),
            expected(width, length),
            mean(each.attended[length]),
        ]
        for width, each in found.items()
        for length in LENGTHS
    ]
    held = {width: each.held() for width, each in found.items()}
    return Findings(
        columns=(
            Column(Text("width", "너비"), "d"),
            Column(Text("words", "단어 수"), "d"),
            Column(Text("right words, one vector", "바른 단어, 벡터 하나"), ".1%"),
            Column(Text("± over seeds", "시드 간 ±"), ".1%"),
            Column(Text("by theory", "이론"), ".1%"),
            Column(Text("with attention", "어텐션"), ".1%"),
        ),
        rows=rows,
        figures={
            "right": {str(width): vars(each) for width, each in found.items()},
            "held": {str(width): seeds for width, seeds in held.items()},
        },
        conditions=conditions(found),
        sentence=_sentence({width: mean(seeds) for width, seeds in held.items()}, found),
        panels=(
            Chart(
                Text("Words read back from one vector", "벡터 하나에서 되읽은 단어"),
                Text("words", "단어 수"),
                Text("right words", "바른 단어"),
                [
                    *(
                        Series(
                            Text(f"{width} numbers", f"수 {width}개"),
                            [(float(length), mean(each.one[length])) for length in LENGTHS],
                        )
                        for width, each in found.items()
                    ),
                    Series(
                        Text(f"attention, {WIDTHS[0]} a word", f"어텐션, 단어마다 {WIDTHS[0]}개"),
                        [(float(n), mean(found[WIDTHS[0]].attended[n])) for n in LENGTHS],
                    ),
                ],
                log_x=True,
                least=0.0,
                most=1.05,
                marks=((same(f"{HELD:.0%}"), HELD),),
            ),
        ),
    )


def _sentence(held: dict[int, float], found: dict[int, Recalled]) -> Text:
    words = [f"{held[width]:.0f}" for width in WIDTHS]
    longest = LENGTHS[-1]
    left = mean(found[WIDTHS[-1]].one[longest])
    attended = mean(found[WIDTHS[0]].attended[longest])
    return Text(
        f"256, 512 and 1,024 numbers hold {', '.join(words[:2])} and {words[2]} random words of a "
        f"vocabulary of {WORDS} ({HELD:.0%} right): the vector's size does not depend on the "
        f"length, and so what it holds is a fixed amount, in proportion to its width. Of {longest} "
        f"words 1,024 numbers give {left:.0%} back; with attention, one vector of {WIDTHS[0]} a "
        f"word, it is {attended:.0%}.",
        f"수 256, 512, 1,024개는 단어장이 {WORDS}개일 때 무작위 단어를 각각 "
        f"{', '.join(words)}개까지 담습니다({HELD:.0%} 정답). 벡터의 크기가 길이와 상관없으므로 "
        f"담을 수 있는 양도 정해져 있고, 그 양은 너비에 비례합니다. 단어 {longest}개에서 "
        f"1,024개의 수는 {left:.0%}를 되돌려 주고, 단어마다 수 {WIDTHS[0]}개를 두는 어텐션은 "
        f"{attended:.0%}를 되돌려 줍니다.",
    )
