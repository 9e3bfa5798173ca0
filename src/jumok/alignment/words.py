"""Links between words, from weights between tokens."""

from collections.abc import Iterable, Sequence

import torch

from jumok.shapes import Float, Tensor

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""


def merge_words(
    weights: Float[Tensor, "target source"],
    source_words: Sequence[int],
    target_words: Sequence[int],
) -> Float[Tensor, "target_words source_words"]:
    """Weights between words from weights between tokens.

    The weights to a word's tokens are summed, and those from a word's tokens averaged, so a row
    that summed to 1 still does.

    Source: Clark et al. 2019, What does BERT look at?, section 4.1.

    Args:
        source_words, target_words: for each token the index of its word, from 0 without gaps.
    """
    into = _membership(source_words).to(weights)
    out = _membership(target_words).to(weights)
    return (out / out.sum(dim=1, keepdim=True)) @ weights @ into.T


def links(weights: Float[Tensor, "target_words source_words"]) -> list[Link]:
    """Each target word with the source word of the largest weight, in the order of the source."""
    return sorted((source, target) for target, source in enumerate(weights.argmax(dim=1).tolist()))


def pharaoh(alignment: Iterable[Link]) -> str:
    """The links in Pharaoh format: "0-0 1-2", source word first, both from 0."""
    return " ".join(f"{source}-{target}" for source, target in alignment)


def _membership(words: Sequence[int]) -> Tensor:
    """(words tokens), 1 where the token belongs to the word."""
    index = torch.tensor(words)
    return (torch.arange(int(index.max()) + 1)[:, None] == index).float()
