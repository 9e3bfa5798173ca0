"""Head cards as one HTML file that needs no network, for one model or several side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from jumok.inspection.cards import FURTHEST, HeadCard
from jumok.inspection.page import document


def cards_page(models: Mapping[str, Sequence[HeadCard]], data: str, sentences: int) -> str:
    """The page of the cards.

    Args:
        models: by name, in the order of the curves; all with the same heads.
        data: what the corpus is called.
        sentences: how many of it were looked at: pairs, or texts where no head looks at a source.
    """
    return document("cards.js", cards_payload(models, data, sentences))


def cards_payload(
    models: Mapping[str, Sequence[HeadCard]], data: str, sentences: int
) -> dict[str, Any]:
    """What the page reads, as plain JSON."""
    return {
        "data": data,
        "sentences": sentences,
        "furthest": FURTHEST,
        "models": [
            {"name": name, "heads": [card.facts() for card in cards]}
            for name, cards in models.items()
        ],
    }
