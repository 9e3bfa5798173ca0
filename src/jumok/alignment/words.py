"""Links between words, from weights between tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.float32]
"""(target source), of tokens or of words."""

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""


@dataclass(frozen=True)
class GoldLinks:
    """The word alignment of a pair of sentences as people made it.

    `possible` holds the sure ones too.
    """

    sure: frozenset[Link]
    possible: frozenset[Link]


def merge_words(
    weights: Weights, source_words: Sequence[int], target_words: Sequence[int]
) -> Weights:
    """Weights between words from weights between tokens.

    The weights to a word's tokens are summed, and those from a word's tokens averaged, so a row
    that summed to 1 still does.

    Source: Clark et al. 2019, What does BERT look at?, section 4.1.

    Args:
        source_words, target_words: for each token the index of its word, from 0 without gaps; what
            is negative belongs to none.
    """
    sources, targets = np.asarray(source_words), np.asarray(target_words)
    into = (np.arange(sources.max() + 1) == sources[:, None]).astype(np.float32)
    out = (np.arange(targets.max() + 1)[:, None] == targets).astype(np.float32)
    merged: Weights = (out / out.sum(axis=1, keepdims=True)) @ weights @ into
    return merged


def links(weights: Weights) -> list[Link]:
    """Each target word with the source word of the largest weight, in the order of the source."""
    return sorted((source, target) for target, source in enumerate(weights.argmax(1).tolist()))


def pharaoh(alignment: Iterable[Link]) -> str:
    """The links in Pharaoh format: "0-0 1-2", source word first, both from 0."""
    return " ".join(f"{source}-{target}" for source, target in alignment)
