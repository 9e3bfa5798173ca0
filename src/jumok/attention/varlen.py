"""Attention inside of the documents of packed rows, by the flash kernel that torch has for GPUs.

It gets the place where each document begins, and no mask. Its arguments changed between torch 2.10
(`is_causal`) and 2.12 (`window_size`, `scale`, `enable_gqa`): only this file knows them.
"""

import functools
import inspect
from typing import Any

import torch

from jumok.shapes import Float, Int, Tensor

HALVES = (torch.float16, torch.bfloat16)

ALL_KEYS = (-1, -1)
"""Keys to the left and to the right of a query that it may attend to; -1: all."""


@functools.cache
def parameters() -> frozenset[str]:
    """The names of the kernel's arguments; empty if torch does not have it yet."""
    try:
        from torch.nn.attention import varlen as flash

        return frozenset(inspect.signature(flash.varlen_attn).parameters)
    except ImportError:  # before 2.10
        return frozenset()


def serves(query: Tensor, value: Tensor, sides: tuple[int, int]) -> bool:
    """Whether the kernel takes these tensors, and limits how far a query sees."""
    fits = (
        (query.is_cuda or query.is_meta)
        and query.dtype in HALVES
        and query.shape[-1] == value.shape[-1]
        and query.shape[-1] % 8 == 0
        and query.shape[-1] <= 256
    )
    if not fits:
        return False
    known = parameters()
    return "window_size" in known or ("is_causal" in known and max(sides) < 1)


def attend(
    query: Float[Tensor, "batch heads query dim"],
    key: Float[Tensor, "batch kv_heads key dim"],
    value: Float[Tensor, "batch kv_heads key value_dim"],
    offsets: tuple[Int[Tensor, " slots"], Int[Tensor, " slots"]],
    longest: tuple[int, int],
    sides: tuple[int, int],
    scale: float,
) -> Float[Tensor, "batch heads query value_dim"]:
    """The weighted sums inside of each document.

    Args:
        offsets: of the queries and of the keys: where each document begins in the rows one after
            another, and at the end the number of all positions; int32.
        longest: positions of the longest document, of the queries and of the keys.
        sides: how many keys left and right of its own a query may attend to; -1: all.
    """
    known = parameters()
    if "scale" not in known:
        query, scale = query * (scale * query.shape[-1] ** 0.5), query.shape[-1] ** -0.5
    heads = query.shape[1]
    shared = key.shape[1] != heads
    if shared and "enable_gqa" not in known:
        key, value = (each.repeat_interleave(heads // each.shape[1], 1) for each in (key, value))
    flat = [each.transpose(1, 2).flatten(0, 1) for each in (query, key, value)]  # rows heads dim
    more: dict[str, object] = {}
    if "window_size" in known:
        more["window_size"] = sides
    elif sides != ALL_KEYS:
        more["is_causal"] = True
    if "scale" in known:
        more["scale"] = scale
    if shared and "enable_gqa" in known:
        more["enable_gqa"] = True
    from torch.nn.attention import varlen as flash

    kernel: Any = flash.varlen_attn  # its arguments depend on the version
    outputs: Tensor = kernel(*flat, *offsets, *longest, **more)
    return outputs.unflatten(0, (query.shape[0], -1)).transpose(1, 2)
