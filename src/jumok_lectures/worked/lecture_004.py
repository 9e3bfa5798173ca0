"""Lecture 004: a context vector of one size, attention over hidden states, shapes, √D."""

import torch
from torch import nn

from jumok.attention.layers import GeneralAttention, RawAttention
from jumok.attention.scores import AdditiveScore, ScaledDotScore
from jumok.layers.recurrent import GRUCell, RecurrentLayer
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    WorkedExample,
    WorkedStep,
    by_torch,
    explained,
    numbers,
    traced,
    vectors,
)

T = Texts("worked_004")

HIDDEN = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
STATE = [1.0, -1.0]
LENGTHS = 3, 30, 300
GRID = 2, 3, 4  # H, W, D
QUERIES, KEY_DIM, VALUE_DIM = 5, 2, 3  # M, D_k, D_v

SIZES = T.quote("31")
ALIGNED = T.quote("90")
ROOT = T.quote("223")


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [one_size(), looking_back(), general_layer()]


def one_size() -> WorkedExample:
    """A context vector is as long after 300 words as after three."""
    steps = []
    for size in (256, 512, 1024):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(size)
            cell, theirs = GRUCell(1, size), nn.GRU(1, size, batch_first=True)
        layer = RecurrentLayer(cell, None)
        with torch.no_grad():
            # PyTorch keeps the biases last, as Cell.weights does
            for own, copied in zip(cell.weights(), theirs.parameters(), strict=True):
                copied.copy_(own)
            states = [layer.last(layer(torch.ones(1, length, 1))) for length in LENGTHS]
            after = theirs(torch.ones(1, LENGTHS[-1], 1))[1][0]
        shapes = ", ".join(str(state.shape[1]) for state in states)
        steps.append(WorkedStep(SIZES, T("said_sizes", lengths=LENGTHS, shapes=shapes)))
        last = T("said_last", size=size, length=LENGTHS[-1])
        known = by_torch("nn.GRU", float(after[0, -1]))
        steps.append(WorkedStep(SIZES, last, float(states[-1][0, -1]), known))
    return WorkedExample(SIZES, T("one_size_title"), T("one_size_given"), tuple(steps))


def additive() -> RawAttention:
    """Attention whose score is a network with one hidden layer of two units, W = U = 1."""
    score = AdditiveScore(2, 2)
    with torch.no_grad():
        for projection in (score.query, score.key):
            projection.weight.copy_(torch.eye(2))
            if projection.bias is not None:
                projection.bias.zero_()
        score.energy.copy_(torch.tensor([2.0, 1.0]))
    return RawAttention(score)


def looking_back() -> WorkedExample:
    """e, a and c of one step of a decoder."""
    layer, hidden = additive(), vectors(*HIDDEN)
    trace, output = traced(
        layer, lambda: layer(vectors(STATE), hidden), "004:90", ("s",), ("h1", "h2", "h3")
    )
    looks = explained(trace, 0).looks
    energies = numbers(torch.tensor([look.product for look in looks]))
    weights = numbers(torch.tensor([look.weight for look in looks]))
    return WorkedExample(
        ALIGNED,
        T("looking_back_title"),
        T("looking_back_given"),
        (
            WorkedStep(ALIGNED, same(f"e = {energies}")),
            WorkedStep(T.quote("92"), same(f"a = {weights}")),
            WorkedStep(T.quote("98"), same(f"c = Σ a_i h_i = {numbers(output[0])}")),
            WorkedStep(T.quote("99"), T("said_99", looks=sum(look.weight for look in looks))),
        ),
        trace,
    )


def general_layer() -> WorkedExample:
    """The cells of a picture as inputs, the shapes of the layer, and the factor of the products."""
    height, width, depth = GRID
    features = torch.ones(1, height, width, depth)
    inputs = features.flatten(1, 2)
    layer = GeneralAttention(depth, KEY_DIM, VALUE_DIM)
    with torch.no_grad():
        outputs = layer(torch.ones(1, QUERIES, KEY_DIM), inputs)
        keys = layer.key(inputs)
    score = ScaledDotScore(depth)
    query = torch.ones(1, 1, depth)
    product = float(query[0, 0] @ inputs[0, 0])
    scaled = float(score(query, inputs)[0, 0, 0])
    root = depth**0.5
    return WorkedExample(
        T.quote("221"),
        T("general_layer_title"),
        T(
            "general_layer_given",
            height=height,
            width=width,
            depth=depth,
            queries=QUERIES,
            key_dim=KEY_DIM,
            value_dim=VALUE_DIM,
        ),
        (
            WorkedStep(
                T.quote("222"),
                same(f"{height} x {width} x {depth} → {inputs.shape[1]} x {inputs.shape[2]}"),
            ),
            WorkedStep(
                T.quote("232"),
                T(
                    "said_232",
                    shape_1=inputs.shape[1],
                    shape_2=inputs.shape[2],
                    shape_1_2=keys.shape[1],
                    shape_2_2=keys.shape[2],
                    shape_1_3=outputs.shape[1],
                    shape_2_3=outputs.shape[2],
                ),
            ),
            WorkedStep(
                ROOT,
                T(
                    "said_root",
                    product=product,
                    depth=depth,
                    scaled=scaled,
                    product_2=product * root,
                ),
            ),
        ),
    )
