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
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.noise import Noise
from jumok.lab.findings import Bars, Column, Findings, Setting
from jumok.lab.judging import Condition, differences, mean
from jumok.lab.text import Text
from jumok.layers.dropout import Dropout
from jumok.layers.feedforward import ACTIVATIONS
from jumok.parts import resolve
from jumok.shapes import States, Tensor

DIM, HIDDEN, HEADS, LENGTH, BATCH = 32, 64, 4, 10, 16
KINDS = ("plain", "gated")
STEPS, RATE, TRAINED_BATCH, TESTED = 400, 5e-3, 64, 500
NOTHING, SOMETHING = 1e-6, 0.01  # relative; float32 rounds at about 1e-7
SOLVED, GAIN = 0.95, 0.15
VARIANTS = {  # with a ReLU; with self-attention
    "alone": (True, False),
    "alone, linear": (False, False),
    "block": (True, True),
    "block, linear": (False, True),
}
NAMES = {
    "alone": Text("feed-forward alone, ReLU", "피드포워드만, ReLU 있음"),
    "alone, linear": Text("feed-forward alone, no ReLU", "피드포워드만, ReLU 없음"),
    "block": Text("with self-attention, ReLU", "셀프 어텐션과 함께, ReLU 있음"),
    "block, linear": Text("with self-attention, no ReLU", "셀프 어텐션과 함께, ReLU 없음"),
}

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
        build = resolve("feedforward", kind)
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


def solved(relu: bool, attends: bool, seed: int) -> float:
    """What was learned of the answer: 1 - cross-entropy / ln 2, unseen words."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    block = ComparingBlock(relu, attends)
    optimizer = torch.optim.Adam(block.parameters(), lr=RATE)

    def draw(count: int) -> tuple[Tensor, Tensor]:
        bits = torch.randint(2, (count, LENGTH, 2), generator=generator)
        return 2.0 * bits - 1.0, (bits[..., 0] == bits[..., 1]).float()

    for _ in range(STEPS):
        features, equal = draw(TRAINED_BATCH)
        loss = nn.functional.binary_cross_entropy_with_logits(block(features), equal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        features, equal = draw(TESTED)
        loss = nn.functional.binary_cross_entropy_with_logits(block(features), equal)
        return 1.0 - float(loss) / math.log(2.0)


def run(setting: Setting) -> Findings:
    """Every layer, and the block with and without its nonlinearity."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in setting.seeds:
        for name, layer in layers(seed).items():
            found.setdefault(name, []).append(reach(layer, seed))
    reached = {
        name: Reached(*(list(each) for each in zip(*seeds, strict=True)))
        for name, seeds in found.items()
    }
    setting.say("training: with and without the ReLU")
    right = {
        name: [solved(*kind, seed) for seed in setting.seeds] for name, kind in VARIANTS.items()
    }
    return report(reached, right)


def conditions(reached: dict[str, Reached], right: dict[str, list[float]]) -> tuple[Condition, ...]:
    """Nothing elsewhere, the same order, and the control; then what the ReLU is for."""
    own = [each for name, each in reached.items() if name != "self-attention"]
    control = reached["self-attention"]
    return (
        Condition(
            Text("change of the other outputs", "다른 위치의 출력이 달라진 정도"),
            [max(seeds) for seeds in zip(*(each.others for each in own), strict=True)],
            NOTHING,
            above=False,
            form=".0e",
        ),
        Condition(
            Text("permuted words, outputs not permuted", "순서를 바꾼 출력과의 차이"),
            [max(seeds) for seeds in zip(*(each.permuted for each in own), strict=True)],
            NOTHING,
            above=False,
            form=".0e",
        ),
        Condition(
            Text("change of the word's own output", "바꾼 단어 자신의 출력이 달라진 정도"),
            [min(seeds) for seeds in zip(*(each.own for each in own), strict=True)],
            SOMETHING,
        ),
        Condition(
            Text("control: other outputs in self-attention", "대조: 셀프 어텐션에서 다른 출력"),
            control.others,
            SOMETHING,
        ),
        Condition(
            Text(
                "learned by a feed-forward network alone (002:34)",
                "피드포워드만으로 배운 정도 (002:34)",
            ),
            right["alone"],
            SOLVED,
            form=".0%",
        ),
        Condition(
            Text("the same, minus without the ReLU", "ReLU가 없을 때와의 차이"),
            differences(right["alone"], right["alone, linear"]),
            GAIN,
            form=".0%",
        ),
        Condition(
            Text(
                "with self-attention, minus without the ReLU",
                "셀프 어텐션과 함께일 때, ReLU가 없을 때와의 차이",
            ),
            differences(right["block"], right["block, linear"]),
            GAIN,
            form=".0%",
        ),
    )


def report(reached: dict[str, Reached], right: dict[str, list[float]]) -> Findings:
    """A row for each layer."""
    return Findings(
        columns=(
            Column(Text("layer", "층")),
            Column(Text("own output", "자신의 출력"), ".2f"),
            Column(Text("largest change elsewhere", "다른 위치의 최대 변화"), ".1e"),
            Column(Text("permuted", "순서를 바꾼 차이"), ".1e"),
        ),
        rows=[
            [name, mean(each.own), max(each.others), max(each.permuted)]
            for name, each in reached.items()
        ],
        figures={
            "layers": {name: vars(each) for name, each in reached.items()},
            "learned": right,
        },
        conditions=conditions(reached, right),
        sentence=_sentence(reached, right),
        panels=(
            Bars(
                Text(
                    "Another word in one place: change elsewhere", "단어 하나를 바꾸면: 다른 위치"
                ),
                Text("largest change of another output, relative", "다른 출력의 최대 변화, 상대값"),
                [(Text(name, name), max(each.others)) for name, each in reached.items()],
                form=".2g",
            ),
            Bars(
                Text("Are this word's two features equal?", "단어의 두 특징이 같은가?"),
                Text("share of the uncertainty that is gone", "불확실성이 줄어든 비율"),
                [(NAMES[name], mean(seeds)) for name, seeds in right.items()],
                form=".0%",
            ),
        ),
    )


def _sentence(reached: dict[str, Reached], right: dict[str, list[float]]) -> Text:
    own = [each for name, each in reached.items() if name != "self-attention"]
    others = max(max(each.others) for each in own)
    least = min(min(each.own) for each in own)
    control = mean(reached["self-attention"].others)
    alone, linear, attending = (
        mean(right[name]) for name in ("alone", "alone, linear", "block, linear")
    )
    return Text(
        f"In all {len(own)} feed-forward layers another word changes its own output by "
        f"{least:.0%} or more and every other output by at most {others:.1g}; self-attention "
        f"changes others by up to {control:.0%}. Asked whether a word's two features "
        f"are equal, a feed-forward network alone learns {alone:.0%} of the answer, without its "
        f"ReLU {abs(linear):.0%}. Beside self-attention it learns {attending:.0%} without a ReLU: "
        "softmax is a nonlinearity, too.",
        f"피드포워드 층 {len(own)}가지 모두에서 단어 하나를 바꾸면 자신의 출력은 {least:.0%} 이상, "
        f"다른 출력은 많아야 {others:.1g} 달라집니다. 셀프 어텐션에서는 다른 출력이 "
        f"{control:.0%}까지 달라집니다. 단어의 두 특징이 같은지를 피드포워드만으로는 {alone:.0%}, "
        f"ReLU를 빼면 {abs(linear):.0%} 배웁니다. 셀프 어텐션이 함께 있으면 ReLU가 없어도 "
        f"{attending:.0%} 배웁니다. softmax도 비선형이기 때문입니다.",
    )
