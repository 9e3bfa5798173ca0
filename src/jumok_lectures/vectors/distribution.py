"""Why the attention distribution itself is not the output, and what its small shares do.

The note: multiplying the values by the distribution takes the small shares away. Tried: what can
be known from the distribution alone; whether a word with a share of 0.001 can still be named from
the sum; and how much of the sum many such shares make up, of different words and of one.

Small shares of different words cancel out: n of them with weight w have a squared length of n w²,
while those of one word add up to (n w)².

Source: lecture 001; Kobayashi et al. 2020 (a value's length counts as much as its weight).
"""

import torch
from torch.nn.functional import one_hot

from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import mean, spread
from jumok_lectures.texts import Texts
from jumok_lectures.vectors.reading import is_named, word_vectors

T = Texts("distribution")

WIDTH, WORDS, LENGTH, SAMPLES = 64, 100, 12, 4000
MORE_WORDS, FEWER_SAMPLES = 1000, 400  # for sums of very many words
MAIN = 3.0  # what is added to the score of the word that is asked for
SMALL, MANY = 0.001, 500  # the note's share, and how many of it: half of all weight
LONGER = 1000.0  # times as long as the others


NAMES = T.named("names", longer=LONGER, many=MANY)


def one_sentence(generator: torch.Generator) -> dict[str, float]:
    """How often the word in the most attended place is named: from the weights, from the sum."""
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
    return {
        "from_weights": float((told == wanted[half:]).double().mean()),
        "from_sum": is_named(sums, vectors, wanted),
    }


def small_shares(generator: torch.Generator) -> dict[str, float]:
    """What small shares do.

    Returns:
        small: how often the word with the share SMALL is among the best two; different, alike: the
        part of the sum's squared length that MANY such shares make up beside a main one, of
        different words and of one word; main_kept: how often the main word is still named beside
        MANY different ones; long: as small, where the word's value is LONGER.
    """
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
    return {
        "small": is_named(beside, vectors, other, among=2),
        "different": float((parts / (parts + left**2)).mean()),
        "alike": alike / (alike + left**2),
        "main_kept": is_named(left * more[few] + rest, more, few),
        "long": is_named(stretched, vectors, other, among=2),
    }


def run(setting: Setting) -> Findings:
    """Every measure with every seed."""
    seeds = [
        one_sentence(torch.Generator().manual_seed(seed))
        | small_shares(torch.Generator().manual_seed(seed))
        for seed in setting.seeds
    ]
    shares = {name: [each[name] for each in seeds] for name in seeds[0]}
    means = {name: mean(values) for name, values in shares.items()}
    return T.findings(
        rows=[[name, means[key], spread(shares[key])] for key, name in NAMES.items()],
        figures={**shares, "by_chance": 1.0 / WORDS},
        conditions=[
            T.condition("named_from_the_distribution", shares["from_weights"]),
            T.condition("named_from_the_attention", shares["from_sum"]),
            T.condition("a_word_of_share", shares["small"]),
            T.condition("part_of_many_shares", shares["different"], many=MANY),
            T.condition("part_of_many_shares_2", shares["alike"], many=MANY),
        ],
        panels=[T.bars([(name, means[key]) for key, name in NAMES.items()], form=".1%")],
        means=means,
        chance=1 / WORDS,
        many=MANY,
        longer=LONGER,
    )
