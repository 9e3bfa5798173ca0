"""Slips of lecture 000. Source of what is right: Vaswani et al. 2017; Ba et al. 2016."""

import math
from collections.abc import Sequence

import torch

from jumok.config.transformer import TransformerConfig
from jumok.lab.experiments.scale import softmax_as_written, softmax_stable
from jumok.lab.slips.slip import (
    Slip,
    apart,
    between,
    each,
    finite,
    in_korean,
    random_heads,
    written,
)
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer

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

    found = each(seeds, least)
    span = between(found, ".2f")
    return Slip(
        "000:55, 30, 77, 85",
        r"$\vec{y}_i = \sum_{i=1}^i \alpha_{ij} \vec{x}_j \in \mathbb{R}^d$",
        Text("the sum is over j, from 1 to i", "j에 대한 합: j = 1부터 i까지"),
        Text(
            f"y_3 of three words with the formula as written, for the best choice of j: "
            f"{span.en} of its length away from Σ_j α_3j x_j",
            f"단어가 셋일 때 노트의 식으로 y_3을 구하면 j를 가장 좋게 골라도 "
            f"Σ_j α_3j x_j에서 그 길이의 {span.ko}배만큼 떨어짐",
        ),
        {"relative distance": found},
        min(found) > 0.01,
    )


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
    return Slip(
        "000:100",
        "원 논문(Vaswani et al., 2017에서는 $d_k = d_v = 1024$ 로 설정했음.",
        Text(
            "d_k = d_v = 64 = 512 / 8 (3.2.2); 1,024 is the width of the large model",
            "d_k = d_v = 64 = 512 / 8 (3.2.2절). 1,024는 큰 모델의 너비",
        ),
        Text(
            f"parameters of the base model: {noted:.0f} M with 1,024, {right:.0f} M with 64; "
            f"published {PUBLISHED_MILLIONS:.0f} M",
            f"기본 모델의 매개변수: 1,024이면 {in_korean(noted)} 개, 64이면 {in_korean(right)} 개, "
            f"논문에는 {in_korean(PUBLISHED_MILLIONS)} 개",
        ),
        {"millions with 1024": noted, "millions with 64": right, "published": PUBLISHED_MILLIONS},
        abs(right - PUBLISHED_MILLIONS) < NEAR_MILLIONS < abs(noted - PUBLISHED_MILLIONS),
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
    return Slip(
        "000:121",
        "1024차원 벡터의 내적은 1024개의 곱을 더하는 것이다. ⇒ 내적값이 커지면 지수함수(exp)를 "
        "취했을 때 overflow가 일어날 수 있다.",
        Text(
            "the division is there because large scores saturate softmax (3.2.1); against "
            "overflow the largest score is subtracted",
            "점수가 크면 softmax가 포화되기 때문에 나눔(3.2.1절). 오버플로는 최댓값을 빼서 막음",
        ),
        Text(
            f"at d_k = 1,024 the largest of 4,096 scores is {high.en}, far from 709, and for "
            f"{share.en} of the queries one key takes over 99%; softmax of (710, 709): exp(s) "
            f"gives {written(plain)}, exp(s - max) {stable:.3f}",
            f"d_k = 1,024일 때 점수 4,096개 중 최댓값은 {high.ko}로 709에 한참 못 미침. 쿼리의 "
            f"{share.ko}에서 키 하나가 99% 넘게 차지함. (710, 709)의 softmax: exp(s)로는 "
            f"{written(plain)}, exp(s - 최댓값)으로는 {stable:.3f}",
        ),
        {
            "largest score": largest,
            "share of queries with one key": taken,
            "softmax as written": finite(plain),
            "softmax minus the largest": stable,
        },
        max(largest) < LARGEST_EXPONENT and min(taken) > 0.0 and math.isnan(plain),
    )


def normalized() -> Slip:
    """γ x + β leaves the mean as it is; the hat is missing, and ε under the root."""
    words = torch.tensor([1.0, 2.0, 3.0, 6.0], dtype=torch.float64)
    alike = torch.full((4,), 3.0, dtype=torch.float64)
    right = torch.nn.functional.layer_norm(words, (4,), eps=EPSILON)
    without = (alike - alike.mean()) / alike.std(correction=0)
    with_epsilon = torch.nn.functional.layer_norm(alike, (4,), eps=EPSILON)
    kept, mean = float(words.mean()), abs(float(right.mean()))
    return Slip(
        "000:226, 229",
        r"LayerNorm\left(\vec{x}\right) = \gamma \vec{x} + \beta",
        Text(
            "γ x̂ + β, and x̂ = (x - μ) / √(σ² + ε)",
            "γ x̂ + β이고 x̂ = (x - μ) / √(σ² + ε)",
        ),
        Text(
            f"mean of x = (1, 2, 3, 6) with γ = 1, β = 0: {kept:.0f} as written, {mean:.0f} "
            f"with x̂; x̂ of (3, 3, 3, 3): {written(float(without[0]))} without ε, "
            f"{float(with_epsilon[0]):.0f} with it",
            f"γ = 1, β = 0일 때 x = (1, 2, 3, 6)의 평균: 노트대로라면 {kept:.0f}, x̂이면 "
            f"{mean:.0f}. (3, 3, 3, 3)의 x̂: ε이 없으면 {written(float(without[0]))}, 있으면 "
            f"{float(with_epsilon[0]):.0f}",
        ),
        {
            "mean as written": kept,
            "mean": mean,
            "constant without epsilon": finite(float(without[0])),
            "constant with epsilon": float(with_epsilon[0]),
        },
        kept != 0.0 and mean < 1e-12 and bool(without.isnan().all()),
    )
