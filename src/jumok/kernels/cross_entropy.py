"""The loss of a softmax over the vocabulary, without ever holding all logits.

    loss = -(1 - e) log p[target] - e/V sum_v log p[v]

summed over positions, with label smoothing e. The gradient is formed chunk by chunk in the
forward pass: a chunk's logits stay in the cache, and 4,096 x 8,000 of them never exist at once.
`F.linear_cross_entropy` of torch 2.13 does the same in chunks of its own; it knows neither the
divergences below nor the kernels.

Two forward passes over one target, with different dropout masks, can be combined:

    loss(a) + loss(b) + weight (KL(p_a || p_b) + KL(p_b || p_a))

Source: Szegedy et al. 2016, section 7 (label smoothing); Wu, Li et al. 2021, "R-Drop".
"""

import math
from typing import NoReturn

import torch
import torch.nn.functional as F

from jumok.errors import ModelError
from jumok.kernels import native
from jumok.kernels.activation import soft_cap
from jumok.kernels.card import serving
from jumok.kernels.card.sizes import logit_rows
from jumok.kernels.context import Context
from jumok.kernels.training.gradients import adds_up
from jumok.kernels.training.linear import whole_rows
from jumok.shapes import Float, Int, Tensor

NO_TARGET = -100
"""The target of a row that has none, as in torch: it has no loss, and no gradient."""


