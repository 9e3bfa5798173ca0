"""The optimizers: AdamW, or Muon for the matrices inside the model.

    AdamW: w <- w - rate m / (sqrt(v) + eps)         m, v: running means of g and of g^2
    Muon:  W <- W - rate 0.2 sqrt(max(n, m)) O(M)    M: running mean of G, one (n m) matrix

O(M) is the nearest matrix to M whose singular values are all 1: the step is equally long in every
direction of the gradient. The factor makes an element's step about as long as AdamW's, so that one
learning rate suits both. Embeddings, norms and biases always use AdamW.

Source: Loshchilov and Hutter 2019 (AdamW); Jordan et al. 2024 (Muon);
Liu et al. 2025, section 2.2 (the factor).
"""

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Literal

import torch

from jumok.shapes import Float, Tensor
from jumok.training.optimization.parameters import FlatParameters

EPSILON = 1e-8
MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
MUON_FACTOR = 0.2


class _Row:
    """Weights that use AdamW, and the moments of their gradient.

    It calls the function behind torch.optim.AdamW(fused=True). The class itself would import
    torch's compiler, which takes 2.6 seconds and is not used here.
    """

    def __init__(
        self, weights: Float[Tensor, " row"], gradient: Float[Tensor, " row"], decay: float
    ) -> None:
        self.weights, self.gradient, self.decay = weights, gradient, decay
        self.moments = {
            "exp_avg": torch.zeros_like(weights),
            "exp_avg_sq": torch.zeros_like(weights),
            "step": torch.zeros((), device=weights.device),
        }

    def step(self, learning_rate: float, betas: tuple[float, float]) -> None:
        """One step of AdamW."""
        mean, square, steps = self.moments.values()
        steps += 1
        torch._fused_adamw_(
            [self.weights], [self.gradient], [mean], [square], [], [steps],
            lr=learning_rate, beta1=betas[0], beta2=betas[1], weight_decay=self.decay,
            eps=EPSILON, amsgrad=False, maximize=False,
        )  # fmt: skip


class Optimizer:
    """Updates `master` by `gradient`, which are flat, and keeps the moments.

    Args:
        precision: of the products in Muon; bfloat16 where it is faster on this machine.
        pool: threads of one core each, which share Muon's matrices: the bits of a product may
            depend on the number of cores that compute it.
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
        pool: Executor,
    ) -> None:
        hidden = layout.hidden if kind == "muon" else 0
        self._weights, self._gradient = master[:hidden], gradient[:hidden]
        self._momentum = torch.zeros_like(self._weights)
        self._matrices = layout.matrices if kind == "muon" else []
        self._weight_decay, self._precision, self._pool = weight_decay, precision, pool
        self._betas = betas
        spans = ((hidden, layout.decayed, weight_decay), (layout.decayed, layout.size, 0.0))
        self._rows = [
            _Row(master[start:end], gradient[start:end], decay) for start, end, decay in spans
        ]

    def step(self, learning_rate: float) -> None:
        """One step with the current gradient."""
        for row in self._rows:
            row.step(learning_rate, self._betas)
        if self._matrices:
            self._muon(learning_rate)

    def state(self) -> dict[str, Tensor]:
        """Its moments."""
        moments = {
            f"adamw.{name}.{number}": tensor
            for number, row in enumerate(self._rows)
            for name, tensor in row.moments.items()
        }
        return moments | ({"muon.momentum": self._momentum} if self._matrices else {})

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restores the result of `state`."""
        for name, tensor in self.state().items():
            tensor.copy_(state[name])

    def _muon(self, learning_rate: float) -> None:
        self._momentum.lerp_(self._gradient, 1 - MOMENTUM)
        ahead = torch.lerp(self._gradient, self._momentum, MOMENTUM)  # Nesterov's
        self._weights *= 1 - learning_rate * self._weight_decay

        def turn(stack: tuple[int, tuple[int, int, int]]) -> None:
            start, shape = stack
            window = slice(start, start + math.prod(shape))
            update = orthogonalize(ahead[window].view(shape).to(self._precision))
            length = learning_rate * MUON_FACTOR * math.sqrt(max(shape[1:]))
            self._weights[window].view(shape).sub_(update, alpha=length)

        list(self._pool.map(turn, self._matrices))


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
