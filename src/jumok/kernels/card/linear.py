"""Linear layers on a GPU: what their gradients need besides the products is done in them.

torch computes a layer's product and lets autograd do the rest: a pass over the gradients for each
bias, one for each ReLU, one for each further layer that reads the same states, and one for each
parameter to add what one micro-batch gives to what others gave.

The readable twins are `torch.nn.functional.linear` and `relu`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
import torch.nn.functional as F

from jumok.kernels.context import Context
from jumok.shapes import Float, Tensor

_ADDING: ContextVar[bool] = ContextVar("jumok_adding", default=False)


@contextmanager
def gradients_added_up() -> Iterator[None]:
    """While entered, layers are computed whose backward pass adds the gradients of their parameters
    to what `grad` holds by itself, in the product, and gives none to autograd.

    Only for whoever calls `backward()`, and reads `grad` then: hooks on other tensors, and
    `torch.autograd.grad`, would not see these gradients.
    """
    token = _ADDING.set(True)
    try:
        yield
    finally:
        _ADDING.reset(token)


def linear(
    states: Float[Tensor, "*axes inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"],
    *,
    bent: bool = False,
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b; with `bent` max(x W^T + b, 0)."""
    [found] = _Linear.apply(states, bent, weight, bias)
    return found


def linears(
    states: Float[Tensor, "*axes inner"], parameters: Sequence[tuple[Tensor, Tensor]]
) -> tuple[Tensor, ...]:
    """x W^T + b for each pair of a weight and a bias."""
    found: tuple[Tensor, ...] = _Linear.apply(
        states, False, *(each for pair in parameters for each in pair)
    )
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, states: Tensor, bent: bool, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        rows = states.reshape(-1, states.shape[-1])
        found = tuple(
            torch._addmm_activation(bias, rows, weight.t())
            if bent
            else F.linear(rows, weight, bias)
            for weight, bias in _pairs(parameters)
        )
        ctx.save_for_backward(rows, *(found if bent else ()))
        ctx.parameters, ctx.bent = parameters, bent
        ctx.adding = _ADDING.get() and all(map(_adds_up, parameters))
        return tuple(each.view(*states.shape[:-1], -1) for each in found)

    @staticmethod
    def backward(ctx: Context, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        rows, *outputs = ctx.saved_tensors
        flat = [slope.reshape(-1, slope.shape[-1]) for slope in slopes]
        if ctx.bent:
            flat = [
                torch.ops.aten.threshold_backward(slope, found, 0.0)
                for slope, found in zip(flat, outputs, strict=True)
            ]
        of_states, _, *of_parameters = ctx.needs_input_grad
        d_states: Tensor | None = None
        found: list[Tensor | None] = []
        for (weight, bias), slope, needed in zip(
            _pairs(ctx.parameters), flat, of_parameters[::2], strict=True
        ):
            if of_states and d_states is None:
                d_states = slope @ weight
            elif d_states is not None:
                d_states.addmm_(slope, weight)
            found += _of_parameters(ctx, rows, slope, weight, bias) if needed else (None, None)
        shape = (*slopes[0].shape[:-1], rows.shape[-1])
        return None if d_states is None else d_states.view(shape), None, *found


def _pairs(parameters: Sequence[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Each weight with its bias."""
    return zip(parameters[::2], parameters[1::2], strict=True)


def _adds_up(parameter: Tensor) -> bool:
    """Whether autograd alone waits for its gradient: there is one, and no hook."""
    listened = parameter._backward_hooks or parameter._post_accumulate_grad_hooks
    return parameter.is_leaf and parameter.grad is not None and not listened


def _of_parameters(
    ctx: Context, rows: Tensor, slope: Tensor, weight: Tensor, bias: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    # cuBLAS adds up rows at the speed of the memory, and `sum` at half of it or less.
    ones = slope.new_ones(1, len(slope))
    if not ctx.adding:
        return slope.t() @ rows, (ones @ slope)[0]
    assert weight.grad is not None
    assert bias.grad is not None
    weight.grad.addmm_(slope.t(), rows)
    bias.grad[None].addmm_(ones, slope)
    return None, None
