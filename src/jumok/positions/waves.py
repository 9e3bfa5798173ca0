"""The table of sinusoidal positions. Nothing here imports torch.

    P[t, 2i] = sin(t / 10000^(2i/dim)),  P[t, 2i+1] = cos(t / 10000^(2i/dim))

Source: Vaswani et al. 2017, section 3.5; lecture 001.
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
