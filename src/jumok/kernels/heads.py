"""What queries and keys are put through before they are compared, in one pass each.

The readable twins are `torch.nn.functional.rms_norm` and `jumok.positions.rotary.turn_plainly`.
"""

import torch

from jumok.kernels import native
from jumok.kernels.attention import side_by_side, sizes_of, strides_of
from jumok.kernels.context import Context
from jumok.shapes import Float, Tensor


def serves(*tensors: Tensor) -> bool:
    """Whether the kernels take these tensors: heads' vectors first, then what belongs to them."""
    states = tensors[0]
    return (
        states.shape[-1] % native.LANES == 0
        and states.numel() > 0
        and states.stride(-1) == 1
        and native.serves(*tensors)
    )


def rms_norm(
    states: Float[Tensor, "batch heads length dim"], gain: Float[Tensor, " dim"], epsilon: float
) -> Float[Tensor, "batch heads length dim"]:
    """gain x / rms(x) of each vector, rms(x) = sqrt(mean(x^2) + epsilon)."""
    return _RMSNorm.apply(states, gain, epsilon)


def turn(
    states: Float[Tensor, "batch heads length dim"],
    cosine: Float[Tensor, "length dim//2"],
    sine: Float[Tensor, "length dim//2"],
) -> Float[Tensor, "batch heads length dim"]:
    """Each pair (2i, 2i + 1) turned by the angle of its position, with tables in float32."""
    assert cosine.dtype == sine.dtype == torch.float32
    return _Turn.apply(states, cosine.contiguous(), sine.contiguous())


class _RMSNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, states: Tensor, gain: Tensor, epsilon: float) -> Tensor:
        normed = side_by_side(states, states.shape[-1])
        rate = torch.empty(states.shape[:-1])
        native.call(
            "rms_forward", states.dtype, states, gain, normed, rate, sizes_of(states, states),
            strides_of(states, normed), epsilon,
        )  # fmt: skip
        ctx.save_for_backward(states, gain, rate)
        return normed

    @staticmethod
    def backward(ctx: Context, d_normed: Tensor) -> tuple[Tensor, Tensor, None]:
        states, gain, rate = ctx.saved_tensors
        if d_normed.stride(-1) != 1:
            d_normed = d_normed.contiguous()
        d_states = side_by_side(states, states.shape[-1])
        d_gain = torch.zeros(gain.shape)
        native.call(
            "rms_backward", states.dtype, states, gain, rate, d_normed, d_states, d_gain,
            sizes_of(states, states), strides_of(states, d_normed, d_states),
        )  # fmt: skip
        return d_states, d_gain.to(gain.dtype), None


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, states: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        ctx.save_for_backward(cosine, sine)
        return _rotated(states, cosine, sine, 1.0)

    @staticmethod
    def backward(ctx: Context, d_turned: Tensor) -> tuple[Tensor, None, None]:
        if d_turned.stride(-1) != 1:
            d_turned = d_turned.contiguous()
        cosine, sine = ctx.saved_tensors
        return _rotated(d_turned, cosine, sine, -1.0), None, None


def _rotated(states: Tensor, cosine: Tensor, sine: Tensor, direction: float) -> Tensor:
    turned = side_by_side(states, states.shape[-1])
    native.call(
        "turn", states.dtype, states, cosine, sine, turned, sizes_of(states, states),
        strides_of(states, turned), direction,
    )  # fmt: skip
    return turned
