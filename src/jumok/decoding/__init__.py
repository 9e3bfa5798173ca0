"""Writing the target with any Decoder: greedy, beams, samples, forced targets, ensembles."""

from jumok.decoding.hypothesis import Hypothesis, Listener
from jumok.decoding.options import DecodingOptions, decode

__all__ = ["DecodingOptions", "Hypothesis", "Listener", "decode"]
