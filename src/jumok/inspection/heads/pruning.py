"""Pruning heads step by step: the score of a model without its least important heads.

Source: Michel et al. 2019, Are sixteen heads really better than one?, section 4.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import nn

from jumok.inspection.heads.cards import AnyHeadCard
from jumok.inspection.hooks.intervene import switched_off

PERCENTS = tuple(range(0, 101, 10))
ALL_PARTS = "together"
PRUNED_PARTS = ("encoder", "decoder", "cross", ALL_PARTS)


class PrunedPoint(NamedTuple):
    """A score without some heads."""

    percent: int
    heads: int
    score: float


def pruning_order(cards: Sequence[AnyHeadCard], part: str) -> list[AnyHeadCard]:
    """The heads of a part, or of all parts together, the least important first."""
    meant = [card for card in cards if part in (card.part, ALL_PARTS)]
    return sorted(meant, key=lambda card: card.importance)


def pruning_curves(
    model: nn.Module, cards: Sequence[AnyHeadCard], score: Callable[[], float]
) -> dict[str, list[PrunedPoint]]:
    """The score with 0, 10, ... 100 percent of heads ablated, for each part and for all parts.

    Args:
        cards: all heads of the model.
    """
    count = Counter(card.site for card in cards)
    known: dict[frozenset[tuple[str, int]], float] = {}

    def without(off: Sequence[AnyHeadCard]) -> float:
        chosen = frozenset((card.site, card.head) for card in off)
        if chosen not in known:
            heads = {site: [head for name, head in chosen if name == site] for site in count}
            with switched_off(model, heads, count):
                known[chosen] = score()
        return known[chosen]

    curves = {}
    for part in PRUNED_PARTS:
        order = pruning_order(cards, part)
        numbers = [round(len(order) * percent / 100) for percent in PERCENTS]
        curves[part] = [
            PrunedPoint(percent, number, without(order[:number]))
            for percent, number in zip(PERCENTS, numbers, strict=True)
        ]
    return {part: points for part, points in curves.items() if points[-1].heads}
