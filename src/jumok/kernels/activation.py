"""Elementwise kernels: dropout, ReLU and gates of SiLU with dropout; and the soft cap, in torch."""

import torch
import torch.nn.functional as F

from jumok.kernels import native
from jumok.kernels.context import Context
from jumok.kernels.noise import DropoutMask
from jumok.shapes import Float, Tensor


def dropout(states: Float[Tensor, "*axes"], drop: DropoutMask | None) -> Float[Tensor, "*axes"]:
    """The states with the elements of `drop` zeroed and the rest scaled by 1 / (1 - p)."""
    if drop is None:
        return states
    if states.numel() % native.LANES == 0 and native.serves(states):
        return _Dropout.apply(states, drop)
    return drop.apply(states)


def relu_dropout(
    states: Float[Tensor, "*axes"], drop: DropoutMask | None
) -> Float[Tensor, "*axes"]:
    """dropout(max(states, 0)); its readable twin is `drop.apply(F.relu(states))`."""
    if states.is_contiguous() and states.numel() % native.LANES == 0 and native.serves(states):
        return _ReluDropout.apply(states, drop)
    return dropout(F.relu(states), drop)


def silu_gate(
    gate: Float[Tensor, "*axes"], inner: Float[Tensor, "*axes"], drop: DropoutMask | None
) -> Float[Tensor, "*axes"]:
    """dropout(silu(gate) * inner), silu(x) = x sigmoid(x)."""
    same = gate.shape == inner.shape  # the twin says what is wrong with others
    if same and gate.numel() % native.LANES == 0 and native.serves(gate, inner):
        return _SiluGate.apply(gate, inner, drop)
    return silu_gate_plainly(gate, inner, drop)


def silu_gate_plainly(
    gate: Float[Tensor, "*axes"], inner: Float[Tensor, "*axes"], drop: DropoutMask | None
) -> Float[Tensor, "*axes"]:
    """The readable twin of `silu_gate`."""
    return dropout(F.silu(gate) * inner, drop)


def soft_cap(states: Float[Tensor, "*axes"], cap: float) -> Float[Tensor, "*axes"]:
    """cap tanh(states / cap): small numbers stay as they are, and none is beyond the cap."""
    return cap * torch.tanh(states / cap)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, states: Tensor, drop: DropoutMask) -> Tensor:
        ctx.drop = drop
        return _dropped(states, drop)

    @staticmethod
    def backward(ctx: Context, d_states: Tensor) -> tuple[Tensor, None]:
        return _dropped(d_states, ctx.drop), None


class _ReluDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, states: Tensor, drop: DropoutMask | None) -> Tensor:
        bent = torch.empty_like(states)
        native.call(
            "relu_forward", states.dtype, states, bent, states.numel(), *native.numbers(drop)
        )
        ctx.save_for_backward(bent)
        ctx.scale = 1.0 if drop is None else 1.0 / (1.0 - drop.p)
        return bent

    @staticmethod
    def backward(ctx: Context, d_states: Tensor) -> tuple[Tensor, None]:
        (states,) = ctx.saved_tensors
        d_inner = torch.empty_like(states)
        native.call(
            "relu_backward", states.dtype, states, d_states.contiguous(), d_inner,
            states.numel(), ctx.scale,
        )  # fmt: skip
        return d_inner, None


class _SiluGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, gate: Tensor, inner: Tensor, drop: DropoutMask | None) -> Tensor:
        gate, inner = gate.contiguous(), inner.contiguous()
        gated = torch.empty_like(gate)
        native.call(
            "silu_gate_forward", gate.dtype, gate, inner, gated, gate.numel(),
            *native.numbers(drop),
        )  # fmt: skip
        ctx.save_for_backward(gate, inner)
        ctx.drop = drop
        return gated

    @staticmethod
    def backward(ctx: Context, d_gated: Tensor) -> tuple[Tensor, Tensor, None]:
        gate, inner = ctx.saved_tensors
        d_gate, d_inner = torch.empty_like(gate), torch.empty_like(inner)
        native.call(
            "silu_gate_backward", gate.dtype, gate, inner, d_gated.contiguous(), d_gate, d_inner,
            gate.numel(), *native.numbers(ctx.drop),
        )  # fmt: skip
        return d_gate, d_inner, None


def _dropped(states: Tensor, drop: DropoutMask | None) -> Tensor:
    states = states.contiguous()
    kept = torch.empty_like(states)
    native.call("dropout", states.dtype, states, kept, states.numel(), *native.numbers(drop))
    return kept
