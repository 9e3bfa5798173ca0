"""Slips of lecture 002. Source of what is right: Vaswani et al. 2017, section 3.2.2 and table 1."""

from collections.abc import Sequence

import torch
from torch import nn

from jumok.attention.layers import ManyHeads, SelfAttention
from jumok_lectures.slips.slip import Slip, apart, between, each, in_korean, slip
from jumok_lectures.texts import Texts

T = Texts("slips_002")

WIDTH, HEADS = 512, 8
LONG = 2048  # words: longer than the model is wide


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note, except for the mask (`masking.py`)."""
    return [complexity(), rows_of_values(seeds), parameters_of_heads()]


def complexity() -> Slip:
    """Multiplications of one layer, and how many of its steps wait for one another."""
    recurrent, attention = LONG * WIDTH**2, LONG**2 * WIDTH
    return slip(
        T,
        "complexity",
        {"rnn": recurrent, "attention": attention, "steps": [LONG, 1]},
        attention > recurrent,
        long=LONG,
        width=WIDTH,
        recurrent=recurrent / 1000000.0,
        attention=attention / 1000000.0,
        in_korean_recurrent=in_korean(recurrent / 1000000.0),
        in_korean_attention=in_korean(attention / 1000000.0),
    )


def rows_of_values(seeds: Sequence[int]) -> Slip:
    """V = X W^V: its rows are no embeddings, and have another width in a head."""

    def distance(generator: torch.Generator) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer = SelfAttention(WIDTH, WIDTH, WIDTH)
            words = torch.randn(1, 6, WIDTH)
            return apart(layer.general.value(words), words)

    distances = each(seeds, distance)
    span = between(distances, ".2f")
    return slip(
        T,
        "rows_of_values",
        {"relative distance": distances, "widths": [WIDTH // HEADS, WIDTH]},
        min(distances) > 0.1,
        span=span,
        width=WIDTH // HEADS,
        width_2=WIDTH,
    )


def parameters_of_heads() -> Slip:
    """The paper divides one width among its heads."""

    def parameters(layer: nn.Module) -> int:
        return sum(parameter.numel() for parameter in layer.parameters())

    with torch.device("meta"):
        one = parameters(ManyHeads.with_fixed_budget(WIDTH, 1))
        shared = parameters(ManyHeads.with_fixed_budget(WIDTH, HEADS))
        full = parameters(ManyHeads.with_full_size_heads(WIDTH, HEADS))
    return slip(
        T,
        "parameters_of_heads",
        {"one head": one, "as in the paper": shared, "full-size heads": full},
        shared == one < full,
        width=WIDTH,
        one=one,
        heads=HEADS,
        shared=shared,
        full=full,
    )