def smoothed_cross_entropy(
    hidden: Float[Tensor, "tokens dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    bias: Float[Tensor, " vocabulary"] | None = None,
    cap: float | None = None,
) -> Float[Tensor, ""]:
    """The summed loss in nats of predicting `targets` by softmax(hidden output^T + bias).

    Args:
        targets: NO_TARGET where nothing is to be predicted.
        cap: the soft cap of the logits (`kernels/activation.py`); None: they are not capped.
    """
    return _ChunkedCrossEntropy.apply(hidden, output, targets, smoothing, bias, None, cap)


def smoothed_cross_entropy_plainly(
    hidden: Float[Tensor, "tokens dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    bias: Float[Tensor, " vocabulary"] | None = None,
    cap: float | None = None,
) -> Float[Tensor, ""]:
    """The readable twin of `smoothed_cross_entropy`."""
    logits = F.linear(hidden, output, bias)
    logits = logits if cap is None else soft_cap(logits, cap)
    return F.cross_entropy(logits.float(), targets, label_smoothing=smoothing, reduction="sum")


def consistent_cross_entropy(
    hidden: Float[Tensor, "tokens 2 dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    weight: float,
    cap: float | None = None,
    bias: Float[Tensor, " vocabulary"] | None = None,
) -> Float[Tensor, ""]:
    """The summed loss in nats of two forward passes over each target, and of their divergences.

    Args:
        targets: NO_TARGET where nothing is to be predicted.
        weight: the factor of both divergences, each in nats.
    """
    pairs = hidden.flatten(0, 1)
    return _ChunkedCrossEntropy.apply(pairs, output, targets, smoothing, bias, weight, cap)


def consistent_cross_entropy_plainly(
    hidden: Float[Tensor, "tokens 2 dim"],
    output: Float[Tensor, "vocabulary dim"],
    targets: Int[Tensor, " tokens"],
    smoothing: float,
    weight: float,
    cap: float | None = None,
    bias: Float[Tensor, " vocabulary"] | None = None,
) -> Float[Tensor, ""]:
    """The readable twin of `consistent_cross_entropy`."""
    logits = F.linear(hidden, output, bias)
    log_p = (logits if cap is None else soft_cap(logits, cap)).float().log_softmax(dim=-1)
    a, b = log_p.unbind(dim=1)
    loss = sum(
        smoothed_cross_entropy_plainly(side, output, targets, smoothing, bias, cap)
        for side in hidden.unbind(dim=1)
    )
    apart = ((a.exp() - b.exp()) * (a - b)).sum(dim=-1)
    return loss + weight * apart[targets != NO_TARGET].sum()


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context,
        hidden: Tensor,
        output: Tensor,
        targets: Tensor,
        smoothing: float,
        bias: Tensor | None,
        weight: float | None,
        cap: float | None,
    ) -> Tensor:
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        rows = hidden.shape[0]
        if native.serves(hidden, output):
            hidden = whole_rows(hidden)
        grad_hidden = torch.empty_like(hidden)
        grad_output = torch.empty_like(output)
        grad_bias = None if bias is None else torch.zeros_like(bias)
        readings = 1 if weight is None else 2  # rows of `hidden` for each target
        at_once = chunk_rows(hidden.device, output.shape[0])
        for start in range(0, hidden.shape[0], at_once):
            chunk = slice(start, start + at_once)
            answers = targets[start // readings : chunk.stop // readings]
            logits = F.linear(hidden[chunk], output, bias)
            slope = None
            if cap is not None:
                bent = torch.tanh(logits / cap)
                logits, slope = cap * bent, 1.0 - bent * bent
            loss, grad_logits = _loss_and_gradient(logits, answers, smoothing, weight)
            grad_logits = grad_logits if slope is None else grad_logits * slope
            total += loss
            torch.mm(grad_logits, output, out=grad_hidden[chunk])
            grad_output.addmm_(grad_logits.t(), hidden[chunk], beta=1 if start else 0)
            if grad_bias is not None:
                grad_bias += grad_logits.sum(dim=0)
        if not len(hidden):
            grad_output.zero_()
        ctx.save_for_backward(grad_hidden[:rows], grad_output, grad_bias)
        ctx.table, ctx.adding = output, adds_up(output)
        return total

    @staticmethod
    def backward(ctx: Context, grad: Tensor) -> tuple[Tensor | None, ...]:
        grad_hidden, grad_output, grad_bias = ctx.saved_tensors
        scale = grad.to(grad_hidden.dtype)
        grad_bias = None if grad_bias is None else grad_bias * scale
        of_output: Tensor | None = None
        if ctx.adding:
            assert ctx.table.grad is not None
            ctx.table.grad.addcmul_(grad_output, scale)
        else:
            of_output = grad_output * scale
        return grad_hidden * scale, of_output, None, None, grad_bias, None, None


def chunk_rows(device: torch.device, vocabulary: int) -> int:
    """How many rows of logits exist at once on this device; an even number."""
    return logit_rows(vocabulary, on_cpu=device.type == "cpu")


def _loss_and_gradient(
    logits: Tensor, targets: Tensor, smoothing: float, weight: float | None
) -> tuple[Tensor, Tensor]:
    """The summed loss, and its gradient, which takes the place of the logits.

    Rows of logits beyond the targets are padding, and get no gradient.
    """
    vocabulary = logits.shape[1]
    rows = targets.shape[0] * (1 if weight is None else 2)
    if native.serves(logits):
        scratch = torch.empty(2, vocabulary + native.LANES)
        sizes = logits, targets.contiguous(), scratch, targets.shape[0], vocabulary, smoothing
        if weight is None:
            loss = native.call("cross_entropy", logits.dtype, *sizes)
        else:
            loss = native.call("consistent_cross_entropy", logits.dtype, *sizes, weight)
        if loss == -math.inf:  # no loss has this value: a target is out of range
            _refuse_targets(targets, vocabulary)
        logits[rows:] = 0
        return torch.tensor(loss), logits
    if logits.device.type == "cpu" and _out_of_range(targets, vocabulary).any():
        _refuse_targets(targets, vocabulary)
    if weight is None and serving.serves(logits):
        from jumok.kernels.card.loss import row_losses

        return row_losses(logits, targets, smoothing)
    summed, gradient = _row_losses(logits[:rows], targets, smoothing, weight)
    logits[:rows] = gradient
    logits[rows:] = 0
    return summed, logits


def _row_losses(
    logits: Tensor, targets: Tensor, smoothing: float, weight: float | None
) -> tuple[Tensor, Tensor]:
    """The readable twin of the C kernels: the summed loss, and its gradient in float32."""
    vocabulary = logits.shape[1]
    log_p = logits.log_softmax(dim=1, dtype=torch.float32)
    right = targets if weight is None else targets.repeat_interleave(2)
    real = (right != NO_TARGET)[:, None]
    right = right.clamp(min=0)[:, None]
    picked = log_p.gather(1, right)
    summed = -(1.0 - smoothing) * (picked * real).sum()
    if smoothing:
        summed -= smoothing / vocabulary * (log_p.sum(dim=1, keepdim=True) * real).sum()
    if weight is None:
        gradient = log_p.exp_()
    else:
        p = log_p.exp()
        apart = log_p - log_p.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)  # from the other reading
        divergence = (p * apart).sum(dim=1, keepdim=True)
        other = p.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
        summed += weight * (divergence * real).sum()
        gradient = p + weight * (p * (apart - divergence + 1.0) - other)
    gradient -= smoothing / vocabulary
    gradient.scatter_add_(1, right, torch.full_like(picked, smoothing - 1.0))
    return summed, gradient.mul_(real)


def _out_of_range(targets: Tensor, vocabulary: int) -> Tensor:
    return ((targets < 0) & (targets != NO_TARGET)) | (targets >= vocabulary)


def _refuse_targets(targets: Tensor, vocabulary: int) -> NoReturn:
    wrong = targets[_out_of_range(targets, vocabulary)]
    raise ModelError(
        "a target is none of the model's classes.",
        expected=f"0 to {vocabulary - 1}",
        got=str(int(wrong[0])),
        do="check that data and model have the same vocabulary or labels",
    )
