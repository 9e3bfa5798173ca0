"""Slips of lecture 003. Source of what is right: Vaswani et al. 2017, section 3.2."""

import math
from collections.abc import Sequence

import torch

from jumok.attention.core import attend_with_weights
from jumok.attention.layers import SelfAttention
from jumok.shapes import Float, Tensor
from jumok_lectures.slips.slip import Slip, apart, between, each, random_heads, slip
from jumok_lectures.texts import Texts

T = Texts("slips_003")

WIDTH, HEAD = 512, 64  # of the base model of Vaswani et al. 2017, and of one of its heads
LENGTH = 6
NOTED = [2.0, 3.0], [4.0, 5.0], [-5.0, 2.0]  # the note's vectors
FAR = [40.0, 50.0]


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note."""
    return [
        kept_information(seeds),
        closer_is_larger(),
        equals_sign(),
        scores_times_values(seeds),
        three_matrices(seeds),
    ]


def kept_information(seeds: Sequence[int]) -> Slip:
    """A 512 x 64 matrix has rank 64: whatever differs in the other directions becomes the same."""

    def same_output(generator: torch.Generator) -> float:
        matrix = torch.randn(WIDTH, HEAD, generator=generator, dtype=torch.float64)
        lost = torch.linalg.qr(matrix, mode="complete").Q[:, HEAD:]
        mixture = torch.randn(WIDTH - HEAD, generator=generator, dtype=torch.float64)
        word = torch.randn(WIDTH, generator=generator, dtype=torch.float64)
        other = word + lost @ mixture
        return apart(other @ matrix, word @ matrix)

    def rank(generator: torch.Generator) -> float:
        return float(torch.linalg.matrix_rank(torch.randn(WIDTH, HEAD, generator=generator)))

    ranks, gaps = each(seeds, rank), each(seeds, same_output)
    lost = WIDTH - max(ranks)
    return slip(
        T,
        "kept_information",
        {"rank": ranks, "relative difference": gaps},
        lost > 0 and max(gaps) < 1e-9,
        width=WIDTH,
        head=HEAD,
        ranks=max(ranks),
        lost=lost,
        gaps=max(gaps),
    )


def product_and_distance(other: Sequence[float]) -> tuple[float, float]:
    """The product and the distance of the note's A = [2, 3] and another vector."""
    first = NOTED[0]
    product = sum(left * right for left, right in zip(first, other, strict=True))
    return product, math.dist(first, other)


def closer_is_larger() -> Slip:
    """The lengths decide, too: the far vector has the larger product, A itself the smaller one."""
    near, far, itself = map(product_and_distance, (NOTED[1], FAR, NOTED[0]))
    return slip(
        T,
        "closer_is_larger",
        {"near": near, "far": far, "itself": itself},
        far[0] > near[0] > itself[0] and far[1] > near[1] > itself[1],
        near=near,
        far=far,
        itself=itself,
    )


def equals_sign() -> Slip:
    """The two products are added; they are not equal."""
    (two, three), _, (left, right) = NOTED
    first, second = two * left, three * right
    return slip(
        T,
        "equals_sign",
        {"products": [first, second], "sum": first + second},
        first != second and first + second == -4.0,
        first=first,
        second=second,
        first_2=first + second,
    )


def scores_times_values(seeds: Sequence[int]) -> Slip:
    """Scores are no weights before softmax: they are negative, too, and do not sum to 1."""

    def parts(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = random_heads(generator, LENGTH, HEAD)
        scores = query @ key.transpose(-2, -1)
        return scores[0, 0], (scores @ value)[0, 0], attend_with_weights(query, key, value)[0][0, 0]

    negative = each(seeds, lambda generator: float((parts(generator)[0] < 0.0).double().mean()))
    gaps = each(seeds, lambda generator: apart(*parts(generator)[1:]))
    share, far = between(negative, ".0%"), between(gaps, ".0f")
    return slip(
        T,
        "scores_times_values",
        {"negative": negative, "relative distance": gaps},
        min(negative) > 0.0 and min(gaps) > 0.1,
        head=HEAD,
        share=share,
        far=far,
    )


def three_matrices(seeds: Sequence[int]) -> Slip:
    """One source, three matrices; with Q = K the scores would be symmetric."""

    def made(generator: torch.Generator) -> Float[Tensor, "matrix length dim"]:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer, words = SelfAttention(HEAD, HEAD, HEAD), torch.randn(1, LENGTH, HEAD)
            own = layer.query(words), layer.general.key(words), layer.general.value(words)
        return torch.cat(own)

    def least(generator: torch.Generator) -> float:
        query, key, value = made(generator)
        return min(apart(query, key), apart(query, value), apart(key, value))

    def lopsided(generator: torch.Generator) -> float:
        query, key, _ = made(generator)
        scores = query @ key.T
        return apart(scores, scores.T)

    gaps, asymmetry = each(seeds, least), each(seeds, lopsided)
    far, lop = between(gaps, ".2f"), between(asymmetry, ".2f")
    return slip(
        T,
        "three_matrices",
        {"relative distance": gaps, "asymmetry": asymmetry},
        min(gaps) > 0.1 and min(asymmetry) > 0.1,
        far=far,
        lop=lop,
    )
