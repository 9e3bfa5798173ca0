"""The confidence interval of a proportion.

It is Wilson's: unlike "plus or minus two standard errors" it stays inside 0 to 1, and is valid for
few examples and for proportions near 0 or 1.

Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
"""

import math

Z = 1.959963984540054  # 95 % of a normal distribution lie within this many standard deviations


def wilson(right: int, total: int) -> tuple[float, float]:
    """The 95 % interval of the proportion `right` of `total`; 0 to 1."""
    share, z2 = right / total, Z * Z
    middle = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = Z / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)
