"""Residual connections: H(x) = x + F(x).

The input of a part is handed past it and added to what it made. The notes say that such a model
has only the residual to learn and so converges faster. Tried: training with and without, and the
gradient that reaches the first of many layers. They are taken out of the encoder alone, where
attention still carries every word to every layer: that model is slower and not cut, as it shows
when it is trained for longer.

Source: He et al. 2016; Xiong et al. 2020, figure 3 (gradients by layer); lectures 000, 001.
"""

from dataclasses import replace

from jumok.data.pairs.batches import Batch
from jumok.models.encoder_decoder import Transformer
from jumok.training.objectives import translation
from jumok_lectures.contest import COLUMNS, Contest, contest
from jumok_lectures.depth import without_residuals_in_encoder
from jumok_lectures.findings import Findings, Series, Setting
from jumok_lectures.judging import cells, compared, relative_gains
from jumok_lectures.small import Small, Trained, first_batch
from jumok_lectures.texts import Texts

T = Texts("residual")

LAYERS = {"encoder_layers": 4, "decoder_layers": 1}
LONGER = 2  # times the steps, for the model without
DEEP = 12  # encoder layers for the gradient; models this deep are not trained

NAMES = T.named("names")


def share_of_steps(model: Trained, without: Trained) -> float:
    """The steps to the loss at which `without` ends, as a share of all; 1 where it stays above."""
    steps = model.steps_to(without.curve()[-1][1])
    return 1.0 if steps is None else steps / len(without.losses)


def gradient_by_layer(model: Transformer, batch: Batch) -> list[float]:
    """The norm of the loss's gradient in each layer of the encoder, from the first."""
    model.train()
    loss = translation(model, batch, 0.0) / batch.targets
    loss.backward()
    return [
        sum(float(p.grad.norm()) ** 2 for p in block.parameters() if p.grad is not None) ** 0.5
        for block in model.encoder.blocks
    ]


def fall(gradient: list[float]) -> float:
    """The first layer's gradient as a share of the last one's."""
    return gradient[0] / gradient[-1] if gradient[-1] else 0.0


def run(setting: Setting) -> Findings:
    """Trains both, the one without also for longer, and measures gradients before training."""
    without = Small(LAYERS, without_residuals_in_encoder)
    variants = {
        "with": Small(LAYERS),
        "without": without,
        "longer": replace(without, steps=LONGER * without.steps),
    }
    made = contest(variants, NAMES, setting)
    gradients = {}
    for name in ("with", "without"):
        deep = replace(variants[name], model={"encoder_layers": DEEP})
        gradients[name] = [
            gradient_by_layer(*first_batch(deep, seed, setting.cache)) for seed in setting.seeds
        ]
    return report(made, gradients)


def report(made: Contest, gradients: dict[str, list[list[float]]]) -> Findings:
    """Who needs how many steps, and who ends at which loss.

    Args:
        gradients: of each seed the gradient by layer.
    """
    shares = [
        share_of_steps(*both) for both in zip(made.runs["with"], made.runs["without"], strict=True)
    ]
    gains = relative_gains(made.losses("without"), made.losses("with"))
    later = relative_gains(made.losses("without"), made.losses("longer"))
    falls = {name: [fall(each) for each in own] for name, own in gradients.items()}
    gradient_cells = {name: cells(own) for name, own in falls.items()}
    return T.findings(
        rows=[
            [NAMES[name], *made.row(name), *gradient_cells.get(name, [None, None])]
            for name in NAMES
        ],
        figures={
            **made.figures(),
            "gradients": gradients,
            "share_of_steps": shares,
            "gain": gains,
            "gain_of_more_steps": later,
        },
        conditions=[
            T.condition("steps_that_it_needs", shares),
            T.condition("final_loss_is_lower", gains),
            T.condition("control_still_learns", later),
        ],
        panels=[
            made.curves(
                T("title", encoder=LAYERS["encoder_layers"], decoder=LAYERS["decoder_layers"])
            ),
            T.chart(
                [
                    Series.of_seeds(NAMES[name], dict(enumerate(zip(*own, strict=True), 1)))
                    for name, own in gradients.items()
                ],
                title=T("chart_title", deep=DEEP),
                log_y=True,
            ),
        ],
        columns=[T.column("model"), *COLUMNS, T.column("gradient_first_layer_last"), COLUMNS[-1]],
        needed=shares,
        gained=compared(gains),
        losses={name: made.loss(name) for name in NAMES},
        later=compared(later),
        times=LONGER,
        deep=DEEP,
        falls=falls,
    )
