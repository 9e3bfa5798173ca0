"""Dropout masks that are a pure function of a seed, so that no random state has to be saved.

Element i of a mask with seed s is kept when hash(i, s) >= p * 2^32; the hash is a 32-bit
multiply-xorshift finaliser (constants: C. Wellons, "hash-prospector", lowbias32). The C kernels
the Triton kernel of GPUs (`card/dropout.py`) and the torch twin below draw the same masks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from jumok.kernels.card import serving
from jumok.late import late_imports
from jumok.shapes import Bool, Float, Int, Tensor

with late_imports():
    from jumok.kernels.card import dropout as card

_WORD = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9


def mix(number: int) -> int:
    """A well-spread 32-bit hash of a 32-bit number."""
    number = ((number ^ (number >> 16)) * 0x7FEB352D) & _WORD
    number = ((number ^ (number >> 15)) * 0x846CA68B) & _WORD
    return number ^ (number >> 16)


def kept(
    count: int, device: torch.device, seed: int | Int[Tensor, ""], threshold: int
) -> Bool[Tensor, " {count}"]:
    """Which of `count` elements have a hash that is not below the threshold."""
    number = torch.arange(count, dtype=torch.int64, device=device)
    number = (number * _GOLDEN + seed) & _WORD
    number = ((number ^ (number >> 16)) * 0x7FEB352D) & _WORD
    number = ((number ^ (number >> 15)) * 0x846CA68B) & _WORD
    return (number ^ (number >> 16)) >= threshold


@dataclass(frozen=True)
class DropoutMask:
    """Which elements of a tensor to drop: each with probability `p`, decided by `seed`."""

    p: float
    seed: int

    @property
    def threshold(self) -> int:
        """Elements whose hash is below are dropped."""
        return int(self.p * 2**32)

    def keep(self, count: int, device: torch.device) -> Tensor:
        """True for the elements to keep, as a flat mask of `count`."""
        return kept(count, device, self.seed, self.threshold)

    def apply(self, states: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        """Zeroes the dropped elements and scales the kept ones by 1 / (1 - p)."""
        if serving.serves(states):
            return card.dropout(states, self.p, self.threshold, self.seed)
        return self.apply_plainly(states)

    def apply_plainly(self, states: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
        """The readable twin of all kernels that drop elements."""
        keep = self.keep(states.numel(), states.device).view(states.shape)
        return states * keep.to(states.dtype) * (1.0 / (1.0 - self.p))


class Noise:
    """Hands out the seeds of a model's masks, one a call, in the order of the calls."""

    def __init__(self) -> None:
        self._key = 0
        self._calls = 0

    def rekey(self, *numbers: int) -> None:
        """Starts a new sequence of masks, for instance from (seed, step, micro-batch)."""
        self._key, self._calls = 0, 0
        for number in numbers:
            self._key = mix((self._key + number + _GOLDEN) & _WORD)

    @property
    def calls(self) -> int:
        """How many masks of this sequence were drawn."""
        return self._calls

    @contextmanager
    def after(self, calls: int) -> Iterator[None]:
        """While entered, the masks are those that follow so many calls: the same ones again, if
        later ones were drawn already. Then the sequence continues after the last one drawn.
        """
        drawn, self._calls = self._calls, calls
        try:
            yield
        finally:
            self._calls = max(drawn, self._calls)

    def mask(self, p: float) -> DropoutMask:
        """The next mask."""
        self._calls += 1
        return DropoutMask(p, mix((self._key + self._calls * _GOLDEN) & _WORD))
