"""A small world in English and Korean: endless pairs of sentences with gold word alignments."""

from jumok.smallworld.corpus import SPLITS, Pair, distinct, pairs, split_of, write

__all__ = ["SPLITS", "Pair", "distinct", "pairs", "split_of", "write"]
