"""A digest of a tensor's bytes, to notice that it was written to.

torch counts writes by its own operations to a tensor. It does not count writes through
`tensor.data`, through numpy, or by another library that shares the memory.
"""

import ctypes

import torch

from jumok.kernels import native
from jumok.shapes import Tensor

LANES, WORD = 64, 0xFFFFFFFF
PRIME, LONG_PRIME, LONG = 0x85EBCA77, 0x9E3779B97F4A7C15, (1 << 64) - 1

Digest = tuple[int, ...]
Numbers = ctypes.c_uint64 * 8


def digest(tensor: Tensor) -> Digest:
    """Eight numbers of 64 bits that change when any byte of the tensor changes.

    One changed word always shows; several leave the digest unchanged only by chance.
    """
    data = (
        tensor if tensor.is_cpu and tensor.is_contiguous() else tensor.detach().cpu().contiguous()
    )
    if native.library() is None:
        return digest_plainly(data)
    found = Numbers()
    native.call("digest", torch.float32, data, data.numel() * data.element_size(), found)
    return tuple(found)


def digest_plainly(tensor: Tensor) -> Digest:
    """The readable twin of `digest`: lane j takes in word j, j + 64, ... of the bytes."""
    data = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    size = len(data)
    block = 4 * LANES
    data += bytes(block - size % block)  # after a whole block there is one more, of zeros
    words = memoryview(data).cast("I")
    lanes = [(lane + 1) * 0x9E3779B1 & WORD for lane in range(LANES)]
    for first in range(0, len(words), LANES):
        for lane in range(LANES):
            mixed = lanes[lane] ^ words[first + lane]
            mixed = (mixed << 13 | mixed >> 19) & WORD
            lanes[lane] = (mixed * PRIME + 1) & WORD
    found = []
    for start in range(8):
        total = size + start
        for lane in lanes[start::8]:
            total = (total ^ lane) * LONG_PRIME & LONG
            total ^= total >> 29
        found.append(total)
    return tuple(found)
