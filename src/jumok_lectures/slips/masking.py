"""Four readings of "multiply by the mask" (001:368, 002:85), and the share left on the future.

Source of what is right: Vaswani et al. 2017, section 3.2.3 (scores of illegal connections are set
to -∞).
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from jumok.shapes import Float, Tensor
from jumok_lectures.slips.slip import between, each, random_heads
from jumok_lectures.text import Text
from jumok_lectures.texts import Texts

T = Texts("slips_masking")

LENGTH, WIDTH = 8, 64
PLACES = "001:368, 002:85"
QUOTE = (
    "(001) t 시점 기준 미래의 단어들의 attention score에는 매우 작은 값을 곱해주어 softmax함수를 "
    "취할 때 0이 되도록 만들어준다. (002) Unnormalied attention에 softmax를 적용하기 전에 "
    "triangular matrix인 mask를 multiply한다."
)
SMALL, NEGATIVE = 1e-9, -1e9
READINGS = T.named("readings", small=SMALL, negative=NEGATIVE)


@dataclass(frozen=True)
class MaskReading:
    """Attributes:
    share: of the attention on the future, once a seed; NaN where softmax gives none.
    """

    name: Text
    share: Sequence[float]

    @property
    def told(self) -> Text:
        """The shares of all seeds."""
        nan = any(math.isnan(share) for share in self.share)
        return T("nan") if nan else between(self.share, ".0%")


def weights(name: str, generator: torch.Generator) -> Float[Tensor, "query key"]:
    """Attention of one head of random vectors, its mask applied in this reading."""
    query, key, _ = random_heads(generator, LENGTH, WIDTH)
    scores = (query @ key.transpose(-2, -1))[0, 0] / math.sqrt(WIDTH)
    future = torch.ones(LENGTH, LENGTH).triu(1).bool()
    masked = {
        "none": scores,
        "zero": scores.where(~future, scores * SMALL),
        "negative": scores.where(~future, scores * NEGATIVE),
        "infinite": scores.where(~future, scores * -math.inf),
        "added": scores.where(~future, scores - math.inf),
    }[name]
    return masked.softmax(-1)


def share_of_future(name: str, generator: torch.Generator) -> float:
    """The mean over the queries."""
    return float(weights(name, generator).triu(1).sum(-1).mean())


def readings(seeds: Sequence[int]) -> dict[str, MaskReading]:
    """Every reading, with every seed."""
    return {
        name: MaskReading(told, each(seeds, functools.partial(share_of_future, name)))
        for name, told in READINGS.items()
    }
