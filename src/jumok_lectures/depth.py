"""Models without residual connections, or without norms."""

from functools import partial

from torch import nn

from jumok.layers.residual import PreNorm
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import States
from jumok_lectures.small import ModelChange


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
