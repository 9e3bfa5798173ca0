"""What can be read out of vectors: by the best linear map, and by naming the nearest word."""

import torch

from jumok.shapes import Float, Int, Tensor


def word_vectors(
    generator: torch.Generator, words: int, dim: int
) -> Float[Tensor, "{words} {dim}"]:
    """A random vector of length 1 for each word."""
    vectors = torch.randn(words, dim, generator=generator)
    return vectors / vectors.norm(dim=-1, keepdim=True)


def read_back(mixed: Float[Tensor, "sample inner"], wanted: Float[Tensor, "sample dim"]) -> float:
    """How much of `wanted` the best linear map reads out of `mixed`: R², of unseen samples.

    The map is fitted by least squares on the first half and judged on the second one; 1: all of
    it, 0: no better than the mean.
    """
    half = len(mixed) // 2
    matrix = torch.linalg.lstsq(mixed[:half], wanted[:half]).solution
    missed = wanted[half:] - mixed[half:] @ matrix
    spread = wanted[half:] - wanted[:half].mean(0)
    return 1.0 - float(missed.square().sum() / spread.square().sum())


def is_named(
    mixtures: Float[Tensor, "sample dim"],
    vectors: Float[Tensor, "word dim"],
    words: Int[Tensor, " sample"],
    among: int = 1,
) -> float:
    """How often the right word is among the `among` words with the largest dot products."""
    best = (mixtures @ vectors.T).topk(among, dim=-1).indices
    return float((best == words[:, None]).any(-1).double().mean())
