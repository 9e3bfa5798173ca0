"""The numbers of position encodings that torch and the native engine share; torch is not imported.

    sinusoids  P[t, 2i] = sin(t / 10000^(2i/dim)),  P[t, 2i+1] = cos(t / 10000^(2i/dim))
             inclusive: 2i/(dim - 2), so that the last wavelength is 10000 times the first

Sources: sinusoidal.py, rotary.py, alibi.py and relative.py.
"""

import math

import numpy as np
import numpy.typing as npt

from jumok.config.stack import RotaryScaling


def waves(length: int, dim: int, *, inclusive: bool = False) -> npt.NDArray[np.float32]:
    """The encoding of positions 0 to length - 1: (length dim)."""
    position = np.arange(length, dtype=np.float64)[:, None]
    last = max(1, dim - 2) if inclusive else dim
    frequency = np.exp(np.arange(0, dim, 2, dtype=np.float64) * (-math.log(1e4) / last))
    angle = position * frequency
    table = np.empty((length, dim))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)[:, : dim // 2]
    return table.astype(np.float32)


def rotations(
    dim: int, base: float, scaling: RotaryScaling | None = None
) -> tuple[npt.NDArray[np.float32], float]:
    """The angle by which each pair of `dim` elements turns at every position, and the factor of the
    turned vectors.

    Source: rotary.py; for longer texts: `RotaryScaling`.
    """
    plain = np.exp(np.arange(0, dim, 2) / dim * -math.log(base))
    if scaling is None:
        return plain.astype(np.float32), 1.0
    slowed, size = plain / scaling.factor, 1.0
    if scaling.kind == "linear":
        return slowed.astype(np.float32), size
    length = scaling.original_length / (2 * math.pi)
    if scaling.kind == "llama3":
        kept = (plain * length - scaling.slow) / (scaling.fast - scaling.slow)
    else:
        pair = [
            dim * math.log(length / turns) / (2 * math.log(base))
            for turns in (scaling.fast, scaling.slow)
        ]
        first, last = max(math.floor(pair[0]), 0), min(math.ceil(pair[1]), dim - 1)
        kept = 1 - (np.arange(len(plain)) - first) / max(last - first, 1e-3)
        size = 0.1 * math.log(scaling.factor) + 1.0 if scaling.size is None else scaling.size
    kept = kept.clip(0.0, 1.0)
    return (kept * plain + (1 - kept) * slowed).astype(np.float32), size


def buckets(count: int, farthest: int, *, causal: bool) -> list[int]:
    """Which of `count` buckets of relative positions each distance from -farthest to farthest has;
    all that are further are alike.
    """
    count = count if causal else count // 2
    each = count // 2
    found = []
    for ahead in range(-farthest, farthest + 1):
        size = max(0, -ahead) if causal else abs(ahead)
        if size >= each:
            # float32, as the original computes it
            share = np.log(np.float32(size / each)) / np.float32(math.log(farthest / each))
            size = min(each + int(share * (count - each)), count - 1)
        found.append(size + (count if ahead > 0 and not causal else 0))
    return found


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
