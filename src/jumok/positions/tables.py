"""The numbers of position encodings that torch and the native engine share; torch is not imported.

    sinusoids  P[t, 2i] = sin(t / 10000^(2i/dim)),  P[t, 2i+1] = cos(t / 10000^(2i/dim))

Sources: sinusoidal.py and alibi.py.
"""

import math

import numpy as np
import numpy.typing as npt


def waves(length: int, dim: int) -> npt.NDArray[np.float32]:
    """The encoding of positions 0 to length - 1: (length dim)."""
    position = np.arange(length, dtype=np.float64)[:, None]
    frequency = np.exp(np.arange(0, dim, 2, dtype=np.float64) * (-math.log(1e4) / dim))
    angle = position * frequency
    table = np.empty((length, dim))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)[:, : dim // 2]
    return table.astype(np.float32)


def slopes(heads: int) -> list[float]:
    """The slope of each head in ALiBi: for 8 heads 1/2, 1/4, ..., 1/256.

    Where `heads` is no power of two: those of the power of two below, and then every other one of
    the power of two above.
    """
    power = 1 << (heads.bit_length() - 1)
    even = [2.0 ** (-8.0 * h / power) for h in range(1, power + 1)]
    if power == heads:
        return even
    return even + slopes(2 * power)[0::2][: heads - power]
