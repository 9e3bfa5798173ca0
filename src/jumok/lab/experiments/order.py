"""Attention treats its input as a set.

The lectures build the layer up step by step: x itself as query, key and value; then W_K and W_V,
with queries from elsewhere; then W_Q; then many heads. Permute the words: where the queries come
from elsewhere nothing changes, f(q, Px) = f(q, x) (invariance, as lecture 004 says of an image's
cells); where x itself asks, the outputs permute in the same way, f(Px) = P f(x) (equivariance),
whatever the weights, and so their mean does not move. So it is with a whole encoder without
positions. With positions the outputs do change, and so they do behind a look-ahead mask, which
tells before from after.

Source: Vaswani et al. 2017, section 3.5; lectures 000, 003 and 004 (the layers), 002 ("Self-
Attention = Set Encoding").
"""

from collections.abc import Callable

import torch

from jumok.attention.layers import GeneralAttention, ManyHeads, RawAttention, SelfAttention
from jumok.attention.masks import AttentionMask
from jumok.attention.scores import ScaledDotScore
from jumok.config.transformer import TransformerConfig
from jumok.lab.findings import Bars, Column, Findings, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Int, Tensor

WORDS, LENGTH, SENTENCES = 100, 13, 16
DIM, KEY_DIM, VALUE_DIM, HEADS = 64, 16, 32, 4
ASKED = 5  # queries from elsewhere, for each sentence
SAME, DIFFERENT = 1e-4, 1e-2  # relative; float32 rounds at about 1e-6

SequenceModel = Callable[[Int[Tensor, "batch length"]], Float[Tensor, "batch outputs dim"]]

NAMES = {
    "raw": Text("x is query, key and value", "x가 곧 쿼리, 키, 값"),
    "general": Text("W_K, W_V; queries from elsewhere", "W_K, W_V, 쿼리는 밖에서"),
    "self": Text("W_Q too: self-attention", "W_Q까지: 셀프 어텐션"),
    "heads": Text("4 heads that share the width", "너비를 나눈 헤드 4개"),
    "full heads": Text("4 full-size heads", "너비가 모델과 같은 헤드 4개"),
    "none": Text("encoder without positions", "위치 없는 인코더"),
    "mask": Text("the same, look-ahead mask", "같은 인코더, 룩어헤드 마스크"),
    "sinusoidal": Text("encoder, sinusoidal positions", "인코더, 사인파 위치"),
    "learned": Text("encoder, learned positions", "인코더, 학습된 위치"),
    "rotary": Text("encoder, rotary positions", "인코더, 회전(rotary) 위치"),
}
SETS = ("raw", "general", "self", "heads", "full heads", "none")


def layers(seed: int) -> dict[str, SequenceModel]:
    """The lectures' layers over random word vectors; see `jumok.attention.layers`."""
    torch.manual_seed(seed)
    table = torch.randn(WORDS, DIM)
    queries = torch.randn(SENTENCES, ASKED, KEY_DIM)
    raw = RawAttention(ScaledDotScore(DIM))
    general = GeneralAttention(DIM, KEY_DIM, VALUE_DIM)
    itself = SelfAttention(DIM, KEY_DIM, VALUE_DIM)
    shared = ManyHeads.with_fixed_budget(DIM, HEADS)
    full = ManyHeads.with_full_size_heads(DIM, HEADS)
    return {
        "raw": lambda tokens: raw(table[tokens], table[tokens]),
        "general": lambda tokens: general(queries, table[tokens]),
        "self": lambda tokens: itself(table[tokens]),
        "heads": lambda tokens: shared(table[tokens]),
        "full heads": lambda tokens: full(table[tokens]),
    }


def encoders(seed: int) -> dict[str, SequenceModel]:
    """Untrained models: the claim is about the structure, so it must hold for any weights."""

    def model(positions: str) -> Transformer:
        torch.manual_seed(seed)
        sizes = {"dim": DIM, "heads": HEADS, "encoder_layers": 2, "decoder_layers": 2}
        config = TransformerConfig.model_validate({**sizes, "positions": positions})
        return Transformer(config, WORDS).eval()

    masked = model("none").encoder

    def behind_a_mask(tokens: Tensor) -> Tensor:
        stream = masked.embedding(tokens)
        return masked.blocks(stream, masked.first_norm(stream), AttentionMask(causal=True))

    kinds = ("none", "sinusoidal", "learned", "rotary")
    return {**{kind: model(kind).encoder for kind in kinds}, "mask": behind_a_mask}


