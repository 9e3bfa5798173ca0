"""Head cards as one HTML file that needs no network, for one model or several side by side."""

from collections.abc import Mapping, Sequence
from typing import Literal

from jumok.inspection.heads.cards import FURTHEST, AnyHeadCard
from jumok.inspection.page.document import document

ExampleUnit = Literal["sentences", "pictures"]


def cards_page(
    models: Mapping[str, Sequence[AnyHeadCard]],
    data: str,
    count: int,
    unit: ExampleUnit = "sentences",
) -> str:
    """The page of the cards.

    Args:
        models: by name, in the order of the curves; all with the same heads.
        count: how many examples of it were measured.
        unit: what these are; a sentence is a pair, or a text for models without cross-attention.
    """
    return document("cards.js", cards_payload(models, data, count, unit))


def cards_payload(
    models: Mapping[str, Sequence[AnyHeadCard]],
    data: str,
    count: int,
    unit: ExampleUnit = "sentences",
) -> dict[str, object]:
    """What the page reads, as plain JSON."""
    return {
        "data": data,
        "count": count,
        "unit": unit,
        "furthest": FURTHEST,
        "models": [
            {"name": name, "heads": [card.facts() for card in cards]}
            for name, cards in models.items()
        ],
    }
