"""The residual stream and its norm, in the two orders that are in use.

A block's part reads `normed` and its output is added to `stream`. Pre-norm keeps the stream
itself untouched by norms; post-norm (the original) normalises the stream, so both are the same.

Source: He et al. 2016; Ba et al. 2016; Vaswani et al. 2017, section 3.1 (post-norm);
Xiong et al. 2020 (pre-norm); Wang and Komatsuzaki 2021 (GPT-J, parallel); lecture 000.
"""

from torch import nn

from jumok.kernels import residual as kernel
from jumok.kernels.plain import is_unpatched
from jumok.layers.dropout import Dropout
from jumok.layers.interfaces import Norm
from jumok.shapes import States


class PreNorm(nn.Module):
    """stream + dropout(update), and the norm of that for the part that comes next."""

    def __init__(self, norm: Norm, dropout: Dropout) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = dropout

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (stream, normed).

        In one pass if there is a kernel, unless a hook wants to see its parts at work.
        """
        if kernel.knows(self.norm) and is_unpatched(self.dropout, Dropout):
            return kernel.add_norm(stream, update, self.norm, self.dropout.draw())
        total = stream + self.dropout(update)
        return total, self.norm(total)


class PostNorm(PreNorm):
    """norm(stream + dropout(update)), which is both the stream and what the next part reads."""

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (normed, normed)."""
        _, normed = super().forward(stream, update)
        return normed, normed


class BesideNorm(PreNorm):
    """The same stream as of a PreNorm, but the next part reads the norm of what this one read: the
    two run in parallel.
    """

    def forward(self, stream: States, update: States) -> tuple[States, States]:
        """Gives (stream, normed)."""
        return stream + self.dropout(update), self.norm(stream)
