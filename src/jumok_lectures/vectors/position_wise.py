"""The feed-forward network is applied to each position on its own.

Tried on every kind of feed-forward layer that a recipe can name, with random weights, as the claim
is about the structure: another word in one place must change the output there and nowhere else,
and permuted words must give permuted outputs. Self-attention is the control: there the other
outputs must change, or the measure could not fail.

And what the layer is there for (lecture 002: a nonlinearity): networks are trained to say for each
word whether its two features are equal, with the ReLU and without, once as a feed-forward network
alone and once in a block with self-attention, whose softmax is a nonlinearity as well.

Source: Vaswani et al. 2017, section 3.3; lectures 001 and 002. Equality of two bits is no linear
function: Minsky and Papert 1969.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.noise import Noise
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import ACTIVATIONS
from jumok.parts import builder_of
from jumok.shapes import States, Tensor
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.fitting import fit
from jumok_lectures.judging import differences, mean
from jumok_lectures.text import Text, same
from jumok_lectures.texts import Texts

T = Texts("position-wise")

DIM, HIDDEN, HEADS, LENGTH, BATCH = 32, 64, 4, 10, 16
KINDS = ("plain", "gated")
RATE, TRAINED_BATCH, TESTED = 5e-3, 64, 500
VARIANTS = {  # with a ReLU; with self-attention
    "alone": (True, False),
    "alone, linear": (False, False),
    "block": (True, True),
    "block, linear": (False, True),
}
NAMES = T.named("names")

Layer = Callable[[States], Tensor]


@dataclass(frozen=True)
class Reached:
    """How far a change of one word reaches, one number a seed, relative to the outputs.

    Attributes:
        own: change of the output of the changed word.
        others: the largest change of any other output.
        permuted: |f(Px) - P f(x)|.
    """

    own: list[float]
    others: list[float]
    permuted: list[float]


def layers(seed: int) -> dict[str, Layer]:
    """Every feed-forward layer, with random weights, and the control."""
    torch.manual_seed(seed)
    none = Dropout(0.0, Noise())
    made: dict[str, Layer] = {}
    for kind in KINDS:
        build = builder_of("feedforward", kind)
        for activation in ACTIVATIONS:
            made[f"{kind}, {activation}"] = build(DIM, HIDDEN, activation, none, True)
    attention = MultiHeadAttention(DIM, HEADS, DIM // HEADS, DIM // HEADS, Noise())
    return {**made, "self-attention": lambda states: attention(states, states)}


@torch.no_grad()
def reach(layer: Layer, seed: int) -> tuple[float, float, float]:
    """See Reached."""
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(BATCH, LENGTH, DIM, generator=generator)
    place = int(torch.randint(LENGTH, (), generator=generator))
    other = states.clone()
    other[:, place] = torch.randn(BATCH, DIM, generator=generator)
    order = torch.randperm(LENGTH, generator=generator)
    plain = layer(states)
    moved = (layer(other) - plain).norm(dim=-1) / plain.norm(dim=-1).mean()
    elsewhere = torch.arange(LENGTH) != place
    permuted = (layer(states[:, order]) - plain[:, order]).norm() / plain.norm()
    return float(moved[:, place].mean()), float(moved[:, elsewhere].max()), float(permuted)


class ComparingBlock(nn.Module):
    """Self-attention and a feed-forward network, both with residual connections, as in the notes.

    Args:
        relu: whether there is a ReLU between the two matrices.
        attends: whether there is self-attention.
    """

    def __init__(self, relu: bool, attends: bool) -> None:
        super().__init__()
        self.enter = nn.Linear(2, DIM)
        self.attention = MultiHeadAttention(DIM, HEADS, DIM // HEADS, DIM // HEADS, Noise())
        self.attends = attends
        between = nn.ReLU() if relu else nn.Identity()
        self.feedforward = nn.Sequential(nn.Linear(DIM, HIDDEN), between, nn.Linear(HIDDEN, DIM))
        self.leave = nn.Linear(DIM, 1)

    def forward(self, features: Tensor) -> Tensor:
        """For each word the log odds that its two features are equal."""
        states = self.enter(features)
        if self.attends:
            states = states + self.attention(states, states)
        return self.leave(states + self.feedforward(states))[..., 0]


def solved(relu: bool, attends: bool, seed: int, steps: int) -> float:
    """What was learned of the answer: 1 - cross-entropy / ln 2, unseen words."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    block = ComparingBlock(relu, attends)

    def draw(count: int) -> tuple[Tensor, Tensor]:
        bits = torch.randint(2, (count, LENGTH, 2), generator=generator)
        return 2.0 * bits - 1.0, (bits[..., 0] == bits[..., 1]).float()

    def loss(count: int = TRAINED_BATCH) -> Tensor:
        features, equal = draw(count)
        return nn.functional.binary_cross_entropy_with_logits(block(features), equal)

    fit(block.parameters(), loss, steps, RATE, falling=False)
    with torch.no_grad():
        return 1.0 - float(loss(TESTED)) / math.log(2.0)


def elsewhere(share: float) -> Text:
    """The largest change of another output."""
    return T("changed", share=share) if share > 0.0 else T("unchanged")


def run(setting: Setting, steps: int = 400) -> Findings:
    """Every layer, and the block with and without its nonlinearity."""
    seeds: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in setting.seeds:
        for name, layer in layers(seed).items():
            seeds[name].append(reach(layer, seed))
    reached = {name: Reached(*map(list, zip(*each, strict=True))) for name, each in seeds.items()}
    setting.say("training: with and without the ReLU")
    right = {
        name: [solved(*kind, seed, steps) for seed in setting.seeds]
        for name, kind in VARIANTS.items()
    }
    own = [each for name, each in reached.items() if name != "self-attention"]
    control = reached["self-attention"].others

    def over_layers(edge: Callable[[tuple[float, ...]], float], of: str) -> list[float]:
        """The least or the largest of all layers, one number a seed."""
        return [edge(each) for each in zip(*(vars(layer)[of] for layer in own), strict=True)]

    others, least = over_layers(max, "others"), over_layers(min, "own")
    alone, linear = right["alone"], right["alone, linear"]
    block, attending = right["block"], right["block, linear"]
    return T.findings(
        rows=[
            [name, mean(each.own), max(each.others), max(each.permuted)]
            for name, each in reached.items()
        ],
        figures={"layers": {name: vars(each) for name, each in reached.items()}, "learned": right},
        conditions=[
            T.condition("change_of_the_other", others),
            T.condition("permuted_words_outputs_not", over_layers(max, "permuted")),
            T.condition("change_of_the_word", least),
            T.condition("control_other_outputs_in", control),
            T.condition("learned_by_a_feed", alone),
            T.condition("the_same_minus_without", differences(alone, linear)),
            T.condition("with_self_attention_minus", differences(block, attending)),
        ],
        panels=[
            T.bars([(same(name), max(each.others)) for name, each in reached.items()], form=".2g"),
            T.bars(
                [(NAMES[name], mean(values)) for name, values in right.items()], "_2", form=".0%"
            ),
        ],
        own=len(own),
        least=min(least),
        others=elsewhere(max(others)),
        control=max(control),
        alone=mean(alone),
        linear=abs(mean(linear)),
        attending=mean(attending),
    )
