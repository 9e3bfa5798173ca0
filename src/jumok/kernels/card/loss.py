"""The loss of rows of logits on a GPU, and its gradient in their place.

The readable twin is `jumok.kernels.cross_entropy._row_losses`. A row is read twice: for its sums,
and to write its gradient.
"""

import torch
import triton
import triton.language as tl

from jumok.shapes import Float, Int, Tensor

LOSS_BLOCK = 4096
IGNORED = -100
"""`NO_TARGET` of cross_entropy.py, as kernels read no names of other modules."""


@triton.jit
def _row_loss(  # type: ignore[no-untyped-def]
    logits,
    targets,
    losses,
    smoothing,
    vocabulary: tl.constexpr,
    size: tl.constexpr,
    none: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    own = logits + row * vocabulary
    target = tl.load(targets + row)
    peak = -float("inf")
    total = 0.0
    whole = 0.0
    for start in range(0, vocabulary, size):
        column = start + tl.arange(0, size)
        inside = column < vocabulary
        value = tl.load(own + column, mask=inside).to(tl.float32)
        whole += tl.sum(tl.where(inside, value, 0.0), axis=0)
        value = tl.where(inside, value, -float("inf"))
        higher = tl.maximum(peak, tl.max(value, axis=0))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(value - higher), axis=0)
        peak = higher
    log_total = peak + tl.log(total)
    real = target != none
    known = (target >= 0) & (target < vocabulary)
    picked = tl.load(own + tl.where(known, target, 0)).to(tl.float32)
    loss = log_total - (1.0 - smoothing) * picked - smoothing * (whole / vocabulary)
    loss = tl.where(known, loss, float("nan"))  # no column of the logits: nothing may be learnt
    tl.store(losses + row, tl.where(real, loss, 0.0))
    for start in range(0, vocabulary, size):
        column = start + tl.arange(0, size)
        inside = column < vocabulary
        value = tl.load(own + column, mask=inside)
        slope = tl.exp(value.to(tl.float32) - log_total) - smoothing / vocabulary
        slope -= tl.where(column == target, 1.0 - smoothing, 0.0)
        slope = tl.where(real, slope, 0.0)
        tl.store(own + column, slope.to(value.dtype), mask=inside)


def row_losses(
    logits: Float[Tensor, "rows vocabulary"], targets: Int[Tensor, " rows"], smoothing: float
) -> tuple[Float[Tensor, ""], Float[Tensor, "rows vocabulary"]]:
    """The summed label-smoothed loss in nats, and its gradient, which takes the place of the
    logits.

    The loss is NaN if a target is no column of the logits: a GPU raises no error.
    """
    rows, vocabulary = logits.shape
    losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
    if rows:
        with torch.cuda.device_of(logits):
            _row_loss[(rows,)](
                logits, targets, losses, smoothing, vocabulary=vocabulary,
                size=min(LOSS_BLOCK, triton.next_power_of_2(vocabulary)), none=IGNORED, num_warps=8,
            )  # fmt: skip
    return losses.sum(), logits
