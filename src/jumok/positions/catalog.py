"""Every encoding that gives each position a vector, by its name in a recipe.

Rotary positions and ALiBi are not among them: they enter inside attention (`rotary.py`,
`alibi.py`), as a rotation of queries and keys, and as a bias on the scores.
"""

from jumok.positions.binary import BinaryPositions
from jumok.positions.index import FractionPositions, IndexPositions
from jumok.positions.learned import LearnedPositions
from jumok.positions.sinusoidal import SinusoidalPositions

Encoding = (
    IndexPositions | FractionPositions | BinaryPositions | SinusoidalPositions | LearnedPositions
)

ENCODINGS = ("index", "fraction", "binary", "sinusoidal", "learned")


def make_encoding(kind: str, dim: int, length: int) -> Encoding:
    """One of ENCODINGS for a model of width `dim` and sentences of up to `length` positions.

    Its own `width` may be less than `dim`.
    """
    match kind:
        case "index":
            return IndexPositions()
        case "fraction":
            return FractionPositions(length)
        case "binary":
            return BinaryPositions(length)
        case "sinusoidal":
            return SinusoidalPositions(dim, length)
    assert kind == "learned"
    return LearnedPositions(dim, length)
