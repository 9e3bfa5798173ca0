"""Layer normalization: what it computes, and what it buys.

The notes have LayerNorm(x + F(x)), which is post-norm, as in the paper. Later models normalise
what each part reads, x + F(LayerNorm(x)), which is pre-norm. Whether a norm helps depends on the
learning rate, so that is swept: at each rate a model with each norm, and one without. And a real
vector of a trained model is taken apart: its mean and deviation before the norm, after
(x - mean) / deviation, and after the learned scale and shift.

Source: Ba et al. 2016; Vaswani et al. 2017, section 3.1; Xiong et al. 2020; lectures 000, 001.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from jumok.lab.depth import WithoutNorm, after_every_part
from jumok.lab.findings import Chart, Column, Findings, Series, Setting
from jumok.lab.judging import (
    Condition,
    differences,
    half_width,
    mean,
    relative_gains,
    with_interval,
)
from jumok.lab.small import Small, Trained, first_batch, trained
from jumok.lab.text import Text
from jumok.shapes import Float, Tensor

RATES = (5e-3, 1e-2, 2e-2, 4e-2)
STEPS = 120
GUESSING = math.log(600)  # nats a token of 600 tokens equally likely; a loss above counts as this
APART = 1.0  # the claim: at the highest rate a norm's loss is lower by so many nats
BETTER = 0.05  # and at its best rate by this share of the best without
NEAR = 1e-3  # how far from 0 and 1 mean and deviation may be

NAMES = {
    "pre": Text("pre-norm", "pre-norm"),
    "post": Text("post-norm (the notes)", "post-norm (강의)"),
    "none": Text("no norm", "정규화 없음"),
}


@dataclass(frozen=True)
class Vector:
    """Mean and standard deviation of a vector: before, normalised, and after scale and shift."""

    before: tuple[float, float]
    normalised: tuple[float, float]
    after: tuple[float, float]


def small(name: str, rate: float) -> Small:
    """The usual translator with this norm, or none."""
    change = after_every_part(WithoutNorm) if name == "none" else None
    norm = "post" if name == "post" else "pre"
    return Small({"norm": norm}, change, steps=STEPS, learning_rate=rate)


@torch.no_grad()
def vector(model: Trained, tokens: Tensor) -> Vector:
    """The first token's vector on its way through the first norm of the encoder."""
    encoder = model.transformer.encoder
    stream = encoder.embedding(tokens[:1])[0, 0].float()
    norm = encoder.first_norm
    assert isinstance(norm.weight, Tensor)
    deviation = (stream.var(correction=0) + 1e-5).sqrt()
    normalised = (stream - stream.mean()) / deviation
    return Vector(_moments(stream), _moments(normalised), _moments(norm(stream[None, None])[0, 0]))


def _moments(values: Float[Tensor, " dim"]) -> tuple[float, float]:
    return float(values.mean()), float(values.std(correction=0))


def run(setting: Setting) -> Findings:
    """Trains every norm at every rate, and looks at a vector."""
    setting.say(f"training: {len(NAMES) * len(RATES)} models, {len(setting.seeds)} seeds")
    places = [(name, rate) for name in NAMES for rate in RATES]
    found = trained([small(*place) for place in places], setting)
    runs = dict(zip(places, found, strict=True))
    losses = {
        place: [min(_number(run.validation_loss), GUESSING) for run in of_place]
        for place, of_place in runs.items()
    }
    _, batch = first_batch(small("pre", RATES[1]), setting.seed, setting.cache)
    vectors = [vector(run, batch.source) for run in runs["pre", RATES[1]]]
    return report(losses, vectors)


def _number(loss: float) -> float:
    """A loss that is no number any more is as bad as can be."""
    return loss if math.isfinite(loss) else math.inf


def report(losses: dict[tuple[str, float], list[float]], vectors: Sequence[Vector]) -> Findings:
    """The losses by rate, and the vector."""
    best = {name: min(RATES, key=lambda rate: mean(losses[name, rate])) for name in NAMES}
    return Findings(
        columns=(
            Column(Text("model", "모델")),
            *(
                column
                for rate in RATES
                for column in (
                    Column(Text(f"loss at {rate:g}", f"{rate:g}에서의 손실"), ".2f"),
                    Column(Text("± (95 %)", "± (95%)"), ".2f"),
                )
            ),
        ),
        rows=[
            [
                NAMES[name],
                *(
                    cell
                    for rate in RATES
                    for cell in (mean(losses[name, rate]), half_width(losses[name, rate]))
                ),
            ]
            for name in NAMES
        ],
        figures={
            "losses": {f"{name} {rate:g}": values for (name, rate), values in losses.items()},
            "vectors": [vars(each) for each in vectors],
            "best_rate": best,
        },
        conditions=_conditions(losses, best, vectors),
        sentence=_sentence(losses, best, vectors),
        panels=(_chart(losses),),
    )


