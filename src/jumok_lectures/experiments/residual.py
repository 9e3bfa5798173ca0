"""Residual connections: H(x) = x + F(x).

The input of a part is handed past it and added to what it made. The notes say that such a model
has only the residual to learn and so converges faster. Tried: training with and without, and the
gradient that reaches the first of many layers.

Source: He et al. 2016; lectures 000, 001.
"""

from jumok_lectures.contest import COLUMNS, contest
from jumok_lectures.depth import (
    DEEP,
    WithoutResidual,
    after_every_part,
    fall,
    gradient_by_layer,
    gradient_chart,
)
from jumok_lectures.findings import Findings, Setting
from jumok_lectures.judging import mean, relative_gains, with_interval
from jumok_lectures.small import Small, Trained, first_batch
from jumok_lectures.texts import Texts

T = Texts("residual")

LAYERS = 3

NAMES = T.named("names")


def share_of_steps(model: Trained, without: Trained) -> float:
    """The steps to the loss at which `without` ends, as a share of all; 1 where it stays above."""
    steps = model.steps_to(without.curve()[-1][1])
    return 1.0 if steps is None else steps / len(without.losses)


def run(setting: Setting) -> Findings:
    """Trains both, and measures their gradients before training."""
    changes = {"with": None, "without": after_every_part(WithoutResidual)}
    sizes = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    found = contest({name: Small(sizes, changes[name]) for name in NAMES}, NAMES, setting)
    gradients = {}
    for name in NAMES:
        deep = Small({"encoder_layers": DEEP}, changes[name])
        gradients[name] = gradient_by_layer(*first_batch(deep, setting.seed, setting.cache))
    shares = [
        share_of_steps(*both)
        for both in zip(found.runs["with"], found.runs["without"], strict=True)
    ]
    gains = relative_gains(found.losses("without"), found.losses("with"))
    falls = {name: fall(gradient) for name, gradient in gradients.items()}
    needed, gained = with_interval(shares, ".0%"), with_interval(gains, ".0%")
    return Findings(
        columns=(T.column("model"), *COLUMNS, T.column("gradient_first_layer_last")),
        rows=[[NAMES[name], *found.row(name), falls[name]] for name in NAMES],
        figures={
            **found.figures(),
            "gradients": gradients,
            "share_of_steps": shares,
            "gain": gains,
        },
        conditions=(
            T.condition("steps_that_it_needs", shares),
            T.condition("final_loss_is_lower", gains),
        ),
        sentence=T(
            "sentence",
            needed=needed,
            gained=gained,
            losses_with=mean(found.losses("with")),
            losses_without=mean(found.losses("without")),
            deep=DEEP,
            falls=falls,
        ),
        panels=(found.curves(T("title", layers=LAYERS)), gradient_chart(NAMES, gradients)),
    )
