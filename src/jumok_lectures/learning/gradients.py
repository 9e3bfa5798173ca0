"""All of it is differentiable: a gradient reaches every source word.

Tried on whole models of jumok with random weights, as the claim is about the structure: an RNN with
one context vector, the same with Bahdanau's attention, and a Transformer. The gradient of each
target word's loss is taken with respect to the vector of each source word. A finite difference
checks it. The control is hard attention (the best key takes all), through which no gradient reaches
the scores.

How much arrives is another matter: from one vector, the way to the first word is as long as the
sentence, and the gradient fades; attention is one step away from every word.

Source: lecture 004; Bahdanau et al. 2015; Xu et al. 2015, section 4 (hard attention needs another
way of training); Bengio et al. 1994 (fading gradients).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel
from jumok.shapes import Float, Int, Tensor
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import mean
from jumok_lectures.texts import Texts

T = Texts("gradients")

WORDS, DIM, TARGETS, BATCH = 50, 32, 6, 4
NAMES = T.named("names")
NUDGE = 1e-2  # additive scores are computed in float32, which rounds away smaller ones


@dataclass(frozen=True)
class Flow:
    """How a gradient spreads over the source words, one number a seed.

    Attributes:
        least: the smallest of all words and target words, as a share of the largest one.
        first: the first source word's, as a share of the last one's.
    """

    least: list[float]
    first: list[float]


def model(kind: str, seed: int) -> SequenceToSequence:
    """An untrained model in float64; the RNN reads from the left, as in the note."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if kind == "transformer":
            sizes = {"dim": DIM, "heads": 4, "encoder_layers": 1, "decoder_layers": 1}
            built: SequenceToSequence = Transformer(
                TransformerConfig.model_validate({**sizes, "feedforward": DIM, "dropout": 0.0}),
                WORDS,
            )
        else:
            attention = "additive" if kind == "attention" else "none"
            keys = {"kind": "rnn", "dim": DIM, "embedding": DIM, "bidirectional": False}
            section = {**keys, "attention": attention, "dropout": 0.0}
            built = RecurrentModel(RecurrentConfig.model_validate(section), WORDS)
    return built.double().eval()


def losses(
    kind: SequenceToSequence, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch 1"]
) -> Float[Tensor, " target"]:
    """The loss of each target word, given those before it; summed over the batch."""
    logits = kind.decoder(kind.encode(source), target[:, :-1])
    chosen = logits.log_softmax(-1).gather(-1, target[:, 1:, None])[..., 0]
    return -chosen.sum(0)


def embedding(kind: SequenceToSequence) -> nn.Module:
    """What turns the source words into vectors."""
    return kind.get_submodule("encoder.embedding")


def gradients(
    kind: SequenceToSequence, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch 1"]
) -> Float[Tensor, "target source"]:
    """The norm of each target word's gradient at each source word's vector."""
    kept: list[Tensor] = []
    hook = embedding(kind).register_forward_hook(lambda _, __, output: kept.append(output))
    each = losses(kind, source, target)
    hook.remove()
    rows = [
        torch.autograd.grad(loss, kept[0], retain_graph=True)[0].norm(dim=-1).mean(0)
        for loss in each
    ]
    return torch.stack(rows)


def disagreement(kind: SequenceToSequence, source: Tensor, target: Tensor) -> float:
    """The gradient against a finite difference in its own direction, relative."""
    width = (*source.shape, DIM)

    def loss(nudge: Tensor) -> Tensor:
        hook = embedding(kind).register_forward_hook(lambda _, __, output: output + nudge)
        total = losses(kind, source, target).sum()
        hook.remove()
        return total

    nudge = torch.zeros(width, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(nudge), nudge)
    expected = float(gradient.norm())
    direction = gradient / expected
    with torch.no_grad():
        ends = loss(NUDGE * direction), loss(-NUDGE * direction)
    return abs(float(ends[0] - ends[1]) / (2.0 * NUDGE) - expected) / expected


def hard_attention(seed: int) -> tuple[float, float]:
    """The norm of the gradient at the scores: of soft attention, and of the best key alone."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(8, generator=generator, dtype=torch.float64, requires_grad=True)
    values = torch.randn(8, DIM, generator=generator, dtype=torch.float64)
    (soft,) = torch.autograd.grad((scores.softmax(-1) @ values).square().sum(), scores)
    chosen = torch.nn.functional.one_hot(scores.argmax(), 8).double()
    hard = (chosen @ values).square().sum()
    reaches = hard.requires_grad and torch.autograd.grad(hard, scores)[0].norm()
    return float(soft.norm()), float(reaches)


def sentences(length: int, seed: int) -> tuple[Int[Tensor, "batch source"], Int[Tensor, "batch 1"]]:
    """Random words to read, and to write."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(WORDS, (BATCH, length), generator=generator)
    return source, torch.randint(WORDS, (BATCH, TARGETS + 1), generator=generator)


def flow(name: str, length: int, seeds: Sequence[int]) -> Flow:
    """How the gradient of a model spreads, with every seed."""
    least, first = [], []
    for seed in seeds:
        norms = gradients(model(name, seed), *sentences(length, seed))
        least.append(float(norms.min() / norms.max()))
        share = norms.mean(0)
        first.append(float(share[0] / share[-1]))
    return Flow(least, first)


def run(setting: Setting, lengths: Sequence[int] = (5, 10, 20, 40)) -> Findings:
    """Every model at every length."""
    flows: dict[str, dict[int, Flow]] = {}
    for name in NAMES:
        setting.say(f"gradients: {NAMES[name].en}")
        flows[name] = {length: flow(name, length, setting.seeds) for length in lengths}
    checked = [
        disagreement(model(name, seed), *sentences(lengths[0], seed))
        for name in NAMES
        for seed in setting.seeds
    ]
    return report(flows, checked, [hard_attention(seed) for seed in setting.seeds])


def report(
    flows: dict[str, dict[int, Flow]], checked: list[float], attention: list[tuple[float, float]]
) -> Findings:
    """A row for each model and length.

    Args:
        attention: the gradients at the scores: of soft attention, and of hard attention.
    """
    soft, hard = ([each[kind] for each in attention] for kind in (0, 1))
    longest = max(flows["attention"])
    ends = {name: own[longest] for name, own in flows.items()}
    gains = [
        math.log10(attended / one)
        for attended, one in zip(ends["attention"].first, ends["one vector"].first, strict=True)
    ]
    series = {
        name: [(float(length), mean(each.first)) for length, each in own.items()]
        for name, own in flows.items()
    }
    return T.findings(
        rows=[
            [NAMES[name], length, mean(each.least), mean(each.first)]
            for name, own in flows.items()
            for length, each in own.items()
        ],
        figures={
            "flows": {
                name: {str(length): vars(each) for length, each in own.items()}
                for name, own in flows.items()
            },
            "finite_difference": checked,
            "soft_attention": soft,
            "hard_attention": hard,
        },
        conditions=[
            *(
                T.condition(
                    "name_least_gradient_longest",
                    ends[name].least,
                    name=NAMES[name],
                    longest=longest,
                )
                for name in ("attention", "transformer")
            ),
            T.condition("gradient_against_a_finite", [max(checked)]),
            T.condition("left_at_the_first", gains),
            T.condition("control_hard_attention_s", [max(hard)]),
        ],
        panels=[
            T.chart(
                [Series(NAMES[name], points) for name, points in series.items()],
                log_x=True,
                log_y=True,
            )
        ],
        checked=max(checked),
        longest=longest,
        first={name: mean(each.first) for name, each in ends.items()},
    )
