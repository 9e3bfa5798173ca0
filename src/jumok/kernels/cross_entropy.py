"""The loss of a softmax over the vocabulary, without ever holding all logits.

    loss = -(1 - e) log p[target] - e/V sum_v log p[v]

summed over positions, with label smoothing e. The gradient is formed chunk by chunk in the
forward pass: a chunk's logits stay in the cache, and 4,096 x 8,000 of them never exist at once.

Source: Szegedy et al. 2016, section 7 (label smoothing).
"""

from typing import Any

import torch
import torch.nn.functional as F

from jumok.kernels import native
from jumok.kernels.linear import whole_rows
from jumok.shapes import Float, Int, Tensor

_CHUNK = 512


def smoothed_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    bias: Float[Tensor, " vocabulary"] | None = None,
) -> Float[Tensor, ""]:
    """The summed loss in nats of predicting `targets` by softmax(hidden output^T + bias)."""
    return _ChunkedCrossEntropy.apply(hidden, output, targets, smoothing, bias)


def smoothed_cross_entropy_plainly(
    hidden: Float[Tensor, "tokens dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    bias: Float[Tensor, " vocabulary"] | None = None,
) -> Float[Tensor, ""]:
    """The readable twin of `smoothed_cross_entropy`."""
    logits = F.linear(hidden, output, bias)
    return F.cross_entropy(logits.float(), targets, label_smoothing=smoothing, reduction="sum")


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        output: Tensor,
        targets: Tensor,
        smoothing: float,
        bias: Tensor | None,
    ) -> Tensor:
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        rows = hidden.shape[0]
        if native.serves(hidden, output):
            hidden = whole_rows(hidden)
        grad_hidden = torch.empty_like(hidden)
        grad_output = torch.zeros_like(output)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        for start in range(0, hidden.shape[0], _CHUNK):
            chunk = slice(start, start + _CHUNK)
            logits = F.linear(hidden[chunk], output, bias)
            loss, grad_logits = _loss_and_gradient(logits, targets[chunk], smoothing)
            total += loss
            torch.mm(grad_logits, output, out=grad_hidden[chunk])
            grad_output.addmm_(grad_logits.t(), hidden[chunk])
            if grad_bias is not None:
                grad_bias += grad_logits.sum(dim=0)
        ctx.save_for_backward(grad_hidden[:rows], grad_output, grad_bias)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_output, grad_bias = ctx.saved_tensors
        scale = grad.to(grad_hidden.dtype)
        grad_bias = None if grad_bias is None else grad_bias * scale
        return grad_hidden * scale, grad_output * scale, None, None, grad_bias


def _loss_and_gradient(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The summed loss, and softmax(logits) minus the smoothed target distribution.

    Rows of logits beyond the targets are padding, and get no gradient.
    """
    vocabulary = logits.shape[1]
    if native.serves(logits):
        scratch = torch.empty(vocabulary + native.LANES)
        loss = native.call(
            "cross_entropy", logits.dtype, logits, targets.contiguous(), scratch,
            targets.shape[0], vocabulary, smoothing,
        )  # fmt: skip
        logits[targets.shape[0] :] = 0
        return torch.tensor(loss), logits
    log_p = logits.float().log_softmax(dim=1)
    picked = log_p.gather(1, targets[:, None])
    summed = -((1.0 - smoothing) * picked.sum() + smoothing / vocabulary * log_p.sum())
    gradient = log_p.exp_().sub_(smoothing / vocabulary)
    gradient.scatter_add_(1, targets[:, None], torch.full_like(picked, smoothing - 1.0))
    return summed, gradient.to(logits.dtype)
