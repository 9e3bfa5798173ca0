"""The norm of what a query receives from each key: | weight value W_O |, not the weight alone.

Source: Kobayashi et al. 2020, Attention is not only a weight, section 3.
"""

import torch
from torch import nn

from jumok.attention.multihead import MultiHeadAttention
from jumok.kernels.linear import Linear
from jumok.shapes import Float, Tensor


def contribution_norms(
    weights: Float[Tensor, "heads query key"],
    value: Float[Tensor, "heads key value_dim"],
    output: Float[Tensor, "dim heads_value_dim"] | None,
) -> Float[Tensor, "query key"]:
    """The norm of each key's attended value for each query: | sum over heads of weight value W_O |.

    Args:
        output: the output projection's weight; None: there is no projection.
    """
    heads, _, value_dim = value.shape
    projected = value
    if output is not None:
        per_head = output.view(output.shape[0], heads, value_dim)
        projected = torch.einsum("hkv,dhv->hkd", value, per_head.to(value))
    return torch.einsum("hqk,hkd->qkd", weights, projected).norm(dim=-1)


def batched_contribution_norms(
    weights: Float[Tensor, "batch heads query key"],
    value: Float[Tensor, "batch heads key value_dim"],
    output: Float[Tensor, "dim heads_value_dim"] | None,
) -> tuple[Float[Tensor, "batch query key"], Float[Tensor, "batch heads query key"]]:
    """`contribution_norms` of a whole batch, in float32, for all heads together and for each head
    alone.

    With u = value W_O, the norm is sqrt(sum over heads h and g of weight_h weight_g (u_h . u_g)),
    and the products of the heads are the same for all queries.
    """
    weights, projected = (
        weights.float(),
        value.float().transpose(1, 2),
    )  # (batch key heads value_dim)
    if output is not None:
        per_head = output.float().view(output.shape[0], value.shape[1], -1)
        projected = torch.einsum("bkhv,dhv->bkhd", projected, per_head)
    products = projected @ projected.transpose(2, 3)
    by_key = weights.permute(0, 3, 2, 1)  # (batch key query heads)
    squares = ((by_key @ products) * by_key).sum(dim=3).transpose(1, 2)
    lengths = products.diagonal(dim1=2, dim2=3).clamp(min=0).sqrt()  # (batch key heads)
    apart = weights * lengths.transpose(1, 2)[:, :, None]
    return squares.clamp(min=0).sqrt(), apart


def output_weight(model: nn.Module, site: str) -> Float[Tensor, "dim heads_value_dim"] | None:
    """The output projection's weight of an attention module; None: it has none."""
    projection = dict(model.get_submodule(site).named_children()).get("output")
    if projection is None:
        return None
    assert isinstance(projection, nn.Conv2d | Linear)
    return projection.weight.flatten(1)  # of a 1x1 convolution: one matrix for every pixel


def has_output_process(model: nn.Module, site: str) -> bool:
    """Whether the heads' outputs are changed before they are mixed: contributions are then not
    weight x value x output projection.
    """
    module = model.get_submodule(site)
    return isinstance(module, MultiHeadAttention) and module.has_output_process
