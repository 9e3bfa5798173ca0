"""How the weights follow their gradient: AdamW, or Muon for the matrices inside the model.

    AdamW: w <- w - rate m / (sqrt(v) + eps)         m, v: running means of g and of g^2
    Muon:  W <- W - rate 0.2 sqrt(max(n, m)) O(M)    M: running mean of G, one (n m) matrix

O(M) is the nearest matrix to M whose singular values are all 1: every direction that the gradient
points to is followed equally far. The factor makes an element's step about as long as AdamW's, so
that one learning rate serves both. Embeddings, norms and biases always follow AdamW.

Source: Loshchilov and Hutter 2019 (AdamW); Jordan et al. 2024 (Muon);
Liu et al. 2025, section 2.2 (the factor).
"""

import math
from collections.abc import Iterator, Mapping
from typing import Literal

import torch
from torch import nn

from jumok.shapes import Float, Tensor
from jumok.training.parameters import FlatParameters

MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
MUON_FACTOR = 0.2


class Optimizer:
    """Changes `master` by `gradient`, which are flat, and keeps what it remembers of them.

    Args:
        precision: of the products in Muon; bfloat16 where the machine multiplies faster in it.
    """

    def __init__(
        self,
        kind: Literal["adamw", "muon"],
        layout: FlatParameters,
        master: Float[Tensor, " size"],
        gradient: Float[Tensor, " size"],
        betas: tuple[float, float],
        weight_decay: float,
        precision: torch.dtype,
    ) -> None:
        hidden = layout.hidden if kind == "muon" else 0
        self._weights, self._gradient = master[:hidden], gradient[:hidden]
        self._momentum = torch.zeros_like(self._weights)
        self._matrices = layout.matrices if kind == "muon" else []
        self._weight_decay, self._precision = weight_decay, precision
        parts = [(hidden, layout.decayed, weight_decay), (layout.decayed, layout.size, 0.0)]
        self._adamw = torch.optim.AdamW(
            [
                {"params": [_parameter(master, gradient, *span)], "weight_decay": decay}
                for *span, decay in parts
            ],
            betas=betas,
            fused=True,
        )

    def step(self, learning_rate: float) -> None:
        """One step, on the gradient as it stands."""
        for group in self._adamw.param_groups:
            group["lr"] = learning_rate
        self._adamw.step()
        if self._matrices:
            self._muon(learning_rate)

    def state(self) -> dict[str, Tensor]:
        """All that it remembers."""
        moments = {
            f"adamw.{name}.{group}": self._adamw.state[part][name]
            for group, part in enumerate(self._parts())
            for name in self._adamw.state[part]
        }
        return moments | ({"muon.momentum": self._momentum} if self._matrices else {})

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Goes on from what `state` gave."""
        for group, part in enumerate(self._parts()):
            self._adamw.state[part] = {
                name.split(".")[1]: tensor.clone()
                for name, tensor in state.items()
                if name.startswith("adamw.") and name.endswith(f".{group}")
            }
        if self._matrices:
            self._momentum.copy_(state["muon.momentum"])

    def _parts(self) -> Iterator[Tensor]:
        return (group["params"][0] for group in self._adamw.param_groups)

    def _muon(self, learning_rate: float) -> None:
        self._momentum.lerp_(self._gradient, 1 - MOMENTUM)
        ahead = torch.lerp(self._gradient, self._momentum, MOMENTUM)  # Nesterov's
        self._weights *= 1 - learning_rate * self._weight_decay
        for start, shape in self._matrices:
            window = slice(start, start + math.prod(shape))
            update = orthogonalize(ahead[window].view(shape).to(self._precision))
            length = learning_rate * MUON_FACTOR * math.sqrt(max(shape[1:]))
            self._weights[window].view(shape).sub_(update, alpha=length)


def orthogonalize(
    matrices: Float[Tensor, "count rows columns"],
) -> Float[Tensor, "count rows columns"]:
    """Each matrix with its singular values brought near 1 (0.7 to 1.2), its directions kept.

    X <- a X + (b A + c A^2) X with A = X X^T, five times, from the matrix at a norm of 1: an odd
    polynomial of the singular values that pulls them all towards 1.

    Source: Jordan et al. 2024 (the coefficients); Newton and Schulz's iteration.
    """
    a, b, c = NEWTON_SCHULZ
    wide = matrices if matrices.shape[1] <= matrices.shape[2] else matrices.mT
    wide = wide / wide.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        square = wide @ wide.mT
        mixed = torch.baddbmm(square, square, square, beta=b, alpha=c)
        wide = torch.baddbmm(wide, mixed, wide, beta=a)
    return wide if wide.shape == matrices.shape else wide.mT


def _parameter(master: Tensor, gradient: Tensor, start: int, end: int) -> nn.Parameter:
    parameter = nn.Parameter(master[start:end], requires_grad=False)
    parameter.grad = gradient[start:end]
    return parameter
