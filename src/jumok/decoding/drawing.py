"""The random numbers of sampling, which both engines share.

Importing it imports no torch.
"""

import numpy as np

BITS = 53
"""Those of a float64."""


class Draws:
    """Uniform numbers from 0 to 1 (below 1), one for each token of one text.

    Number n is a function of the seed, the text's place and n alone: which other texts are written
    at the same time, and where, changes nothing. They are the upper 53 bits of the numbers of
    Philox-4x64-10 with the key (seed, place) and the counter 1, 2, ..., four numbers for each value
    of the counter.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"; numpy.random.Philox.

    Args:
        seed: modulo 2^64.
        place: which of the texts that are written with this seed.
    """

    def __init__(self, seed: int, place: int = 0) -> None:
        self._philox = np.random.Philox(key=np.array([seed % 2**64, place], np.uint64))

    def next(self) -> float:
        """The number for the next token."""
        return (int(self._philox.random_raw()) >> (64 - BITS)) * 2.0**-BITS
