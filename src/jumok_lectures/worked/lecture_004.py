"""Lecture 004: one context vector, attention over hidden states, two diagonals, shapes, √D."""

from collections.abc import Sequence

import torch
from torch import nn

from jumok.attention.layers import GeneralAttention, RawAttention
from jumok.attention.scores import AdditiveScore, DotScore, ScaledDotScore
from jumok.inspection.explain import KeyTerms
from jumok.layers.recurrent import GRUCell, RecurrentLayer, VanillaCell
from jumok_lectures.text import same
from jumok_lectures.texts import Texts
from jumok_lectures.worked.example import (
    WorkedExample,
    WorkedStep,
    by_hand,
    by_torch,
    explained,
    numbers,
    traced,
    vectors,
)

T = Texts("worked_004")

HIDDEN = [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]
STATE = [1.0, -1.0]
WRITTEN = [0.5, 0.0]  # the vector of the word before
ENGLISH = ("agreement", "on", "the", "European", "Economic", "Area")
FRENCH = ("accord", "sur", "la", "zone", "économique", "européenne")
ORDER = 0, 1, 2, 5, 4, 3  # the English word of each French one
SURE = 6.0  # its score; 0 for the others
LENGTHS = 3, 30, 300
GRID = 2, 3, 4  # H, W, D
QUERIES, KEY_DIM, VALUE_DIM = 5, 2, 3  # M, D_k, D_v

SIZES = T.quote("31")
ALIGNED = T.quote("90")
ROOT = T.quote("223")


def examples() -> list[WorkedExample]:
    """All of this note."""
    return [
        one_size(),
        two_rnns(),
        looking_back(),
        after_the_context(),
        two_diagonals(),
        general_layer(),
    ]


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


def cell_of(dim: int, *inputs: Sequence[float], state: float) -> VanillaCell:
    """tanh(W x + U h): a row of W for each number of the state, U = `state` times the identity."""
    cell = VanillaCell(len(inputs[0]), dim)
    with torch.no_grad():
        cell.input.weight.copy_(torch.tensor([list(row) for row in inputs]))
        cell.state.weight.copy_(state * torch.eye(dim))
        for part in (cell.input, cell.state):
            if part.bias is not None:
                part.bias.zero_()
    return cell


def two_rnns() -> WorkedExample:
    """Three words into the encoder's last state, which begins the decoder, and its first step."""
    encoder, decoder = cell_of(1, [1.0], state=0.5), cell_of(1, [1.0, 1.0], state=0.5)
    with torch.no_grad():
        states = encoder(torch.tensor([[[1.0], [0.0], [0.0]]]), torch.zeros(1, 1, 1))
        first = states[:, -1:]  # s_0 = h_T
        after = decoder.step(torch.cat([torch.ones(1, 1), first[:, 0]], dim=1), first)
    read = ", ".join(f"h{number} = {float(each):.4f}" for number, each in enumerate(states[0], 1))
    last = float(first)
    return WorkedExample(
        T.quote("58"),
        T("two_rnns_title"),
        T("two_rnns_given"),
        (
            WorkedStep(
                T.quote("58"), same(read), last, by_hand("tanh(0.5 tanh(0.5 tanh 1))", "0.1797")
            ),
            WorkedStep(T.quote("61"), T("said_61", last=last)),
            WorkedStep(
                T.quote("60"),
                same(f"s1 = tanh(y0 + 0.5 s0 + c) = {float(after):.4f}"),
                float(after),
                by_hand("tanh(1 + 0.0899 + 0.1797)", "0.8537"),
            ),
        ),
    )


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


def after_the_context() -> WorkedExample:
    """The decoder's next state, and what of a state with a small weight is left in it."""
    layer, hidden = additive(), vectors(*HIDDEN)
    trace, output = traced(
        layer, lambda: layer(vectors(STATE), hidden), "004:108", ("s",), ("h1", "h2", "h3")
    )
    cell = cell_of(2, [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], state=1.0)
    theirs = nn.RNNCell(4, 2)
    read, before = torch.cat([torch.tensor(WRITTEN), output[0]])[None], torch.tensor([[STATE]])
    with torch.no_grad():
        for own, copied in zip(cell.weights(), theirs.parameters(), strict=True):
            copied.copy_(own)
        after, known = cell.step(read, before)[0, 0], theirs(read, before[:, 0])[0]
    looks = explained(trace, 0).looks
    least = min(range(len(looks)), key=lambda number: looks[number].weight)
    return WorkedExample(
        T.quote("108"),
        T("after_the_context_title"),
        T("after_the_context_given"),
        (
            *(
                WorkedStep(
                    T.quote("108"),
                    T("said_next", state=numbers(after), place=place + 1),
                    float(after[place]),
                    by_torch("nn.RNNCell", float(known[place])),
                )
                for place in (0, 1)
            ),
            WorkedStep(
                T.quote("111"),
                T("said_least", number=least + 1),
                looks[least].weight,
                by_torch("autograd.grad", moved_by(looks, least)),
            ),
        ),
        trace,
    )


def moved_by(looks: Sequence[KeyTerms], number: int) -> float:
    """How far the context vector moves with a value, by PyTorch's derivative of the sum."""
    values = torch.tensor(HIDDEN, requires_grad=True)
    scores = torch.tensor([look.score for look in looks])
    context = scores.softmax(0) @ values
    (gradient,) = torch.autograd.grad(context[0], values)
    return float(gradient[number, 0])


def two_diagonals() -> WorkedExample:
    """Three words in the same order, then three in the opposite one."""
    layer, keys = RawAttention(DotScore()), torch.eye(len(ENGLISH))
    queries = SURE * keys[list(ORDER)]
    trace, _ = traced(layer, lambda: layer(queries[None], keys[None]), "004:144", FRENCH, ENGLISH)
    weights = torch.from_numpy(trace.sites[0].weights[0])
    largest = [str(1 + place) for place in weights.argmax(dim=1).tolist()]
    return WorkedExample(
        T.quote("144"),
        T("two_diagonals_title"),
        T("two_diagonals_given", sure=SURE),
        (
            WorkedStep(T.quote("144"), T("said_144", places=", ".join(largest[:3]))),
            WorkedStep(T.quote("145"), T("said_145", places=", ".join(largest[3:]))),
            WorkedStep(
                T.quote("145"),
                T("said_crossed", word=FRENCH[3], other=ENGLISH[ORDER[3]]),
                float(weights[3, ORDER[3]]),
                by_hand("e^6 / (e^6 + 5)", "0.9878"),
            ),
        ),
        trace,
        row=3,
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
