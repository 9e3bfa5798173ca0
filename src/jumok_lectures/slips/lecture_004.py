"""Slips of lecture 004. Source of what is right: Bahdanau et al. 2015; Xu et al. 2015; Vaswani
et al. 2017, sections 3.2 and 3.5.
"""

import math
from collections.abc import Sequence
from itertools import islice

import torch
from torch import nn

import smallworld
from jumok.attention.layers import GeneralAttention, SelfAttention
from jumok_lectures.experiments.scale import softness
from jumok_lectures.slips.slip import Slip, apart, between, each, numeral, random_heads, slip
from jumok_lectures.texts import Texts

T = Texts("slips_004")

SENTENCES, LENGTHS = 2000, (3, 12)
INPUTS, QUERIES, DIM, KEY_DIM, VALUE_DIM = 5, 3, 8, 4, 6
WIDTH, KEYS = 64, 64
POSITIONS = 512


def slips(seeds: Sequence[int]) -> list[Slip]:
    """All of this note."""
    return [
        lengths(seeds),
        comma(seeds),
        first_state(seeds),
        times_root(seeds),
        shape_of_inputs(),
        who_asks(seeds),
        cotangent(),
    ]


def lengths(seeds: Sequence[int]) -> Slip:
    """Counted: sentences with as many words as their translations."""

    def alike(generator: torch.Generator) -> float:
        stream = smallworld.pairs("train", generator.initial_seed(), *LENGTHS)
        pairs = list(islice(stream, SENTENCES))
        return sum(len(pair.source.split()) == len(pair.target.split()) for pair in pairs) / len(
            pairs
        )

    shares = each(seeds, alike)
    share = between(shares, ".0%")
    return slip(
        T,
        "lengths",
        {"share of equal lengths": shares},
        max(shares) < 0.9,
        sentences=SENTENCES,
        share=share,
    )


def comma(seeds: Sequence[int]) -> Slip:
    """Without a product the sum is that of the weights alone: 1, whatever was attended to."""

    def sums(generator: torch.Generator) -> float:
        scores = torch.randn(4, KEYS, generator=generator, dtype=torch.float64)
        return float((scores.softmax(-1).sum(-1) - 1.0).abs().max())

    def contexts(generator: torch.Generator) -> float:
        weights = (4.0 * torch.randn(2, KEYS, generator=generator)).softmax(-1)
        one, other = weights @ torch.randn(KEYS, WIDTH, generator=generator)
        return apart(one, other)

    sum_alone, right = each(seeds, sums), each(seeds, contexts)
    far = between(right, ".2f")
    return slip(
        T,
        "comma",
        {"largest deviation from 1": sum_alone, "relative distance": right},
        max(sum_alone) < 1e-12 and min(right) > 0.1,
        sum_alone=max(sum_alone),
        far=far,
    )


def first_state(seeds: Sequence[int]) -> Slip:
    """One step of a decoder: h_0, c_1 and y_0 make h_1, which is not h_0."""

    def moved(generator: torch.Generator) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            cell = nn.GRUCell(2 * WIDTH, WIDTH)
            word_and_context, state = torch.randn(1, 2 * WIDTH), torch.randn(1, WIDTH).tanh()
            return apart(cell(word_and_context, state), state)

    changes = each(seeds, moved)
    far = between(changes, ".0%")
    return slip(T, "first_state", {"change of the state": changes}, min(changes) > 0.01, far=far)


def times_root(seeds: Sequence[int]) -> Slip:
    """Scores times √D, and divided by it."""

    def entropy(factor: float, generator: torch.Generator) -> float:
        query, key, _ = random_heads(generator, KEYS, WIDTH)
        return softness((query @ key.transpose(-2, -1))[0, 0] * factor).entropy

    root = math.sqrt(WIDTH)
    multiplied = each(seeds, lambda generator: entropy(root, generator))
    right = each(seeds, lambda generator: entropy(1.0 / root, generator))
    most = math.log(KEYS)
    low, high = between(multiplied, ".3f"), between(right, ".2f")
    return slip(
        T,
        "times_root",
        {"multiplied": multiplied, "divided": right},
        max(multiplied) < min(right),
        width=WIDTH,
        most=most,
        low=low,
        high=high,
    )


def shape_of_inputs() -> Slip:
    """N inputs and M queries through the note's layer."""
    layer = GeneralAttention(DIM, KEY_DIM, VALUE_DIM)
    inputs, queries = torch.ones(1, INPUTS, DIM), torch.ones(1, QUERIES, KEY_DIM)
    keys, outputs = layer.key(inputs)[0], layer(queries, inputs)[0]
    shapes = {"inputs": inputs[0], "keys": keys, "queries": queries[0], "outputs": outputs}
    sizes = {name: list(tensor.shape) for name, tensor in shapes.items()}
    told = {name: f"{rows} x {width}" for name, (rows, width) in sizes.items()}
    return slip(
        T,
        "shape_of_inputs",
        sizes,
        sizes["inputs"] != [QUERIES, KEY_DIM] and sizes["keys"] == [INPUTS, KEY_DIM],
        inputs=INPUTS,
        queries=QUERIES,
        dim=DIM,
        key_dim=KEY_DIM,
        value_dim=VALUE_DIM,
        shapes=told,
    )


def who_asks(seeds: Sequence[int]) -> Slip:
    """In self-attention a word's query comes from this word: there is no decoder."""

    def moved(generator: torch.Generator) -> tuple[float, float]:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(generator.initial_seed())
            layer, words = SelfAttention(DIM, KEY_DIM, VALUE_DIM), torch.randn(1, INPUTS, DIM)
            other = words.clone()
            other[0, 0] = torch.randn(DIM)
            before, after = layer.query(words)[0], layer.query(other)[0]
        return apart(after[0], before[0]), apart(after[1:], before[1:])

    own = each(seeds, lambda generator: moved(generator)[0])
    others = each(seeds, lambda generator: moved(generator)[1])
    far = between(own, ".0%")
    return slip(
        T,
        "who_asks",
        {"own query": own, "other queries": others},
        min(own) > 0.1 and max(others) == 0.0,
        far=far,
        others=max(others),
    )


def cotangent() -> Slip:
    """cot(0) is infinite, and near multiples of π it is large: not in a fixed range."""
    angles = torch.arange(1, POSITIONS, dtype=torch.float64)
    wrong, right = float((1.0 / angles.tan()).abs().max()), float(angles.cos().abs().max())
    first = float(1.0 / torch.zeros(1, dtype=torch.float64).tan())
    return slip(
        T,
        "cotangent",
        {"largest cot": wrong, "largest cos": right},
        math.isinf(first) and wrong > 1.0 >= right,
        positions=POSITIONS - 1,
        wrong=wrong,
        right=right,
        first=numeral(first),
    )
