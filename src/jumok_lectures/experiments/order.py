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
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import Float, Int, Tensor
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import mean
from jumok_lectures.texts import Texts

T = Texts("order")

WORDS, LENGTH, SENTENCES = 100, 13, 16
DIM, KEY_DIM, VALUE_DIM, HEADS = 64, 16, 32, 4
ASKED = 5  # queries from elsewhere, for each sentence

SequenceModel = Callable[[Int[Tensor, "batch length"]], Float[Tensor, "batch outputs dim"]]

NAMES = T.named("names")
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
    seeds = []
    for seed in setting.seeds:
        readers = layers(seed) | encoders(seed)
        seeds.append({name: moved(readers[name], seed, asked=name == "general") for name in NAMES})
    outputs, means = (
        {name: mean([each[name][place] for each in seeds]) for name in NAMES} for place in (0, 1)
    )
    others = [name for name in NAMES if name not in SETS]
    nearest = min(others, key=outputs.__getitem__)
    return T.findings(
        rows=[
            [
                NAMES[name],
                T("stay") if name == "general" else T("permute"),
                outputs[name],
                means[name],
                T("yes")
                if outputs[name] < T.bound("largest_deviation_without_positions")
                else T("no"),
            ]
            for name in NAMES
        ],
        figures={name: {"outputs": outputs[name], "mean": means[name]} for name in NAMES},
        conditions=[
            T.condition(
                "largest_deviation_without_positions",
                [max(each[name][0] for name in SETS) for each in seeds],
            ),
            T.condition(
                "smallest_change_with_positions",
                [min(each[name][0] for name in others) for each in seeds],
            ),
        ],
        panels=[T.bars([(NAMES[name], outputs[name]) for name in NAMES], form=".0e", log_x=True)],
        largest=max(outputs[name] for name in SETS),
        least=[each[nearest][0] for each in seeds],
        nearest=NAMES[nearest],
        masked=outputs["mask"],
    )
