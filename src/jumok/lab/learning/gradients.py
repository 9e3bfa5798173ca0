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
from dataclasses import dataclass

import torch
from torch import nn

from jumok.config.recurrent import RecurrentConfig
from jumok.config.transformer import TransformerConfig
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import Condition, mean
from jumok.lab.text import Text
from jumok.models.encoder_decoder import Transformer
from jumok.models.memory import SequenceToSequence
from jumok.models.recurrent import RecurrentModel
from jumok.shapes import Float, Int, Tensor

WORDS, DIM, TARGETS, BATCH = 50, 32, 6, 4
LENGTHS = (5, 10, 20, 40)
NAMES = {
    "one vector": Text("RNN, one vector", "RNN, 벡터 하나"),
    "attention": Text("RNN with attention", "어텐션이 있는 RNN"),
    "transformer": Text("Transformer", "트랜스포머"),
}
REACHED = 0.0  # more than nothing
AGREES = 1e-3  # of a finite difference, relative
ONE_STEP = 10.0  # by this many times more of the gradient is left at the first word
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
    found = kind.get_submodule("encoder.embedding")
    assert isinstance(found, nn.Module)
    return found


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


def run(setting: Setting) -> Findings:
    """Every model at every length, with random words."""
    flows: dict[str, dict[int, Flow]] = {name: {} for name in NAMES}
    checked = []
    for name, flow in flows.items():
        setting.say(f"gradients: {NAMES[name].en}")
        for length in LENGTHS:
            least, first = [], []
            for seed in setting.seeds:
                generator = torch.Generator().manual_seed(seed)
                source = torch.randint(WORDS, (BATCH, length), generator=generator)
                target = torch.randint(WORDS, (BATCH, TARGETS + 1), generator=generator)
                made = model(name, seed)
                found = gradients(made, source, target)
                least.append(float(found.min() / found.max()))
                share = found.mean(0)
                first.append(float(share[0] / share[-1]))
                if length == LENGTHS[0]:
                    checked.append(disagreement(made, source, target))
            flow[length] = Flow(least, first)
    return report(flows, checked, [hard_attention(seed) for seed in setting.seeds])


def conditions(
    flows: dict[str, dict[int, Flow]], checked: list[float], hard: list[tuple[float, float]]
) -> tuple[Condition, ...]:
    """Every word is reached with attention; the gradient is one; the control shows none."""
    longest = LENGTHS[-1]
    reached = [
        Condition(
            Text(
                f"{NAMES[name].en}: least gradient, {longest} words",
                f"{NAMES[name].ko}: 가장 작은 기울기, 단어 {longest}개",
            ),
            flows[name][longest].least,
            REACHED,
            form=".0e",
        )
        for name in ("attention", "transformer")
    ]
    gains = [
        math.log10(with_attention / one)
        for with_attention, one in zip(
            flows["attention"][longest].first, flows["one vector"][longest].first, strict=True
        )
    ]
    return (
        *reached,
        Condition(
            Text("gradient against a finite difference", "기울기와 유한 차분의 차이"),
            [max(checked)],
            AGREES,
            above=False,
            form=".0e",
        ),
        Condition(
            Text(
                "left at the first word, attention over one vector (powers of 10)",
                "첫 단어에 남은 기울기, 어텐션 대 벡터 하나 (10의 거듭제곱)",
            ),
            gains,
            math.log10(ONE_STEP),
            form=".1f",
        ),
        Condition(
            Text("control: hard attention's gradient", "대조: 하드 어텐션의 기울기"),
            [max(each for _, each in hard)],
            1e-12,
            above=False,
            form=".0e",
        ),
    )


def report(
    flows: dict[str, dict[int, Flow]], checked: list[float], hard: list[tuple[float, float]]
) -> Findings:
    """A row for each model and length."""
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            Column(Text("source words", "출발어 단어 수"), "d"),
            Column(Text("least / largest gradient", "가장 작은 / 가장 큰 기울기"), ".1e"),
            Column(Text("first / last word", "첫 단어 / 마지막 단어"), ".1e"),
        ),
        rows=[
            [NAMES[name], length, mean(each.least), mean(each.first)]
            for name, flow in flows.items()
            for length, each in flow.items()
        ],
        figures={
            "flows": {
                name: {str(length): vars(each) for length, each in flow.items()}
                for name, flow in flows.items()
            },
            "finite_difference": checked,
            "soft_attention": [soft for soft, _ in hard],
            "hard_attention": [each for _, each in hard],
        },
        conditions=conditions(flows, checked, hard),
        sentence=_sentence(flows, checked),
        panels=(
            Chart(
                Text("How much gradient is left at the first word", "첫 단어에 남은 기울기"),
                Text("source words", "출발어 단어 수"),
                Text("first word's / last word's", "첫 단어 / 마지막 단어"),
                [
                    Series(
                        NAMES[name],
                        [(float(length), mean(each.first)) for length, each in flow.items()],
                    )
                    for name, flow in flows.items()
                ],
                log_x=True,
                log_y=True,
            ),
        ),
    )


def _sentence(flows: dict[str, dict[int, Flow]], checked: list[float]) -> Text:
    longest = LENGTHS[-1]
    one, attention, transformer = (
        mean(flows[name][longest].first) for name in ("one vector", "attention", "transformer")
    )
    return Text(
        "A gradient of every target word's loss reaches every source word, and it is one (a finite "
        f"difference agrees to {max(checked):.0e}); through hard attention none reaches the "
        f"scores. How much arrives differs: of {longest} words the first one gets {one:.0e} of "
        f"the last one's gradient from a single vector, {attention:.2g} of it with attention, and "
        f"{transformer:.2g} in a Transformer (untrained models).",
        "모든 도착어 단어의 손실에서 모든 출발어 단어로 기울기가 전해지며, 유한 차분과도 "
        f"일치합니다(차이 {max(checked):.0e}). 하드 어텐션에서는 점수로 기울기가 전해지지 "
        f"않습니다. 다만 전해지는 양은 다릅니다. 단어 {longest}개 중 첫 단어의 기울기는 마지막 "
        f"단어에 비해 벡터 하나로는 {one:.0e}배, 어텐션이 있으면 {attention:.2g}배, "
        f"트랜스포머에서는 {transformer:.2g}배입니다(학습 전 모델).",
    )
