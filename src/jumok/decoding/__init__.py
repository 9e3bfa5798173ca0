"""Decoding with any Decoder: greedy, beam search, sampling, forced decoding, ensembles.

`decode` imports torch; the options and the hypotheses do not, for the native engine has them, too.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from jumok.decoding.hypothesis import Hypothesis
from jumok.decoding.options import DecodingOptions

if TYPE_CHECKING:
    from jumok.decoding.torch_stepper import decode

__all__ = ["DecodingOptions", "Hypothesis", "decode"]


def __getattr__(name: str) -> object:
    """Imports `decode` when it is first used (PEP 562)."""
    if name != "decode":
        raise AttributeError(f"module 'jumok.decoding' has no attribute {name!r}")
    return import_module("jumok.decoding.torch_stepper").decode
