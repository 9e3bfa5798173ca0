"""A fast path and its readable twin, side by side."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# Largest difference, as a share of the largest element. A bfloat16 has 8 bits: 2^-8 = 0.0039 is
# what one rounding may cost, and a kernel rounds its inputs' products two or three times.
TOLERANCE = {torch.float32: 3e-6, torch.bfloat16: 2e-2}


def outputs_and_gradients(
    function: Callable[..., Tensor | tuple[Tensor, ...]], inputs: Sequence[Tensor]
) -> list[Tensor]:
    """What the function gives, and the gradient of a sum of it in which no two weights agree."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    outputs = function(*leaves)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    total = torch.zeros(())
    for output in outputs:
        slopes = torch.arange(output.numel()).mul(0.7).cos().view(output.shape)
        total = total + (output.float() * slopes).sum()
    total.backward()
    return [*(output.detach() for output in outputs), *(leaf.grad for leaf in leaves)]


def assert_twins(
    fast: Callable[..., Tensor | tuple[Tensor, ...]],
    slow: Callable[..., Tensor | tuple[Tensor, ...]],
    inputs: Sequence[Tensor],
    dtype: torch.dtype,
) -> None:
    """The fast path on `dtype` against the slow one in float32, outputs and gradients."""
    rounded = [tensor.to(dtype) for tensor in inputs]
    ours = outputs_and_gradients(fast, rounded)
    theirs = outputs_and_gradients(slow, [tensor.float() for tensor in rounded])
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.dtype == dtype
        limit = TOLERANCE[dtype] * max(float(other.abs().max()), 1e-3)
        torch.testing.assert_close(mine.float(), other, atol=limit, rtol=0)


def assert_same_gradients(
    found: Tensor,
    expected: Tensor,
    inputs: Sequence[Tensor],
    others: Sequence[Tensor] | None = None,
    *,
    atol: float,
    rtol: float = 0.0,
) -> None:
    """Of a sum of each in which no two weights agree.

    Args:
        others: what `expected` was computed from; None: the same inputs.
    """
    slopes = torch.arange(found.numel()).cos().view(found.shape)
    ours = torch.autograd.grad((found * slopes).sum(), inputs, retain_graph=True)
    theirs = torch.autograd.grad((expected * slopes).sum(), others or inputs, retain_graph=True)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=atol, rtol=rtol)
