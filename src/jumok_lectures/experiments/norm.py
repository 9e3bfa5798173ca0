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

from jumok.shapes import Float, Tensor
from jumok_lectures.depth import WithoutNorm, after_every_part
from jumok_lectures.findings import Chart, Findings, Series, Setting
from jumok_lectures.judging import (
    Condition,
    differences,
    half_width,
    mean,
    relative_gains,
    with_interval,
)
from jumok_lectures.small import Small, Trained, first_batch, trained
from jumok_lectures.texts import Texts

T = Texts("norm")

RATES = (5e-3, 1e-2, 2e-2, 4e-2)
STEPS = 120
GUESSING = math.log(600)  # nats a token of 600 tokens equally likely; a loss above counts as this
NEAR = 1e-3  # how far from 0 and 1 mean and deviation may be

NAMES = T.named("names")


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
    first = vectors[0]
    high = [with_interval(losses[name, RATES[-1]]) for name in NAMES]
    tops = [f"{with_interval(losses[name, best[name]])} ({best[name]:g})" for name in NAMES]
    moments = [
        f"{each[0]:.2f}, {each[1]:.2f}" for each in (first.before, first.normalised, first.after)
    ]
    return Findings(
        columns=(
            T.column("model"),
            *(
                column
                for rate in RATES
                for column in (T.column("loss_at_rate_g", rate=rate), T.column("n95"))
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
        sentence=T(
            "sentence",
            rates_last=RATES[-1],
            high=high,
            guessing=GUESSING,
            tops=tops,
            moments=moments,
        ),
        panels=(_chart(losses),),
    )


def _conditions(
    losses: dict[tuple[str, float], list[float]], best: dict[str, float], vectors: Sequence[Vector]
) -> list[Condition]:
    last = RATES[-1]
    found = [
        T.condition(
            "name_nats_below_no",
            differences(losses["none", last], losses[name, last]),
            name=NAMES[name],
        )
        for name in ("pre", "post")
    ]
    found += [
        T.condition(
            "name_below_no_norm",
            relative_gains(losses["none", best["none"]], losses[name, best[name]]),
            name=NAMES[name],
        )
        for name in ("pre", "post")
    ]
    far = [max(abs(each.normalised[0]), abs(each.normalised[1] - 1.0)) for each in vectors]
    name = T("name")
    return [*found, Condition(name, far, NEAR, above=False, form=".0e")]


def _chart(losses: dict[tuple[str, float], list[float]]) -> Chart:
    return T.chart(
        title=T("chart_title", steps=STEPS),
        series=[
            Series.of_seeds(NAMES[name], {rate: losses[name, rate] for rate in RATES})
            for name in NAMES
        ],
        log_x=True,
        least=0.0,
        marks=((T("guessing"), GUESSING),),
    )
