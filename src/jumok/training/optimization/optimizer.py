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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor

import torch

from jumok.shapes import Float, Tensor
from jumok.training.optimization.parameters import FlatParameters
from jumok.training.optimization.slices import WINDOW, Range

EPSILON = 1e-8
MOMENTUM = 0.95
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
NEWTON_SCHULZ_STEPS = 5
MUON_FACTOR = 0.2


class Optimizer:
    """Updates a slice of the weights by its gradient, and keeps the moments.

    Args:
        ranges: of the row, those that are the slice: of Muon's matrices, and of all other weights.
        master, gradient: of the slice.
        precision: of the products in Muon.
        pool: threads of one core each: the bits of a product may depend on the number of cores.
    """

    def __init__(
        self,
        layout: FlatParameters,
        ranges: Sequence[Range],
        master: Float[Tensor, " slice"],
        gradient: Float[Tensor, " slice"],
        betas: tuple[float, float],
        weight_decay: float,
        precision: torch.dtype,
        pool: Executor,
    ) -> None:
        (first, end), (start, last) = ranges
        inside = end - first
        self._units = [(at - first, shape) for at, shape in layout.units if first <= at < end]
        self._weights, self._gradient = master[:inside], gradient[:inside]
        self._momentum = torch.zeros_like(self._weights)
        self._others, self._of_others = master[inside:], gradient[inside:]
        self._mean, self._square = (torch.zeros_like(self._others) for _ in range(2))
        self._steps = torch.zeros((), device=master.device)
        # Norms and biases, which do not decay, come last.
        self._decayed = min(max(layout.decayed, start), last) - start
        self._weight_decay, self._precision, self._pool = weight_decay, precision, pool
        self._betas = betas

    def step(self, learning_rate: float) -> None:
        self._steps += 1
        size, device = len(self._others), self._others.device
        spans = (0, self._decayed, self._weight_decay), (self._decayed, size, 0.0)
        running = [
            self._pool.submit(self._adamw, window, decay, learning_rate)
            for start, end, decay in spans
            for window in windows(start, end, device)
        ]
        running += [self._pool.submit(self._muon, unit, learning_rate) for unit in self._units]
        for update in running:
            update.result()

    def state(self) -> dict[str, Tensor]:
        """Its moments: `muon.` of the first range, `adamw.` of the second one."""
        return {
            "adamw.exp_avg": self._mean,
            "adamw.exp_avg_sq": self._square,
            "adamw.step": self._steps,
            "muon.momentum": self._momentum,
        }

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            tensor.copy_(state[name])

    def _adamw(self, window: slice, decay: float, learning_rate: float) -> None:
        torch._fused_adamw_(
            [self._others[window]], [self._of_others[window]],
            [self._mean[window]], [self._square[window]], [], [self._steps],
            lr=learning_rate, beta1=self._betas[0], beta2=self._betas[1], weight_decay=decay,
            eps=EPSILON, amsgrad=False, maximize=False,
        )  # fmt: skip

    def _muon(self, unit: tuple[int, tuple[int, int, int]], learning_rate: float) -> None:
        start, shape = unit
        window = slice(start, start + math.prod(shape))
        gradient, momentum = self._gradient[window], self._momentum[window]
        momentum.lerp_(gradient, 1 - MOMENTUM)
        ahead = torch.lerp(gradient, momentum, MOMENTUM)  # Nesterov's
        update = orthogonalize(ahead.view(shape).to(self._precision))
        length = learning_rate * MUON_FACTOR * math.sqrt(max(shape[1:]))
        weights = self._weights[window].view(shape)
        weights *= 1 - learning_rate * self._weight_decay
        weights.sub_(update, alpha=length)


def windows(start: int, end: int, device: torch.device) -> Iterator[slice]:
    """Parts of a row, for threads that share it; on a GPU, all of it.

    They begin on cache lines if the row does: vector instructions never meet a rest, which would be
    rounded differently, so the bits do not depend on where a row was cut.
    """
    size = WINDOW if device.type == "cpu" else max(1, end - start)
    return (slice(at, min(at + size, end)) for at in range(start, end, size))


def orthogonalize(
    matrices: Float[Tensor, "count rows columns"],
) -> Float[Tensor, "count rows columns"]:
    """Each matrix with its singular values brought near 1 (0.7 to 1.2), its directions kept.

    X <- a X + (b A + c A^2) X with A = X X^T, five times, from the matrix at a norm of 1.

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
