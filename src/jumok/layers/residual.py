"""The residual stream and its norm, in the two orders that are in use.

A block's part reads `normed` and its output is added to `stream`. Pre-norm keeps the stream
itself untouched by norms; post-norm (the original) normalises the stream, so both are the same.

Source: He et al. 2016; Ba et al. 2016; Vaswani et al. 2017, section 3.1 (post-norm);
Xiong et al. 2020 (pre-norm); lecture 000.
"""

from torch import nn

from jumok.kernels.plain import plain
from jumok.kernels.residual import add_norm
from jumok.layers.dropout import Dropout
from jumok.shapes import States


class PreNorm(nn.Module):
    """stream + dropout(update), and the norm of that for the part that comes next."""

    def __init__(self, dim: int, dropout: Dropout) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.dropout = dropout

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (stream, normed)."""
        return self._added(stream, update)

    def _added(self, stream: States, update: States) -> tuple[States, States]:
        """In one pass, unless a hook wants to see its parts at work."""
        if plain(self.norm, nn.LayerNorm) and plain(self.dropout, Dropout):
            return add_norm(stream, update, self.norm, self.dropout.draw())
        total = stream + self.dropout(update)
        return total, self.norm(total)


class PostNorm(PreNorm):
    """norm(stream + dropout(update)), which is both the stream and what the next part reads."""

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (normed, normed)."""
        _, normed = self._added(stream, update)
        return normed, normed
