"""Slips of lecture 002. Source of what is right: Vaswani et al. 2017, section 3.2.2 and table 1."""

from collections.abc import Sequence

import torch
from torch import nn

from jumok.attention.layers import ManyHeads, SelfAttention
from jumok.lab.slips.slip import Slip, apart, between, each, in_korean
from jumok.lab.text import Text

WIDTH, HEADS = 512, 8
LONG = 2048  # words: longer than the model is wide


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note, except for the mask (`masking.py`)."""
    return [complexity(), rows_of_values(seeds), parameters_of_heads()]


def complexity() -> Slip:
    """Multiplications of one layer, and how many of its steps wait for one another."""
    recurrent, attention = LONG * WIDTH**2, LONG**2 * WIDTH
    return Slip(
        "002:4",
        "그동안의 RNN-based Encoder, Decoder는 for loop때문에 time complexity가 높았다.",
        Text(
            "an RNN's layer takes O(n d²), self-attention O(n² d); what falls is the number of "
            "steps one after another, from n to 1",
            "연산량은 RNN이 O(n d²), 셀프 어텐션이 O(n² d). 줄어드는 것은 차례로 해야 하는 "
            "단계의 수(n에서 1로)",
        ),
        Text(
            f"n = {LONG:,}, d = {WIDTH}: {recurrent / 1e6:,.0f} M multiplications in the RNN, "
            f"{attention / 1e6:,.0f} M in attention; {LONG:,} steps and 1",
            f"n = {LONG:,}, d = {WIDTH}: 곱셈이 RNN은 {in_korean(recurrent / 1e6)} 번, 어텐션은 "
            f"{in_korean(attention / 1e6)} 번. 차례로 할 단계는 {LONG:,}개와 1개",
        ),
        {"rnn": recurrent, "attention": attention, "steps": [LONG, 1]},
        attention > recurrent,
    )


def rows_of_values(seeds: Sequence[int]) -> Slip:
    """V = X W^V: its rows are no embeddings, and have another width in a head."""

    def distance(generator: torch.Generator) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer = SelfAttention(WIDTH, WIDTH, WIDTH)
            words = torch.randn(1, 6, WIDTH)
            return apart(layer.general.value(words), words)

    found = each(seeds, distance)
    span = between(found, ".2f")
    return Slip(
        "002:12",
        "V의 각 row는 word-embedding이다.",
        Text(
            "rows of X W^V; above the first layer X holds no embeddings either",
            "X W^V의 행. 둘째 층부터는 X도 임베딩이 아님",
        ),
        Text(
            f"rows of V are {span.en} of an embedding's length away from it; in a head of the "
            f"paper they have {WIDTH // HEADS} numbers, an embedding {WIDTH}",
            f"V의 행은 임베딩에서 그 길이의 {span.ko}배만큼 떨어져 있음. 논문의 헤드에서 행의 "
            f"너비는 {WIDTH // HEADS}, 임베딩의 너비는 {WIDTH}",
        ),
        {"relative distance": found, "widths": [WIDTH // HEADS, WIDTH]},
        min(found) > 0.1,
    )


def parameters_of_heads() -> Slip:
    """The paper divides one width among its heads."""

    def parameters(layer: nn.Module) -> int:
        return sum(parameter.numel() for parameter in layer.parameters())

    with torch.device("meta"):
        one = parameters(ManyHeads.with_fixed_budget(WIDTH, 1))
        shared = parameters(ManyHeads.with_fixed_budget(WIDTH, HEADS))
        full = parameters(ManyHeads.with_full_size_heads(WIDTH, HEADS))
    return Slip(
        "002:26",
        "Original Transformer paper에서는 learnable parameter를 늘렸다.",
        Text(
            "it did not: d_k = d_model / h, at the cost of a single head (3.2.2)",
            "늘리지 않음. d_k = d_model / h이고 비용은 헤드 하나와 같음(3.2.2절)",
        ),
        Text(
            f"parameters of one layer, d_model = {WIDTH}: 1 head {one:,}, {HEADS} heads as in the "
            f"paper {shared:,}, {HEADS} full-size heads {full:,}",
            f"한 층의 매개변수(d_model = {WIDTH}): 헤드 1개 {one:,}개, 논문의 헤드 {HEADS}개 "
            f"{shared:,}개, 너비를 나누지 않은 헤드 {HEADS}개 {full:,}개",
        ),
        {"one head": one, "as in the paper": shared, "full-size heads": full},
        shared == one < full,
    )
