"""How positions enter a model, and the sizes that a position encoding is built with.

| enters    | where                                   | interface                                 |
|-----------|-----------------------------------------|-------------------------------------------|
| "vectors" | the vectors of words, in the embedding  | `VectorPositions`                         |
| "heads"   | queries and keys, inside self-attention | `HeadProcess` (`attention/interfaces.py`) |
| "scores"  | the scores, inside self-attention       | `ScoreBias` (`attention/interfaces.py`)   |

The class of an encoding has the attribute `enters` and the class method `of`, which builds it for
the sizes of a model.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumok.config.stack import RotaryScaling
from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class PositionSizes:
    """The sizes of the model that the positions are for.

    Attributes:
        dim: width of the model.
        heads, head_dim: their number, and the width of one head's query.
        length: the number of positions.
        base: of the wavelengths of rotary positions.
        scaling: how these reach further; None: they do not.
        causal: whether queries see no later keys.
        buckets: of relative positions, the rows of their table.
        distance: from which on all of them are alike.
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
    """A vector for each position, which is added to the words or set beside them.

    Attributes:
        width: that of the vectors; it may be less than the model's.
    """

    @property
    def width(self) -> int: ...

    def __call__(self, position: int, length: int) -> Float[Tensor, "{length} width"]:
        """The vectors of `length` positions from `position` on."""
        ...
