"""The interfaces of position encodings, and the sizes with which they are built.

| enters    | where                                   | interface                                 |
|-----------|-----------------------------------------|-------------------------------------------|
| "vectors" | word vectors, in the embedding          | `VectorPositions`                         |
| "heads"   | queries and keys, inside self-attention | `HeadProcess` (`attention/interfaces.py`) |
| "scores"  | the scores, inside self-attention       | `ScoreBias` (`attention/interfaces.py`)   |

The class of an encoding has the attribute `enters`, and the class method `of`, which builds the
encoding for the sizes of a model.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumok.config.stack import RotaryScaling
from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class PositionSizes:
    """The sizes of the model for a position encoding.

    Attributes:
        dim: width of the model.
        heads: the number of heads.
        head_dim: the width of the query of one head.
        length: the number of positions.
        base: the base of the wavelengths of rotary positions.
        scaling: the scaling of rotary positions to longer texts; None: no scaling.
        causal: whether later keys are hidden from queries.
        buckets: the number of rows of the table of relative positions.
        distance: the distance from which relative positions are equal.
    """

    dim: int
    heads: int
    head_dim: int
    length: int
    base: float = 1e4
    scaling: RotaryScaling | None = None
    causal: bool = False
    buckets: int = 32
    distance: int = 128


@runtime_checkable  # the tests check annotations while they run
class VectorPositions(Protocol):
    """A vector for each position, which is added to the word vector or appended to it.

    Attributes:
        width: the width of the vectors, which may be less than the model's.
    """

    @property
    def width(self) -> int: ...

    def __call__(self, position: int, length: int) -> Float[Tensor, "{length} width"]:
        """The vectors of `length` positions from `position` on."""
        ...
