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

from jumok.shapes import Float, Int, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import Condition, mean, spread
from jumok_lectures.text import same
from jumok_lectures.texts import Texts

T = Texts("width")

WIDTHS = (256, 512, 1024)  # the note's
LENGTHS = (4, 8, 16, 32, 64, 128, 256)
WORDS = 32
HELD = T.bound("widths_0_numbers_lengths")  # right words up to which a sentence counts as held
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
        vectors, best = self.vectors, []
        for _ in range(length):  # from the last word backwards
            best.append((state @ vectors.T).argmax(-1))
            vectors = self.turned(vectors)
        return torch.stack(best[::-1], dim=1)


def attend(
    folding: Folding, words: Int[Tensor, "batch length"], generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """The words that a query for each place reads: keys are codes of places, values words."""
    width = folding.vectors.shape[1]
    places = torch.randn(words.shape[1], width, generator=generator)
    places = places / places.norm(dim=-1, keepdim=True)
    weights = (SHARP * places @ places.T).softmax(-1)
    return (weights @ folding.vectors[words] @ folding.vectors.T).argmax(-1)


def recall(width: int, seeds: tuple[int, ...], sentences: int) -> Recalled:
    """Every length."""
    one: dict[int, list[float]] = {length: [] for length in LENGTHS}
    attended: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        folding = Folding(width, generator)
        for length in LENGTHS:
            words = torch.randint(WORDS, (sentences, length), generator=generator)
            best = folding.recalled(folding.last_state(words), length)
            one[length].append(float((best == words).double().mean()))
            read = attend(folding, words, generator)
            attended[length].append(float((read == words).double().mean()))
    return Recalled(one, attended)


def run(setting: Setting, sentences: int = 40) -> Findings:
    """The note's three widths."""
    by_width = {width: recall(width, setting.seeds, sentences) for width in WIDTHS}
    held = {width: each.held() for width, each in by_width.items()}
    narrowest, widest = by_width[WIDTHS[0]], by_width[WIDTHS[-1]]
    longest = LENGTHS[-1]

    def points(shares: dict[int, list[float]]) -> list[tuple[float, float]]:
        return [(float(length), mean(shares[length])) for length in LENGTHS]

    return T.findings(
        rows=[
            [
                width,
                length,
                mean(each.one[length]),
                spread(each.one[length]),
                expected(width, length),
                mean(each.attended[length]),
            ]
            for width, each in by_width.items()
            for length in LENGTHS
        ],
        figures={
            "right": {str(width): vars(each) for width, each in by_width.items()},
            "held": {str(width): seeds for width, seeds in held.items()},
        },
        conditions=_conditions(narrowest, widest),
        panels=[
            T.chart(
                [
                    *(
                        Series(T("width_numbers", width=width), points(each.one))
                        for width, each in by_width.items()
                    ),
                    Series(T("attention_widths_0_a", widths=WIDTHS), points(narrowest.attended)),
                ],
                log_x=True,
                least=0.0,
                most=1.05,
                marks=((same(f"{HELD:.0%}"), HELD),),
            )
        ],
        words=[mean(seeds) for seeds in held.values()],
        vocabulary=WORDS,
        held=HELD,
        longest=longest,
        left=mean(widest.one[longest]),
        widths=WIDTHS,
        attended=mean(narrowest.attended[longest]),
        stored=longest * WIDTHS[0],
    )


def _conditions(narrowest: Recalled, widest: Recalled) -> list[Condition]:
    longest = LENGTHS[-1]
    times = [a / b for a, b in zip(widest.held(), narrowest.held(), strict=True)]
    return [
        T.condition(
            "widths_last_numbers_longest",
            widest.one[longest],
            widths_last=WIDTHS[-1],
            longest=longest,
        ),
        T.condition(
            "widths_0_numbers_lengths",
            narrowest.one[LENGTHS[1]],
            widths=WIDTHS,
            lengths=LENGTHS,
        ),
        T.condition("words_held_by_1", times),
        T.condition(
            "attention_widths_0_numbers",
            narrowest.attended[longest],
            widths=WIDTHS,
            longest=longest,
        ),
    ]