@torch.no_grad()
def moved(reader: SequenceModel, seed: int, *, asked: bool = False) -> tuple[float, float]:
    """How far outputs and their mean move when the words are permuted.

    Args:
        asked: the queries come from elsewhere, and an output is a query's, not a word's.

    Returns:
        |f(Px) - P f(x)| / |f(x)|, of what is asked |f(q, Px) - f(q, x)| / |f(q, x)|, and
        |mean f(Px) - mean f(x)| / |mean f(x)|.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(WORDS, (SENTENCES, LENGTH), generator=generator)
    order = torch.randperm(LENGTH, generator=generator)
    before, after = reader(tokens), reader(tokens[:, order])
    expected = before if asked else before[:, order]
    middle, middle_after = before.mean(1), after.mean(1)
    return (
        float((after - expected).norm() / expected.norm()),
        float((middle_after - middle).norm() / middle.norm()),
    )


def run(setting: Setting) -> Findings:
    """Every layer of the lectures, an encoder without positions, and with every kind of them."""
    every = []
    for seed in setting.seeds:
        readers = layers(seed) | encoders(seed)
        every.append({name: moved(readers[name], seed, asked=name == "general") for name in NAMES})
    found = {
        name: (mean([each[name][0] for each in every]), mean([each[name][1] for each in every]))
        for name in NAMES
    }
    outputs = {name: found[name][0] for name in NAMES}
    largest = max(outputs[name] for name in SETS)
    with_order = {name: value for name, value in outputs.items() if name not in SETS}
    nearest = min(with_order, key=lambda name: with_order[name])
    return Findings(
        columns=(
            Column(Text("layer or encoder", "층이나 인코더")),
            Column(Text("expected for a set", "집합일 때 예상되는 출력")),
            Column(Text("deviation", "예상과의 차이"), ".1e"),
            Column(Text("change of the mean", "출력 평균의 변화"), ".1e"),
            Column(Text("a set?", "집합인가?")),
        ),
        rows=[
            [NAMES[name], _expected(name), *found[name], _set(outputs[name] < SAME)]
            for name in NAMES
        ],
        figures={name: {"outputs": both[0], "mean": both[1]} for name, both in found.items()},
        conditions=(
            Condition(
                Text("largest deviation without positions", "위치 정보가 없을 때의 최대 차이"),
                [max(each[name][0] for name in SETS) for each in every],
                SAME,
                above=False,
                form=".0e",
            ),
            Condition(
                Text("smallest change with positions", "위치 정보가 있을 때의 최소 변화"),
                [min(each[name][0] for name in NAMES if name not in SETS) for each in every],
                DIFFERENT,
                form=".0%",
            ),
        ),
        sentence=_sentence(largest, outputs["mask"], with_order[nearest], NAMES[nearest]),
        panels=(
            Bars(
                Text("Outputs, when the words are permuted", "단어 순서를 바꾸었을 때 출력의 변화"),
                Text("relative change (logarithmic)", "상대 변화 (로그 눈금)"),
                [(NAMES[name], value) for name, value in outputs.items()],
                form=".0e",
                log_x=True,
            ),
        ),
    )


def _sentence(largest: float, masked: float, least: float, nearest: Text) -> Text:
    return Text(
        "Each layer of the lectures, from x itself to full-size heads, and an encoder without "
        f"positions treat their input as a set: they deviate by {largest:.0e} at most (rounding). "
        f"With positions the outputs change by {least:.0%} ({nearest.en}) or more; the look-ahead "
        f"mask alone reveals the order: {masked:.0%}. The layer whose queries come from elsewhere "
        "is invariant, as lecture 004 says; self-attention is equivariant, and only the mean of "
        "its outputs is unchanged.",
        "강의에 나온 모든 층과 위치 정보가 없는 인코더는 입력을 집합으로 다룹니다. "
        f"차이는 커야 {largest:.0e}로, 반올림 오차입니다. 순서를 알려 주면 "
        f"출력이 {least:.0%} 이상 달라집니다(변화가 가장 작은 것: {nearest.ko}). 룩어헤드 마스크만 "
        f"있어도 순서가 드러납니다({masked:.0%}). 강의 004가 말한 불변(invariant)은 쿼리가 밖에서 "
        "오는 층에 들어맞습니다. 셀프 어텐션은 등변(equivariant)이고, 출력의 평균만 변하지 "
        "않습니다.",
    )


def _expected(name: str) -> Text:
    return Text("stay", "그대로") if name == "general" else Text("permute", "같은 순서로 바뀜")


def _set(is_set: bool) -> Text:
    return Text("yes", "예") if is_set else Text("no", "아니요")
