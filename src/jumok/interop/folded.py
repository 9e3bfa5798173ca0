"""Transforms of tensors in which not all of what is stored there is kept as it is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from jumok.errors import BundleError
from jumok.interop.rows import TensorList
from jumok.interop.vocabulary import Vocabulary


@dataclass(frozen=True)
class Scaled:
    """Times a factor. Written and read again it is the same bits, but of what was read first, the
    last bit may change.
    """

    factor: float

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [self._times(tensor) for tensor in tensors]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [self._written(tensor) for tensor in tensors]

    def _times(self, tensor: Tensor) -> Tensor:
        return (tensor.double() * self.factor).float()

    def _written(self, tensor: Tensor) -> Tensor:
        """The numbers that are read as these, where there are such."""
        found = (tensor.double() / self.factor).float()
        for way in (-torch.inf, torch.inf):
            other = found.nextafter(torch.full_like(found, way))
            better = (self._times(found) != tensor) & (self._times(other) == tensor)
            found = torch.where(better, other, found)
        return found


@dataclass(frozen=True)
class Computed:
    """A tensor that is not stored there, because it is always this one."""

    tensor: Tensor

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        return [*tensors, self.tensor.clone()]

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        *others, tensor = tensors
        if not torch.equal(tensor, self.tensor):
            raise BundleError(
                "this family computes a tensor, and the model was trained to have another.",
                got=f"a difference of up to {float((tensor - self.tensor).abs().max()):.3g}",
            )
        return others


@dataclass(frozen=True)
class AlwaysThis:
    """A tensor there that has no counterpart here, and has to be this one.

    Attributes:
        name: of the tensor, for messages.
    """

    name: str
    tensor: Tensor

    def read(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        (stored,) = tensors
        if not torch.equal(stored, self.tensor):
            raise BundleError(
                "a tensor changes what is computed, and jumok has none like it.",
                expected=f"{self.name} = {self.tensor.tolist()}"[:80],
                got=str(stored.tolist())[:80],
            )
        return []

    def write(self, tensors: TensorList, vocabulary: Vocabulary) -> TensorList:  # noqa: ARG002
        assert not tensors
        return [self.tensor]
