"""Pieces of a sentence in both languages, and how tokens are put together."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

# A link is one number, UNIT * English word + Korean word: joining shifts both by one addition.
UNIT = 1 << 10

Links = tuple[int, ...]


def links(*pairs: tuple[int, int]) -> Links:
    """The links of (English word, Korean word) index pairs."""
    return tuple(i * UNIT + j for i, j in pairs)


def index_pairs(linked: Links) -> tuple[tuple[int, int], ...]:
    """The index pairs of links, sorted. Inverse of `links` where no index is negative."""
    return tuple([(link // UNIT, link % UNIT) for link in sorted(linked)])


class Fragment(NamedTuple):
    """English words and the Korean words (eojeols) that say the same.

    `links` count from the fragment's first words. English that has no Korean of its own ("did",
    a dropped "you") has `korean` "" and links with the Korean word before it, index -1: `join` is
    told where in the Korean it belongs.
    """

    english: str
    english_words: int
    korean: str
    korean_words: int
    links: Links


EMPTY = Fragment("", 0, "", 0, ())


@cache
def fragment(english: str, korean: str, *pairs: tuple[int, int]) -> Fragment:
    """A fragment from its two strings. Without pairs, every word is linked with every word."""
    width, depth = len(english.split()), len(korean.split())
    all_to_all = [(i, j) for i in range(width) for j in range(depth)]
    return Fragment(english, width, korean, depth, links(*(pairs or all_to_all)))


@cache
def unspoken(english: str) -> Fragment:
    """English without Korean of its own, linked with the Korean word before it."""
    width = len(english.split())
    return Fragment(english, width, "", 0, links(*((i, -1) for i in range(width))))


def join(english: Sequence[Fragment], korean: Sequence[Fragment]) -> Fragment:
    """The fragments in the order of each language, as one fragment.

    Both sequences hold the same fragments; EMPTY ones are skipped. What is not EMPTY must occur
    once: the two orders are matched by identity.
    """
    starts = {}
    depth = 0
    said = []
    for part in korean:
        starts[id(part)] = depth
        _, _, text, count, _ = part
        if count:
            said.append(text)
            depth += count
    linked: list[int] = []
    width = 0
    words = []
    for part in english:
        text, count, _, _, own = part
        if count:
            shift = width * UNIT + starts[id(part)]
            linked += [link + shift for link in own]
            words.append(text)
            width += count
    return Fragment(" ".join(words), width, " ".join(said), depth, tuple(linked))
