"""Tensors of GGUF files in float32: each is made when it is asked for.

A block holds numbers of few bits, and what they are multiplied with and added to:

    *_0      x = d q             d: a float16 for 32 numbers
    *_1      x = d q + m         m: another one
    *_K      x = d s q - e t     d, e: float16 for 256 numbers; s, t: integers for 16 or 32 of them

Source: ggml-common.h and ggml-quants.c (llama.cpp).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from jumok.errors import BundleError, Location
from jumok.interop.containers import Container
from jumok.interop.gguf_tensor import GgufTensor

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


def _halves(blocks: Bytes, place: int) -> Floats:
    """(blocks 1): a float16 of each block."""
    return np.ascontiguousarray(blocks[:, place : place + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: Bytes) -> Bytes:
    """The lower four bits of all bytes of a block, then the upper ones."""
    return np.concatenate((blocks & 15, blocks >> 4), axis=-1)


def _fifth_bits(blocks: Bytes, place: int) -> Bytes:
    """The fifth bits of 32 numbers, times 16."""
    bits = np.unpackbits(blocks[:, place : place + 4], axis=1, bitorder="little")
    return np.left_shift(bits, 4, dtype=np.uint8)


def _q8_0(blocks: Bytes) -> Floats:
    return _halves(blocks, 0) * blocks[:, 2:].view(np.int8)


def _q4_0(blocks: Bytes) -> Floats:
    return _halves(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(np.float32) - 8)


def _q4_1(blocks: Bytes) -> Floats:
    return _halves(blocks, 0) * _nibbles(blocks[:, 4:]) + _halves(blocks, 2)


def _q5_0(blocks: Bytes) -> Floats:
    numbers = _nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)
    return _halves(blocks, 0) * (numbers.astype(np.float32) - 16)


def _q5_1(blocks: Bytes) -> Floats:
    numbers = _nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)
    return _halves(blocks, 0) * numbers + _halves(blocks, 2)


def _scales(blocks: Bytes) -> tuple[Floats, Floats]:
    """(blocks 8 1) each: the factors and offsets of eight groups, six bits each in twelve bytes."""
    low, middle, high = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scale = np.concatenate((low & 63, (high & 15) | (low >> 6 << 4)), axis=1)
    offset = np.concatenate((middle & 63, (high >> 4) | (middle >> 6 << 4)), axis=1)
    return (_halves(blocks, 0) * scale)[..., None], (_halves(blocks, 2) * offset)[..., None]


def _q4_k(blocks: Bytes) -> Floats:
    scale, offset = _scales(blocks)
    numbers = _nibbles(blocks[:, 16:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    return scale * numbers - offset


def _q5_k(blocks: Bytes) -> Floats:
    scale, offset = _scales(blocks)
    numbers = _nibbles(blocks[:, 48:].reshape(-1, 4, 32)).reshape(-1, 8, 32)
    fifth = blocks[:, None, 16:48] >> np.arange(8, dtype=np.uint8)[:, None] & 1
    return scale * (numbers | fifth << 4) - offset


def _q6_k(blocks: Bytes) -> Floats:
    halves, quarters = np.array([0, 4], np.uint8), np.array([0, 2, 4, 6], np.uint8)
    low = blocks[:, :128].reshape(-1, 2, 1, 64) >> halves[:, None] & 15
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> quarters[:, None] & 3
    numbers = (low.reshape(-1, 2, 4, 32) | high << 4).astype(np.float32) - 32
    scale = _halves(blocks, 208) * blocks[:, 192:208].view(np.int8)
    return scale[..., None] * numbers.reshape(-1, 16, 16)


def _bfloat16(blocks: Bytes) -> Floats:
    return (blocks.view("<u2").astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True)
class BlockKind:
    """A type of tensors: how many numbers a block has, its bytes, and what makes floats of them."""

    name: str
    numbers: int
    size: int
    floats: Callable[[Bytes], Floats]


KINDS = {
    0: BlockKind("F32", 1, 4, lambda blocks: blocks.view("<f4")),
    1: BlockKind("F16", 1, 2, lambda blocks: blocks.view("<f2").astype(np.float32)),
    2: BlockKind("Q4_0", 32, 18, _q4_0),
    3: BlockKind("Q4_1", 32, 20, _q4_1),
    6: BlockKind("Q5_0", 32, 22, _q5_0),
    7: BlockKind("Q5_1", 32, 24, _q5_1),
    8: BlockKind("Q8_0", 32, 34, _q8_0),
    12: BlockKind("Q4_K", 256, 144, _q4_k),
    13: BlockKind("Q5_K", 256, 176, _q5_k),
    14: BlockKind("Q6_K", 256, 210, _q6_k),
    30: BlockKind("BF16", 1, 2, _bfloat16),
}
"""By their numbers in GGUF."""
AT_ONCE = 1 << 22
"""Numbers that are made at a time: what they are made of in float32 needs room, too."""


def open_gguf(file: Path, tensors: Mapping[str, GgufTensor]) -> Container:
    """The tensors of a file.

    Raises:
        BundleError: a tensor is of a type that is not read, or reaches beyond the file.
    """
    size = file.stat().st_size
    for name, tensor in tensors.items():
        kind = KINDS.get(tensor.kind)
        if kind is None:
            known = ", ".join(each.name for each in KINDS.values())
            raise _fault(file, "a tensor has a type that is not read.", known, name, tensor.kind)
        if tensor.shape[-1] % kind.numbers:
            what = "a tensor's rows are no whole blocks."
            raise _fault(file, what, f"a multiple of {kind.numbers}", name, tensor.shape[-1])
        if tensor.begin + tensor.elements // kind.numbers * kind.size > size:
            raise _fault(file, "a tensor reaches beyond the file.", f"{size:,} bytes", name, "more")

    def load(name: str) -> Tensor:
        tensor = tensors[name]
        kind, count = KINDS[tensor.kind], tensor.elements
        found = np.empty(count, np.float32)
        blocks, step = count // kind.numbers, max(1, AT_ONCE // kind.numbers)
        stored = np.memmap(file, np.uint8, "r", tensor.begin, (blocks, kind.size))
        for begin in range(0, blocks, step):
            part = np.ascontiguousarray(stored[begin : begin + step])
            at = begin * kind.numbers
            found[at : at + len(part) * kind.numbers] = kind.floats(part).ravel()
        return torch.from_numpy(found.reshape(tensor.shape))

    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    return Container(file.parent, shapes, dict.fromkeys(shapes, file), load)


def _fault(file: Path, what: str, expected: str, name: str, got: object) -> BundleError:
    return BundleError(
        what, expected=expected, got=f"{name}: {got}", place=Location(file),
        do="get an undamaged copy, or a file of another kind, such as Q8_0",
    )  # fmt: skip