def _conditions(
    losses: dict[tuple[str, float], list[float]],
    best: dict[str, float],
    vectors: Sequence[Vector],
) -> list[Condition]:
    last = RATES[-1]
    found = [
        Condition(
            Text(
                f"{NAMES[name].en}: nats below no norm at the highest rate",
                f"{NAMES[name].ko}: 가장 높은 학습률에서 정규화가 없을 때보다 낮은 손실",
            ),
            differences(losses["none", last], losses[name, last]),
            APART,
        )
        for name in ("pre", "post")
    ]
    found += [
        Condition(
            Text(
                f"{NAMES[name].en}: below no norm, each at its best rate",
                f"{NAMES[name].ko}: 각자 가장 좋은 학습률에서 손실이 낮은 정도",
            ),
            relative_gains(losses["none", best["none"]], losses[name, best[name]]),
            BETTER,
            form=".0%",
        )
        for name in ("pre", "post")
    ]
    far = [max(abs(each.normalised[0]), abs(each.normalised[1] - 1.0)) for each in vectors]
    name = Text("mean from 0, deviation from 1, of x̂", "x̂의 평균과 0, 표준편차와 1의 차이")
    return [*found, Condition(name, far, NEAR, above=False, form=".0e")]


def _sentence(
    losses: dict[tuple[str, float], list[float]],
    best: dict[str, float],
    vectors: Sequence[Vector],
) -> Text:
    first = vectors[0]
    high = [with_interval(losses[name, RATES[-1]]) for name in NAMES]
    tops = [f"{with_interval(losses[name, best[name]])} ({best[name]:g})" for name in NAMES]
    moments = [
        f"{each[0]:.2f}, {each[1]:.2f}" for each in (first.before, first.normalised, first.after)
    ]
    return Text(
        f"What a norm buys is the freedom of the learning rate: at {RATES[-1]:g} the loss is "
        f"{high[0]} with pre-norm, {high[1]} with post-norm and {high[2]} without (a loss above "
        f"{GUESSING:.1f}, that of guessing, counts as {GUESSING:.1f}). Each at its best rate: "
        f"{tops[0]}, {tops[1]}, {tops[2]}. A real vector has mean and deviation {moments[0]} "
        f"before the norm, {moments[1]} normalised, and {moments[2]} after the learned scale and "
        "shift: mean 0 and deviation 1 are a stage inside, and not what comes out.",
        f"정규화를 쓰면 학습률을 자유롭게 고를 수 있습니다. 학습률 {RATES[-1]:g}에서 손실은 "
        f"pre-norm {high[0]}, post-norm {high[1]}, 정규화 없음 {high[2]}입니다(찍을 때의 손실 "
        f"{GUESSING:.1f}보다 크면 {GUESSING:.1f}로 셈). 각자 가장 좋은 학습률에서는 {tops[0]}, "
        f"{tops[1]}, {tops[2]}입니다. 실제 벡터의 평균과 표준편차는 정규화 전 {moments[0]}, "
        f"정규화하면 {moments[1]}, 학습된 γ와 β를 거치면 {moments[2]}입니다. 평균 0과 표준편차 "
        "1은 중간 단계이고, 나오는 값은 그렇지 않습니다.",
    )


def _chart(losses: dict[tuple[str, float], list[float]]) -> Chart:
    return Chart(
        Text(f"Loss after {STEPS} steps, by learning rate", f"학습률에 따른 {STEPS}단계 뒤의 손실"),
        Text("learning rate", "학습률"),
        Text("nats per token (mean and range of the seeds)", "토큰당 nat (시드의 평균과 범위)"),
        [
            Series(
                NAMES[name],
                [(rate, mean(losses[name, rate])) for rate in RATES],
                low=[min(losses[name, rate]) for rate in RATES],
                high=[max(losses[name, rate]) for rate in RATES],
            )
            for name in NAMES
        ],
        log_x=True,
        least=0.0,
        marks=((Text("guessing", "찍기"), GUESSING),),
    )
