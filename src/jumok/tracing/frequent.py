"""Words that every text has, such as articles: a translation may have no word for them."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from jumok.data.tokenizer import END, SPACE, Tokenizer

FREQUENT_SHARE, MOST_FREQUENT = 0.02, 200
"""The first tokens of a vocabulary, which is in the order of frequency (SentencePiece's unigrams)
or of merging (BPE): this share of it, and at most so many, as a small vocabulary soon comes to
ordinary words. Characters and bytes, which come before or after all others, do not count."""


def frequent_words(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[int, ...]:
    """The indices of the words that are one of the most frequent tokens."""
    frequent = most_frequent(tokenizer)
    groups: dict[int, list[int]] = {}
    for word, id in zip(tokenizer.words(ids), ids, strict=True):
        groups.setdefault(word, []).append(id)
    return tuple(
        word for word, own in groups.items() if word >= 0 and len(own) == 1 and own[0] in frequent
    )


@lru_cache(maxsize=4)  # a trace is made for every key press, of one or two models
def most_frequent(tokenizer: Tokenizer) -> frozenset[int]:
    """The ids of the most frequent tokens."""
    longer = [*_longer_tokens(tokenizer)]
    return frozenset(longer[: min(MOST_FREQUENT, int(FREQUENT_SHARE * len(longer)))])


def _longer_tokens(tokenizer: Tokenizer) -> Iterator[int]:
    """Tokens that are no single characters and no bytes, in their order."""
    for id in range(END + 1, tokenizer.size):
        (piece,) = tokenizer.pieces([id])
        if len(piece) > 1 and piece != SPACE and not piece.startswith("<0x"):
            yield id
