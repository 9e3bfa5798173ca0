"""Linear layers in training: what their gradients need besides the products is done in them.

torch computes a layer's product and lets autograd do the rest: a pass over the gradients for each
bias, one for each ReLU, one for each further layer that reads the same states, and one for each
parameter to add what one micro-batch gives to what others gave.

The readable twins are `torch.nn.functional.linear` and `relu`.
"""

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F

from jumok.kernels import native
from jumok.kernels.context import Context
from jumok.kernels.training.gradients import adds_up
from jumok.shapes import Float, Tensor

ROW_MULTIPLE = 32
"""Products of bfloat16 matrices on a CPU get a multiple of this many rows.

oneDNN generates code for every new shape, which takes 1.5 ms and a megabyte: a copy of the rows is
cheaper than as many shapes as batches have lengths.
"""


def trained_linear(
    states: Float[Tensor, "*axes inner"],
    weight: Float[Tensor, "outer inner"],
    bias: Float[Tensor, " outer"] | None,
    *,
    bent: bool = False,
) -> Float[Tensor, "*axes outer"]:
    """x W^T + b, without b if `bias` is None; with `bent` max(x W^T + b, 0), which needs b."""
    [output] = _Linear.apply(states, bent, weight, bias)
    return output


def trained_linears(
    states: Float[Tensor, "*axes inner"], parameters: Sequence[tuple[Tensor, Tensor | None]]
) -> tuple[Tensor, ...]:
    """x W^T + b for each pair of a weight and a bias, or None."""
    outputs: tuple[Tensor, ...] = _Linear.apply(
        states, False, *(each for pair in parameters for each in pair)
    )
    return outputs


def whole_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, "more_rows dim"]:
    """The rows, and rows of zeros up to a multiple of ROWS."""
    rows, dim = states.shape
    missing = -rows % ROW_MULTIPLE
    if not missing:
        return states.contiguous()
    padded = states.new_empty(rows + missing, dim)
    padded[:rows] = states
    padded[rows:] = 0
    return padded


def adding_is_free(states: Tensor) -> bool:
    """Whether a product that adds takes no longer than one that does not; on a CPU it does."""
    return states.device.type != "cpu"


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, states: Tensor, bent: bool, *parameters: Tensor | None
    ) -> tuple[Tensor, ...]:
        rows, count = _as_rows(states), states.shape[:-1].numel()
        outputs = tuple(_product(rows, *pair, bent) for pair in _layer_pairs(parameters))
        ctx.save_for_backward(rows, *(outputs if bent else ()))
        ctx.parameters, ctx.bent = parameters, bent
        ctx.adding = adding_is_free(states) and adds_up(*parameters)
        return tuple(each[:count].view(*states.shape[:-1], -1) for each in outputs)

    @staticmethod
    def backward(ctx: Context, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        rows, *outputs = ctx.saved_tensors
        flat = [_as_rows(slope) for slope in slopes]
        if ctx.bent:
            flat = [
                torch.ops.aten.threshold_backward(slope, output, 0.0)
                for slope, output in zip(flat, outputs, strict=True)
            ]
        of_states, _, *of_parameters = ctx.needs_input_grad
        d_states: Tensor | None = None
        of_pairs: list[Tensor | None] = []
        needed = zip(of_parameters[::2], of_parameters[1::2], strict=True)
        for (weight, bias), slope, (of_weight, of_bias) in zip(
            _layer_pairs(ctx.parameters), flat, needed, strict=True
        ):
            if of_states and d_states is None:
                d_states = slope @ weight
            elif d_states is not None:
                d_states.addmm_(slope, weight)
            if ctx.adding:
                _add_up(rows, slope, weight, bias)
                of_pairs += None, None
            else:
                of_pairs.append(slope.t() @ rows if of_weight else None)
                of_pairs.append(_sum_rows(slope) if of_bias else None)
        if d_states is not None:
            axes = slopes[0].shape[:-1]
            d_states = d_states[: axes.numel()].view(*axes, -1)
        return d_states, None, *of_pairs


def _as_rows(states: Tensor) -> Float[Tensor, "rows dim"]:
    """The states as rows; as many as products are made for."""
    rows = states.reshape(-1, states.shape[-1])
    on_cpu = states.device.type == "cpu" and states.dtype == torch.bfloat16
    return whole_rows(rows) if on_cpu else rows


def _product(
    rows: Float[Tensor, "rows inner"], weight: Tensor, bias: Tensor | None, bent: bool
) -> Float[Tensor, "rows outer"]:
    if not bent:
        return F.linear(rows, weight, bias)
    assert bias is not None
    return torch._addmm_activation(bias, rows, weight.t())


def _layer_pairs(parameters: Sequence[Tensor | None]) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Each weight with its bias."""
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        assert weight is not None
        yield weight, bias


def _add_up(rows: Tensor, slope: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    assert weight.grad is not None
    weight.grad.addmm_(slope.t(), rows)
    if bias is not None:
        assert bias.grad is not None
        bias.grad[None].addmm_(slope.new_ones(1, len(slope)), slope)


def _sum_rows(states: Float[Tensor, "rows dim"]) -> Float[Tensor, " dim"]:
    if states.device.type != "cpu":
        # cuBLAS adds up rows at the speed of the memory, and `sum` at half of it or less.
        return (states.new_ones(1, len(states)) @ states)[0]
    if states.shape[1] % native.LANES or not native.serves(states):
        return states.sum(dim=0)
    sums = states.new_empty(states.shape[1])
    native.call("sum_rows", states.dtype, states.contiguous(), sums, *states.shape)
    return sums
