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
from jumok_lectures.depth import without_norms
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import cells, differences, mean, relative_gains
from jumok_lectures.small import Small, Trained, first_batch, trained
from jumok_lectures.texts import Texts

T = Texts("norm")

RATES = (5e-3, 1e-2, 2e-2, 4e-2)
STEPS = 120
GUESSING = math.log(600)  # nats a token of 600 tokens equally likely; a loss above counts as this

NAMES = T.named("names")


@dataclass(frozen=True)
class Vector:
    """Mean and standard deviation of a vector: before, normalised, and after scale and shift."""

    before: tuple[float, float]
    normalised: tuple[float, float]
    after: tuple[float, float]


def small(name: str, rate: float) -> Small:
    """The usual translator with this norm, or none."""
    change = without_norms if name == "none" else None
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
    places = {f"{name} {rate:g}": small(name, rate) for name in NAMES for rate in RATES}
    runs = trained(places, setting)
    losses = {name: [counted(run.validation_loss) for run in own] for name, own in runs.items()}
    middle = f"pre {RATES[1]:g}"
    _, batch = first_batch(places[middle], setting.seed, setting.cache)
    return report(losses, [vector(run, batch.source) for run in runs[middle]])


def counted(loss: float) -> float:
    """The loss, at most that of guessing; so is one that is no number any more."""
    return min(loss, GUESSING) if math.isfinite(loss) else GUESSING


def report(losses: dict[str, list[float]], vectors: Sequence[Vector]) -> Findings:
    """The losses by norm and rate ("pre 0.01"), and the vector."""
    by_rate = {name: {rate: losses[f"{name} {rate:g}"] for rate in RATES} for name in NAMES}
    best = {name: min(own, key=lambda rate: mean(own[rate])) for name, own in by_rate.items()}
    highest = {name: own[RATES[-1]] for name, own in by_rate.items()}
    tops = {name: own[best[name]] for name, own in by_rate.items()}
    moments = {
        name: T("moments", centre=centre, deviation=deviation)
        for name, (centre, deviation) in vars(vectors[0]).items()
    }
    far = [max(abs(each.normalised[0]), abs(each.normalised[1] - 1.0)) for each in vectors]
    return T.findings(
        rows=[
            [NAMES[name], *(cell for values in own.values() for cell in cells(values))]
            for name, own in by_rate.items()
        ],
        figures={"losses": losses, "vectors": [vars(each) for each in vectors], "best_rate": best},
        conditions=[
            *(
                T.condition(
                    "name_nats_below_no",
                    differences(highest["none"], highest[name]),
                    name=NAMES[name],
                )
                for name in ("pre", "post")
            ),
            *(
                T.condition(
                    "name_below_no_norm",
                    relative_gains(tops["none"], tops[name]),
                    name=NAMES[name],
                )
                for name in ("pre", "post")
            ),
            T.condition("mean_and_deviation", far),
        ],
        panels=[
            T.chart(
                [Series.of_seeds(NAMES[name], own) for name, own in by_rate.items()],
                title=T("chart_title", steps=STEPS),
                log_x=True,
                least=0.0,
                marks=((T("guessing"), GUESSING),),
            )
        ],
        columns=[
            T.column("model"),
            *(
                column
                for rate in RATES
                for column in (T.column("loss_at_rate_g", rate=rate), T.column("n95"))
            ),
        ],
        last_rate=RATES[-1],
        highest=highest,
        guessing=GUESSING,
        tops=tops,
        best=best,
        moments=moments,
    )
