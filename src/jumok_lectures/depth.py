"""What residual and norm labs share: models without the one or the other, and gradients by depth.

Source: He et al. 2016; Ba et al. 2016; Xiong et al. 2020, figure 3 (gradients by layer).
"""

from functools import partial

from torch import nn

from jumok.data.pairs.batches import Batch
from jumok.layers.residual import PreNorm
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import States
from jumok.training.objectives import translation
from jumok_lectures.findings import Chart, Series
from jumok_lectures.small import ModelChange
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("depth")

DEEP = 12  # encoder layers for the gradient; models this deep are not trained


class WithoutResidual(PreNorm):
    """norm(update), without the residual connection."""

    def forward(self, stream: States, update: States) -> tuple[States, States]:  # noqa: ARG002
        """Gives (update, norm(update))."""
        return update, self.norm(update)


class WithoutNorm(PreNorm):
    """stream + update, without normalization."""

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives the sum twice."""
        return stream + update, stream + update


def after_every_part(kind: type[PreNorm]) -> ModelChange:
    """A change that puts `kind` behind every part of every block."""
    return partial(_put, kind)


def _put(kind: type[PreNorm], model: Transformer) -> None:
    for stack in (model.encoder.blocks, model.decoder.blocks):
        for block in stack:
            for name in ("after_self", "after_cross", "after_feedforward"):
                part = getattr(block, name)
                if isinstance(part, PreNorm):
                    setattr(block, name, kind(part.norm, part.dropout))
    if kind is WithoutNorm:
        model.encoder.first_norm = nn.Identity()
        model.decoder.first_norm = nn.Identity()


def gradient_by_layer(model: Transformer, batch: Batch) -> list[float]:
    """The norm of the loss's gradient in each layer of the encoder, from the first."""
    model.train()
    loss = translation(model, batch, 0.0) / batch.targets
    loss.backward()
    return [
        sum(float(p.grad.norm()) ** 2 for p in block.parameters() if p.grad is not None) ** 0.5
        for block in model.encoder.blocks
    ]


def gradient_chart(names: dict[str, Text], gradients: dict[str, list[float]]) -> Chart:
    """Gradients by layer, on a scale of powers."""
    series = [
        Series(names[name], [(float(layer), value) for layer, value in enumerate(values, start=1)])
        for name, values in gradients.items()
    ]
    return T.chart(
        title=T("chart_title", deep=DEEP),
        series=series,
        log_y=True,
    )


def fall(gradient: list[float]) -> float:
    """The first layer's gradient as a share of the last one's."""
    return gradient[0] / gradient[-1] if gradient[-1] else 0.0
