"""The weights of a model, which the engine's parts take by their names and shapes."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from jumok.engine.quantising import Quantised
from jumok.errors import ModelError

Array = npt.NDArray[np.float32]
Shape = tuple[int, ...]

TABLES = "encoder.embedding.table", "decoder.embedding.table", "decoder.output.weight"
"""The matrices of the vocabulary, any of which may be one."""

TIED = {"all": TABLES, "target": TABLES[1:], "none": ()}
"""Those that are one, by `tied` of [model]."""


class TensorError(ModelError):
    """A tensor is missing, or has another shape than its part."""


class Tensors:
    """The weights of a model by their names in a bundle; those that are tied may be there once.

    Attributes:
        taken: the shapes of all that a part has asked for.

    Args:
        floats: float32.
        integers: matrices that are already int8.
    """

    def __init__(
        self, floats: Mapping[str, Array], integers: Mapping[str, Quantised] | None = None
    ) -> None:
        self._floats, self._integers = dict(floats), integers or {}
        self._tied: tuple[str, ...] = ()
        self.taken: dict[str, Shape] = {}

    def tie(self, names: tuple[str, ...]) -> None:
        """Makes one tensor of all of these that are there."""
        self._tied = names

    def __contains__(self, name: str) -> bool:
        return name in self._integers or name in self._floats

    def matrix(self, name: str, *shape: int | None) -> Array | Quantised:
        """The matrix of this name and shape, as it is stored.

        Args:
            shape: None: of any size.

        Raises:
            TensorError: there is none.
        """
        stored = self._stored(name)
        found = self._integers.get(stored)
        if found is None:
            return self.floats(name, *shape)
        self._check(name, found.shape, shape)
        return found

    def floats(self, name: str, *shape: int | None) -> Array:
        """The tensor of this name and shape; what is tied is the same array.

        Raises:
            TensorError: there is none.
        """
        stored = self._stored(name)
        if stored not in self._floats:
            self._floats[stored] = self._integers[stored].floats()
        self._check(name, self._floats[stored].shape, shape)
        return self._floats[stored]

    def _stored(self, name: str) -> str:
        """The name under which a tensor is stored."""
        for each in self._names(name):
            if each in self:
                return each
        raise unfit(f"no tensor for {name}")

    def _check(self, name: str, shape: Shape, expected: tuple[int | None, ...]) -> None:
        """Compares the shape, and notes that the tensor is taken."""
        sizes = zip(shape, expected, strict=False)
        if len(shape) != len(expected) or any(size not in (None, own) for own, size in sizes):
            wanted = ", ".join("any" if each is None else str(each) for each in expected)
            raise unfit(f"{name} of shape {shape}, not ({wanted})")
        self.taken |= dict.fromkeys(self._names(name), shape)

    def _names(self, name: str) -> tuple[str, ...]:
        return self._tied if name in self._tied else (name,)


def unfit(got: str) -> TensorError:
    """The error for weights that are not those of the described model."""
    return TensorError("the weights do not fit the model.", got=got)
