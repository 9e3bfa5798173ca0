"""Decoding with any Decoder: greedy, beam search, sampling, forced decoding, ensembles."""

from jumok.decoding.hypothesis import Hypothesis, Listener
from jumok.decoding.options import DecodingOptions, decode

__all__ = ["DecodingOptions", "Hypothesis", "Listener", "decode"]
