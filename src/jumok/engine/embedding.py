"""Token and position vectors as the engine adds them up; the readable twin is `jumok/positions`.

How positions are joined to words is worked out here, once: a joint layer is linear, so that
[x ; p] W + b = (x W_x + b) + p W_p is again a sum of two vectors, one from a table of the words and
one from a table of the places.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from jumok.config.stack import StackConfig
from jumok.engine.packing import Array
from jumok.positions.tables import rotations, waves

TABLE_LENGTH = 4096 + 2
"""Positions for which there are vectors or angles where the encoding itself has no limit."""
LONGEST_TABLE = 1 << 17
"""Angles that are kept of a model for longer texts."""


Named = Callable[[str], Array]
"""Gives the weights of a name."""


@dataclass(frozen=True)
class TokenVectors:
    """What is added up for each token.

    Attributes:
        words: (vocabulary dim).
        places: (positions dim); None: positions do not enter here.
        by_fraction: (dim), which is added times the fraction of the sentence before a token; None:
            nothing is.
    """

    words: Array
    places: Array | None
    by_fraction: Array | None


def vectors_of(config: StackConfig, weights: Named, side: str, table: Array) -> TokenVectors:
    """The vectors of the words in `table` and of their places, for "encoder" or "decoder"."""
    words = table * np.float32(config.embedding_factor)
    places = _place_vectors(config, weights, side)
    by_fraction = np.ones((1, 1), np.float32) if _by_length(config, side) else None
    if config.positions_join == "concatenate":
        matrix = weights(f"{side}.embedding.positions.join.weight").T
        bias = weights(f"{side}.embedding.positions.join.bias")
        of_words, of_places = matrix[: config.dim], matrix[config.dim :]
        words = words @ of_words + bias
        places = None if places is None else places @ of_places
        by_fraction = None if by_fraction is None else by_fraction @ of_places
    return TokenVectors(words, _wide(places, config.dim), _wide(by_fraction, config.dim))


def _wide(rows: Array | None, dim: int) -> Array | None:
    """An encoding that is narrower than the words is added to their first elements."""
    return None if rows is None else np.pad(rows, ((0, 0), (0, dim - rows.shape[1])))


def _by_length(config: StackConfig, side: str) -> bool:
    """Whether a place depends on the sentence's length; a decoder assumes the longest one."""
    return config.positions == "fraction" and side == "encoder"


def _place_vectors(config: StackConfig, weights: Named, side: str) -> Array | None:
    """(positions width)"""
    place = np.arange(TABLE_LENGTH, dtype=np.float32)[:, None]
    if config.positions == "index":
        return place
    if config.positions == "fraction" and not _by_length(config, side):
        return place / np.float32(max(1, config.max_length - 1))
    if config.positions == "binary":
        bits = config.specs.positions.width(config.dim, config.max_length)
        return (np.arange(1 << bits)[:, None] >> np.arange(bits) & 1).astype(np.float32)
    if config.positions.startswith("sinusoidal"):
        return _sinusoids(config.dim, config.positions == "sinusoidal-inclusive")
    if config.positions == "learned":
        return weights(f"{side}.embedding.positions.encoding.table")
    return None


@functools.lru_cache(maxsize=1)
def _sinusoids(dim: int, inclusive: bool) -> Array:
    """(positions dim): an encoder and its decoder have the same, which is computed once."""
    return waves(TABLE_LENGTH, dim, inclusive=inclusive)


def turns(config: StackConfig) -> Array:
    """(positions 2 head_dim): for each element its cosine, and the sine of its neighbour's part.

    As `positions/rotary.py`: (x, y) becomes (x cos - y sin, y cos + x sin). Elements after the
    first rotary_dim stay as they are.
    """
    sizes = config.sizes
    frequency, size = rotations(sizes.rotary_dim, config.rotary_base, config.rotary_scaling)
    length = min(max(TABLE_LENGTH, config.max_length), LONGEST_TABLE)
    angle = np.arange(length, dtype=np.float32)[:, None] * frequency
    sine, cosine = np.sin(angle) * np.float32(size), np.cos(angle) * np.float32(size)
    both = np.zeros((length, 2, sizes.head_dim), np.float32)
    both[:, 0] = 1.0
    both[:, 0, : sizes.rotary_dim] = cosine.repeat(2, 1)
    both[:, 1, : sizes.rotary_dim : 2] = -sine
    both[:, 1, 1 : sizes.rotary_dim : 2] = sine
    return both
