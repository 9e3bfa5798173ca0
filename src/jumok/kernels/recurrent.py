"""The steps of a GRU, and additive scores, each with its own backward pass.

torch's GRU spends most of a step of a small model on ten passes over the gates, and adds to the
gradient of the weights at every step; here the gates are one pass and the weights' gradient is one
product. Additive scores are never held once for each hidden unit.

Readable twins: `GRUCell.advance` (layers/recurrent.py) and `additive_scores_plainly` below.
"""

import torch

from jumok.kernels import native
from jumok.kernels.context import Context
from jumok.kernels.training.linear import ROW_MULTIPLE
from jumok.shapes import Float, Tensor


def serves(*tensors: Tensor) -> bool:
    """Whether the kernels take tensors like these: their last axis is a multiple of 16."""
    return (
        all(tensor.shape[-1] % native.LANES == 0 for tensor in tensors)
        and all(tensor.numel() for tensor in tensors)
        and native.serves(*tensors)
    )


def gru(
    projected: Float[Tensor, "batch length gates"],
    first: Float[Tensor, "batch dim"],
    weight: Float[Tensor, "gates dim"],
    bias: Float[Tensor, " gates"],
) -> Float[Tensor, "batch length dim"]:
    """The states after each of the inputs, to which the cell's W is applied already."""
    states: Tensor = _GRU.apply(projected.contiguous(), first, weight, bias)
    return states


def additive_scores(
    query: Float[Tensor, "batch query hidden"],
    key: Float[Tensor, "batch key hidden"],
    energy: Float[Tensor, " hidden"],
) -> Float[Tensor, "batch query key"]:
    """sum over the hidden units of energy tanh(query + key), in float32."""
    if serves(query, key, energy):
        scores: Tensor = _Additive.apply(query.contiguous(), key.contiguous(), energy)
        return scores
    return additive_scores_plainly(query, key, energy)


def additive_scores_plainly(
    query: Float[Tensor, "batch query hidden"],
    key: Float[Tensor, "batch key hidden"],
    energy: Float[Tensor, " hidden"],
) -> Float[Tensor, "batch query key"]:
    """The readable twin of `additive_scores`."""
    return (torch.tanh(query[:, :, None] + key[:, None]) @ energy).float()


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, projected: Tensor, first: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:
        batch, length, _ = projected.shape
        dim = first.shape[1]
        rows = batch + -batch % ROW_MULTIPLE  # few shapes of products: see `ROW_MULTIPLE`
        seen = projected.new_zeros(length + 1, rows, dim)
        gates = projected.new_empty(length, batch, 4 * dim)
        seen[0, :batch] = first
        for step in range(length):
            by_state = torch.addmm(bias, seen[step], weight.t())
            native.call(
                "gru_forward", projected.dtype, projected[:, step], projected.stride(0), by_state,
                seen[step], seen[step + 1], gates[step], batch, dim,
            )  # fmt: skip
        ctx.save_for_backward(seen, gates, weight)
        return seen[1:, :batch].transpose(0, 1)  # length batch dim -> batch length dim

    @staticmethod
    def backward(ctx: Context, d_shown: Tensor) -> tuple[Tensor, ...]:
        seen, gates, weight = ctx.saved_tensors
        length, batch, _ = gates.shape
        rows, dim = seen.shape[1:]
        if d_shown.stride(2) != 1:
            d_shown = d_shown.contiguous()
        d_projected = gates.new_empty(batch, length, 3 * dim)
        d_by_state = gates.new_zeros(length, rows, 3 * dim)
        carried = gates.new_zeros(rows, dim)
        for step in reversed(range(length)):
            shown = d_shown[:, step]
            native.call(
                "gru_backward", gates.dtype, gates[step], seen[step], carried, shown,
                shown.stride(0), d_projected[:, step], d_projected.stride(0), d_by_state[step],
                batch, dim,
            )  # fmt: skip
            carried.addmm_(d_by_state[step], weight)
        flat = d_by_state.flatten(0, 1)
        d_weight = flat.t() @ seen[:-1].flatten(0, 1)
        return d_projected, carried[:batch], d_weight, flat.sum(dim=0)


class _Additive(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, query: Tensor, key: Tensor, energy: Tensor) -> Tensor:
        sizes = (*query.shape[:2], *key.shape[1:])
        scores = torch.empty(sizes[:3])
        native.call("additive_forward", query.dtype, query, key, energy, scores, *sizes)
        ctx.save_for_backward(query, key, energy)
        return scores

    @staticmethod
    def backward(ctx: Context, d_scores: Tensor) -> tuple[Tensor, ...]:
        query, key, energy = ctx.saved_tensors
        slopes = [torch.zeros(tensor.shape) for tensor in (query, key, energy)]
        native.call(
            "additive_backward", query.dtype, query, key, energy, d_scores.contiguous(), *slopes,
            *query.shape[:2], *key.shape[1:],
        )  # fmt: skip
        return tuple(slope.to(query.dtype) for slope in slopes)
