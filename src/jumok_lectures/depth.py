"""Models without residual connections, or without norms."""

from torch import nn

from jumok.layers.residual import PreNorm
from jumok.models.encoder_decoder import Transformer
from jumok.shapes import States


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


def without_norms(model: Transformer) -> None:
    """Takes the norms out of every block."""
    for stack in (model.encoder, model.decoder):
        _put(WithoutNorm, stack.blocks)
        stack.first_norm = nn.Identity()


def without_residuals_in_encoder(model: Transformer) -> None:
    """Takes the residual connections out of the encoder's blocks.

    Every word can still reach every state, by attention. In a decoder it cannot: behind the
    cross-attention only the source would be left, and the words written so far would be cut off.
    """
    _put(WithoutResidual, model.encoder.blocks)


def _put(kind: type[PreNorm], blocks: nn.ModuleList) -> None:
    for block in blocks:
        for name in ("after_self", "after_cross", "after_feedforward"):
            part = getattr(block, name)
            if isinstance(part, PreNorm):
                setattr(block, name, kind(part.norm, part.dropout))
