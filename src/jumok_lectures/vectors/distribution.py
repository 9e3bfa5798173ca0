"""Why the attention distribution itself is not the output, and what its small shares do.

The note: multiplying the values by the distribution takes the small shares away. Tried: what can
be known from the distribution alone; whether a word with a share of 0.001 can still be named from
the sum; and how much of the sum many such shares make up, of different words and of one.

Small shares of different words cancel out: n of them with weight w have a squared length of n w²,
while those of one word add up to (n w)².

Source: lecture 001; Kobayashi et al. 2020 (a value's length counts as much as its weight).
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from jumok_lectures.findings import Bars, Findings, Setting, TableCell
from jumok_lectures.judging import mean, spread
from jumok_lectures.texts import Texts
from jumok_lectures.vectors.reading import is_named, word_vectors

T = Texts("distribution")

WIDTH, WORDS, LENGTH, SAMPLES = 64, 100, 12, 4000
MORE_WORDS, FEWER_SAMPLES = 1000, 400  # for sums of very many words
MAIN = 3.0  # what is added to the score of the word that is asked for
SMALL, MANY = 0.001, 500  # the note's share, and how many of it: half of all weight
LONGER = 1000.0  # times as long as the others
UNKNOWN = 3.0 / WORDS  # named at least this often; at most so often: thrice by chance


@dataclass(frozen=True)
class Measured:
    """One number a seed of each measure.

    Attributes:
        from_weights, from_sum: how often the word with the main share is named.
        small: how often the word with the share SMALL is among the best two.
        different, alike: MANY shares of SMALL beside a main one: their part of the sum's squared
            length, of different words and of one word.
        main_kept: how often the main word is still named beside MANY different ones.
        long: how often the word with the share SMALL is named where its value is LONGER.
    """

    from_weights: list[float]
    from_sum: list[float]
    small: list[float]
    different: list[float]
    alike: list[float]
    main_kept: list[float]
    long: list[float]


def one_sentence(generator: torch.Generator) -> tuple[float, float]:
    """Naming the word in the most attended place: from the weights alone, and from the sum."""
    vectors = word_vectors(generator, WORDS, WIDTH)
    words = torch.randint(WORDS, (SAMPLES, LENGTH), generator=generator)
    place = torch.randint(LENGTH, (SAMPLES,), generator=generator)
    scores = torch.randn(SAMPLES, LENGTH, generator=generator)
    weights = (scores + MAIN * one_hot(place, LENGTH)).softmax(-1)
    place = weights.argmax(-1)  # where the chance was larger than MAIN, another word
    wanted = words[torch.arange(SAMPLES), place]
    sums = (weights[:, None] @ vectors[words])[:, 0]
    half = SAMPLES // 2
    reader = torch.linalg.lstsq(weights[:half], one_hot(wanted[:half], WORDS).float()).solution
    told = (weights[half:] @ reader).argmax(-1)
    return float((told == wanted[half:]).double().mean()), is_named(sums, vectors, wanted)


def small_shares(generator: torch.Generator) -> tuple[float, float, float, float, float]:
    """See Measured: small, different, alike, main_kept, long."""
    vectors = word_vectors(generator, WORDS, WIDTH)
    main = torch.randint(WORDS, (SAMPLES,), generator=generator)
    other = (main + torch.randint(1, WORDS, (SAMPLES,), generator=generator)) % WORDS
    beside = (1.0 - SMALL) * vectors[main] + SMALL * vectors[other]
    stretched = (1.0 - SMALL) * vectors[main] + SMALL * LONGER * vectors[other]
    more = word_vectors(generator, MORE_WORDS, WIDTH)
    few = torch.randint(MORE_WORDS, (FEWER_SAMPLES,), generator=generator)
    many = torch.randint(MORE_WORDS, (FEWER_SAMPLES, MANY), generator=generator)
    left, rest = 1.0 - SMALL * MANY, SMALL * more[many].sum(1)
    parts = rest.square().sum(-1)
    alike = (SMALL * MANY) ** 2
    return (
        is_named(beside, vectors, other, among=2),
        float((parts / (parts + left**2)).mean()),
        alike / (alike + left**2),
        is_named(left * more[few] + rest, more, few),
        is_named(stretched, vectors, other, among=2),
    )


def run(setting: Setting) -> Findings:
    """Every measure with every seed."""
    named, small = [], []
    for seed in setting.seeds:
        named.append(one_sentence(torch.Generator().manual_seed(seed)))
        small.append(small_shares(torch.Generator().manual_seed(seed)))
    columns = [list(each) for each in zip(*named, strict=True)]
    columns += [list(each) for each in zip(*small, strict=True)]
    return report(Measured(*columns))


def report(found: Measured) -> Findings:
    """A row for each measure."""
    names = T.named("names", longer=LONGER, many=MANY)
    values: dict[str, list[float]] = vars(found)
    rows: list[list[TableCell]] = [
        [told, mean(values[name]), spread(values[name])] for name, told in names.items()
    ]
    weights, sums, small = (
        mean(each) for each in (found.from_weights, found.from_sum, found.small)
    )
    different, alike, long = (mean(each) for each in (found.different, found.alike, found.long))
    return Findings(
        columns=T.columns,
        rows=rows,
        figures={**values, "by_chance": 1.0 / WORDS},
        conditions=(
            T.condition("named_from_the_distribution", found.from_weights, bound=UNKNOWN),
            T.condition("named_from_the_attention", found.from_sum),
            T.condition("a_word_of_share", found.small, bound=UNKNOWN),
            T.condition("part_of_many_shares", found.different, many=MANY),
            T.condition("part_of_many_shares_2", found.alike, many=MANY),
        ),
        sentence=T(
            "sentence",
            weights=weights,
            words=1 / WORDS,
            sums=sums,
            small=small,
            many=MANY,
            different=different,
            alike=alike,
            longer=LONGER,
            long=long,
        ),
        panels=(
            Bars(
                T("bars_title"),
                T("bars_x"),
                [(told, mean(values[name])) for name, told in names.items()],
                form=".1%",
            ),
        ),
    )
