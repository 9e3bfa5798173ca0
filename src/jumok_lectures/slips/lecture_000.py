"""Slips of lecture 000. Source of what is right: Vaswani et al. 2017; Ba et al. 2016."""

import math
from collections.abc import Sequence

import torch

from jumok.config.transformer import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from jumok_lectures.experiments.scale import softmax_as_written, softmax_stable
from jumok_lectures.slips.slip import (
    Slip,
    apart,
    between,
    each,
    finite,
    in_korean,
    numeral,
    random_heads,
    slip,
)
from jumok_lectures.texts import Texts

T = Texts("slips_000")

PUBLISHED_MILLIONS, VOCABULARY = 65.0, 37_000  # Vaswani et al. 2017, table 3 and section 5.1
NEAR_MILLIONS = 3.0  # the paper does not give its vocabulary to the token
NOTED_WIDTH, WIDTH, HEADS = 1024, 512, 8
LARGEST_EXPONENT = 709.0  # of float64, as the note prints it
EPSILON = 1e-5


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note."""
    return [index_of_the_sum(seeds), width_of_heads(), overflow(seeds), normalized()]


def index_of_the_sum(seeds: Sequence[int]) -> Slip:
    """The sum runs over i, which is also its end, and j is left free."""

    def least(generator: torch.Generator) -> float:
        inputs = torch.randn(3, 16, generator=generator) / 4.0
        weights = (inputs @ inputs.T).masked_fill(torch.ones(3, 3).triu(1).bool(), -math.inf)
        weights = weights.softmax(-1)
        right = weights[2] @ inputs
        return min(apart(weights[:, key].sum() * inputs[key], right) for key in range(3))

    gaps = each(seeds, least)
    span = between(gaps, ".2f")
    return slip(T, "index_of_the_sum", {"relative distance": gaps}, min(gaps) > 0.01, span=span)


def millions_of_parameters(head_dim: int) -> float:
    """The size of the base model of Vaswani et al. 2017 with heads of this width."""
    sizes = {"dim": WIDTH, "heads": HEADS, "encoder_layers": 6, "decoder_layers": 6}
    config = TransformerConfig.model_validate(
        {**sizes, "feedforward": 2048, "norm": "post", "head_dim": head_dim}
    )
    with torch.device("meta"):
        model = Transformer(config, VOCABULARY)
    return sum(parameter.numel() for parameter in model.parameters()) / 1e6


def width_of_heads() -> Slip:
    """The paper's base model has 65 M parameters: which d_k fits?"""
    noted, right = millions_of_parameters(NOTED_WIDTH), millions_of_parameters(WIDTH // HEADS)
    return slip(
        T,
        "width_of_heads",
        {"millions with 1024": noted, "millions with 64": right, "published": PUBLISHED_MILLIONS},
        abs(right - PUBLISHED_MILLIONS) < NEAR_MILLIONS < abs(noted - PUBLISHED_MILLIONS),
        noted=noted,
        right=right,
        published_millions=PUBLISHED_MILLIONS,
        in_korean_noted=in_korean(noted),
        in_korean_right=in_korean(right),
        in_korean_published_millions=in_korean(PUBLISHED_MILLIONS),
    )


def overflow(seeds: Sequence[int]) -> Slip:
    """Scores come nowhere near 709; what they do is to saturate softmax."""

    def scores(generator: torch.Generator) -> torch.Tensor:
        query, key, _ = random_heads(generator, 64, NOTED_WIDTH)
        return (query @ key.transpose(-2, -1))[0, 0]

    largest = each(seeds, lambda generator: float(scores(generator).max()))
    taken = each(
        seeds,
        lambda generator: float((scores(generator).softmax(-1).amax(-1) > 0.99).double().mean()),
    )
    pair = torch.tensor([710.0, 709.0], dtype=torch.float64)
    plain, stable = float(softmax_as_written(pair)[0]), float(softmax_stable(pair)[0])
    high, share = between(largest, ".0f"), between(taken, ".0%")
    return slip(
        T,
        "overflow",
        {
            "largest score": largest,
            "share of queries with one key": taken,
            "softmax as written": finite(plain),
            "softmax minus the largest": stable,
        },
        max(largest) < LARGEST_EXPONENT and min(taken) > 0.0 and math.isnan(plain),
        high=high,
        share=share,
        plain=numeral(plain),
        stable=stable,
    )


def normalized() -> Slip:
    """γ x + β leaves the mean as it is; the hat is missing, and ε under the root."""
    words = torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64)
    alike = torch.full((4,), 3.0, dtype=torch.float64)
    right = torch.nn.functional.layer_norm(words, (4,), eps=EPSILON)
    without = (alike - alike.mean()) / alike.std(correction=0)
    with_epsilon = torch.nn.functional.layer_norm(alike, (4,), eps=EPSILON)
    kept, mean = float(words.mean()), abs(float(right.mean()))
    return slip(
        T,
        "normalized",
        {
            "mean as written": kept,
            "mean": mean,
            "constant without epsilon": finite(float(without[0])),
            "constant with epsilon": float(with_epsilon[0]),
        },
        kept != 0.0 and mean < 1e-12 and bool(without.isnan().all()),
        kept=kept,
        mean=mean,
        without_0=numeral(float(without[0])),
        with_epsilon_0=float(with_epsilon[0]),
    )
