"""Pieces of a sentence in both languages, and how pieces are put together."""

from collections.abc import Sequence
from typing import NamedTuple

Links = tuple[tuple[int, int], ...]


class Fragment(NamedTuple):
    """English words and the Korean words (eojeols) that say the same.

    `links` are (English word, Korean word) index pairs, counted from the fragment's first words.
    English that has no Korean of its own ("did", a dropped "you") has `korean` "" and links to
    the Korean word before it, index -1: `join` is told where in the Korean it belongs.
    """

    english: str
    english_words: int
    korean: str
    korean_words: int
    links: Links


EMPTY = Fragment("", 0, "", 0, ())


def fragment(english: str, korean: str, *links: tuple[int, int]) -> Fragment:
    """A fragment from its two strings. Without links, every word is linked with every word."""
    width, depth = len(english.split()), len(korean.split())
    all_to_all = tuple((i, j) for i in range(width) for j in range(depth))
    return Fragment(english, width, korean, depth, links or all_to_all)


def unspoken(english: str) -> Fragment:
    """English without Korean of its own, linked with the Korean word before it."""
    width = len(english.split())
    links = tuple((i, -1) for i in range(width))
    return Fragment(english, width, "", 0, links)


def join(english: Sequence[Fragment], korean: Sequence[Fragment]) -> Fragment:
    """The fragments in the order of each language, as one fragment.

    Both sequences hold the same fragments; EMPTY ones are skipped. What is not EMPTY must occur
    once: the two orders are matched by identity.
    """
    starts = {}
    depth = 0
    for part in korean:
        starts[id(part)] = depth
        depth += part.korean_words
    links: list[tuple[int, int]] = []
    width = 0
    for part in english:
        start = starts[id(part)]
        links += [(i + width, j + start) for i, j in part.links]
        width += part.english_words
    return Fragment(
        " ".join([part.english for part in english if part.english_words]),
        width,
        " ".join([part.korean for part in korean if part.korean_words]),
        depth,
        tuple(links),
    )
