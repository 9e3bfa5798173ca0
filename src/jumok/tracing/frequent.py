"""Words that every text has, such as articles: a translation may have no word for them."""

from collections.abc import Iterator, Sequence
from itertools import islice

from jumok.data.tokenizer import END, SPACE, Tokenizer

FREQUENT = 200
"""The first tokens of a vocabulary, which is in the order of frequency (SentencePiece's unigrams)
or of merging (BPE). Characters and bytes, which come before or after all others, do not count."""


def frequent_words(tokenizer: Tokenizer, ids: Sequence[int]) -> tuple[int, ...]:
    """The indices of the words that are one of the most frequent tokens."""
    frequent = set(islice(_longer_tokens(tokenizer), FREQUENT))
    groups: dict[int, list[int]] = {}
    for word, id in zip(tokenizer.words(ids), ids, strict=True):
        groups.setdefault(word, []).append(id)
    return tuple(
        word for word, own in groups.items() if word >= 0 and len(own) == 1 and own[0] in frequent
    )


def _longer_tokens(tokenizer: Tokenizer) -> Iterator[int]:
    """Tokens that are no single characters and no bytes, in their order."""
    for id in range(END + 1, tokenizer.size):
        (piece,) = tokenizer.pieces([id])
        if len(piece) > 1 and piece != SPACE and not piece.startswith("<0x"):
            yield id
