"""A small world in English and Korean: endless pairs of sentences with gold word alignments."""

from smallworld.corpus import SPLITS, LinkedPair, distinct, pairs, split_of, write

__all__ = ["SPLITS", "LinkedPair", "distinct", "pairs", "split_of", "write"]
