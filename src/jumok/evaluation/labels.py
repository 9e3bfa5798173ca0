"""How often a classifier is right, all in all and label by label.

Intervals are Wilson's: unlike "plus or minus two standard errors" they stay inside 0 to 100 and
hold for few examples and for shares near the ends.

Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
"""

import math
from collections.abc import Sequence

from jumok.bundle.card import Score
from jumok.errors import DataError

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share of which `right` of `total` were seen; 0 to 1."""
    share, z2 = right / total, Z * Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def accuracy(right: int, total: int, on: str, name: str = "accuracy") -> Score:
    """The share that was right, in percent, with its interval."""
    low, high = wilson(right, total)
    return Score(name, 100 * right / total, 100 * low, 100 * high, "percent|interval:wilson95", on)


def score_labels(found: Sequence[str], true: Sequence[str], thing: str) -> list[Score]:
    """The accuracy of all, and the share of each label's examples that were recognised (recall).

    Args:
        thing: what was classified: "picture".

    Raises:
        DataError: nothing to score.
    """
    if not true:
        raise DataError("there is nothing to score.", do="give at least one example")
    pairs = list(zip(found, true, strict=True))
    scores = [accuracy(sum(a == b for a, b in pairs), len(pairs), counted(len(pairs), thing))]
    for label in sorted(set(true)):
        of_label = [one for one, gold in pairs if gold == label]
        right = sum(one == label for one in of_label)
        on = counted(len(of_label), thing)
        scores.append(accuracy(right, len(of_label), on, f"recall of {label}"))
    return scores


def counted(count: int, thing: str) -> str:
    """ "1 picture", "3,000 pictures"."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
