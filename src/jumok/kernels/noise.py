"""Dropout masks that are a pure function of a seed, so that no random state has to be saved.

Element i of a mask with seed s is kept when hash(i, s) >= p * 2^32; the hash is a 32-bit
multiply-xorshift finaliser (constants: C. Wellons, "hash-prospector", lowbias32). The C kernels,
the Triton kernels of GPUs (`card/dropout.py`) and the torch twin below draw the same masks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch

from jumok.kernels.card import serving
from jumok.shapes import Bool, Float, Int, Tensor

_WORD_MASK = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9

Hashed = TypeVar("Hashed", int, Tensor)


def mix(number: Hashed) -> Hashed:
    """A well-spread 32-bit hash of a 32-bit number, or of each in an int64 tensor."""
    number = ((number ^ (number >> 16)) * 0x7FEB352D) & _WORD_MASK
    number = ((number ^ (number >> 15)) * 0x846CA68B) & _WORD_MASK
    return number ^ (number >> 16)


def kept(
    count: int, device: torch.device, seed: int | Int[Tensor, ""], threshold: int
) -> Bool[Tensor, " {count}"]:
    """Which of `count` elements have a hash that is not below the threshold."""
    number = torch.arange(count, dtype=torch.int64, device=device)
    return mix((number * _GOLDEN + seed) & _WORD_MASK) >= threshold


@dataclass(frozen=True)
class DropoutMask:
    """Which elements of a tensor to drop: each with probability `p`, decided by `seed`.

    A seed in a tensor is read when the mask is applied (`Noise.seeded`).
    """

    p: float
    seed: int | Int[Tensor, ""]

    @property
    def threshold(self) -> int:
        return int(self.p * 2**32)

    def keep(self, count: int, device: torch.device) -> Tensor:
        """True for the elements to keep, as a flat mask of `count`."""
        return kept(count, device, self.seed, self.threshold)

    def apply(self, states: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        """Zeroes the dropped elements and scales the kept ones by 1 / (1 - p)."""
        if serving.serves(states):
            from jumok.kernels.card.dropout import dropout_on_card

            return dropout_on_card(states, self)
        return self.apply_plainly(states)

    def apply_plainly(self, states: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        """The readable twin of all kernels that drop elements."""
        keep = self.keep(states.numel(), states.device).view(states.shape)
        return states * keep.to(states.dtype) * (1.0 / (1.0 - self.p))


class Noise:
    """Hands out the seeds of a model's masks, one a call, in the order of the calls.

    Attributes:
        key: what decides the masks of this sequence.
        calls: how many masks of this sequence were drawn.
    """

    def __init__(self) -> None:
        self.key = 0
        self.calls = 0
        self._seeds: Int[Tensor, " calls"] | None = None

    def rekey(self, *numbers: int) -> None:
        """Starts a new sequence of masks, for instance from (seed, step, micro-batch)."""
        self.key, self.calls = 0, 0
        for number in numbers:
            self.key = mix((self.key + number + _GOLDEN) & _WORD_MASK)

    @contextmanager
    def seeded(self, seeds: Int[Tensor, " calls"]) -> Iterator[None]:
        """While entered, the masks of a new sequence have these seeds, as tensors.

        For kernels that a GPU records: numbers are recorded with them, and what is in the memory of
        the GPU is read each time (`training/devices/cuda_graphs.py`).
        """
        calls, self._seeds, self.calls = self.calls, seeds, 0
        try:
            yield
        finally:
            self._seeds, self.calls = None, calls

    @contextmanager
    def after(self, calls: int) -> Iterator[None]:
        """While entered, the masks are those that follow so many calls: the same ones again, if
        later ones were drawn already. Then the sequence continues after the last one drawn.
        """
        drawn, self.calls = self.calls, calls
        try:
            yield
        finally:
            self.calls = max(drawn, self.calls)

    def mask(self, p: float) -> DropoutMask:
        """The next mask."""
        self.calls += 1
        if self._seeds is not None:
            return DropoutMask(p, self._seeds[self.calls - 1])
        return DropoutMask(p, mix((self.key + self.calls * _GOLDEN) & _WORD_MASK))


def seeds_of(key: Int[Tensor, ""], calls: int) -> Int[Tensor, " {calls}"]:
    """The seeds of the first masks of the sequence with this key, as `Noise.mask` draws them."""
    numbers = torch.arange(1, calls + 1, device=key.device)
    seeds = mix((key + numbers * _GOLDEN) & _WORD_MASK)
    # 16 bytes apart, which compiled kernels ask of what they read
    return seeds[:, None].repeat(1, 2)[:, 0]
