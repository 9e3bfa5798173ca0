"""Weights as the page recomputes them from their vectors, and how far the recorded ones are off.

    steps = round(65535 softmax(scale q · k))
    recorded weight = (steps + what the page gets) / 65535

The differences are nearly all 0, and compress to a fiftieth of the weights. So the page has to find
the same steps as this file, on every machine. Its vectors are whole numbers times powers of two
(`rounded`), whose products are exact in float64 in any order; everything else is additions,
multiplications and divisions in a fixed order, which IEEE 754 rounds in one way only. Exponentials
are not among these, so there is one here (`web/recomputed_weights.js` has the same).
"""

import numpy as np
import numpy.typing as npt

from jumok.inspection.page.arrays import STEPS, PageArray
from jumok.inspection.trace import Site

ONE_LN2, LN2 = 1.4426950408889634, 0.6931471805599453
TERMS = 12
"""The terms of the series, which is used up to half of LN2: the rest is below 1e-16."""

LOWEST_POWER = 60
"""The lowest power of two that counts; a weight below it has no step."""

MOST_APART = 127
"""The largest difference that is worth it: one byte."""

Numbers = npt.NDArray[np.float64]


def weights_apart(site: Site, query: PageArray, key: PageArray) -> PageArray | None:
    """How many steps the recorded weights of a site are off those that its rounded vectors give.

    None: they are not the softmax of these vectors' products alone, such as those of additive
    scores, or the difference is too large.
    """
    others = (site.energy, site.bias, site.sink)
    if site.scale is None or site.kind == "linear" or any(each is not None for each in others):
        return None
    if query.kind != "s16" or key.kind != "s16" or not np.isfinite(site.weights).all():
        return None
    most = STEPS["u16"][1]
    steps = np.floor(recomputed(query, key, site.scale, site.allowed) * most + 0.5)
    apart = np.rint(site.weights.clip(0, 1).astype(np.float64) * most) - steps
    if np.abs(apart).max(initial=0) > MOST_APART:
        return None
    return PageArray("apart", site.weights.shape, apart.astype(np.int8))


def recomputed(
    query: PageArray, key: PageArray, scale: float, allowed: npt.NDArray[np.bool_] | None
) -> Numbers:
    """(heads query key), the softmax of the scaled products, where the mask permits it."""
    assert query.powers is not None
    assert key.powers is not None
    products = query.items.astype(np.float64) @ key.items.astype(np.float64).swapaxes(1, 2)
    powers = query.powers[:, :, None].astype(np.int32) + key.powers[:, None, :]
    scores = np.ldexp(products, powers) * scale
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    highest = scores.max(axis=2, keepdims=True)
    under = np.where(np.isfinite(scores), scores, 0.0) - np.where(np.isfinite(highest), highest, 0)
    exponentials = np.where(np.isfinite(scores), exponential(np.minimum(under, 0.0)), 0.0)
    sums = np.cumsum(exponentials, axis=2)[:, :, -1:]  # one after the other, as the page does
    weights: Numbers = np.divide(
        exponentials, sums, out=np.zeros_like(exponentials), where=sums > 0
    )
    return weights


def exponential(under: Numbers) -> Numbers:
    """e to the power of numbers that are not above 0."""
    whole = np.floor(under * ONE_LN2 + 0.5)
    rest = under - whole * LN2
    series = np.ones_like(rest)
    for term in range(TERMS, 0, -1):
        series = 1.0 + rest * series / term
    powers: Numbers = np.ldexp(series, np.maximum(whole, -LOWEST_POWER).astype(np.int32))
    return np.where(whole < -LOWEST_POWER, 0.0, powers)
