"""Gold links: the word alignment of a pair of sentences as people made it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GoldLinks:
    """The links of one pair of sentences, as (source word, target word), both from 0.

    `possible` holds the sure ones too.
    """

    sure: frozenset[tuple[int, int]]
    possible: frozenset[tuple[int, int]]
