"""How the vectors of heads lie in memory, in the form that the kernels take."""

import ctypes

from jumok.shapes import Float, Tensor


def side_by_side(like: Float[Tensor, "batch heads length _"], dim: int) -> Tensor:
    """Memory for (batch heads length dim) in which merging the heads is a view."""
    batch, heads, length, _ = like.shape
    return like.new_empty(batch, length, heads, dim).transpose(1, 2)


def sizes_of(
    query: Float[Tensor, "batch heads query dim"], value: Float[Tensor, "batch heads key value_dim"]
) -> ctypes.Array[ctypes.c_int64]:
    """The `Sizes` of vectors.h."""
    batch, heads, queries, dim = query.shape
    return (ctypes.c_int64 * 6)(batch, heads, queries, *value.shape[-2:-1], dim, value.shape[-1])


def strides_of(*tensors: Tensor | None) -> ctypes.Array[ctypes.c_int64]:
    """The `Strides` of each tensor in a row; None is left out."""
    flat = [stride for tensor in tensors if tensor is not None for stride in tensor.stride()[:3]]
    return (ctypes.c_int64 * len(flat))(*flat)
