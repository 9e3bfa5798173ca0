"""The native engine: whole models in C, on one thread, without torch.

`engine.c` reads a batch of sentences and searches for their translations in two calls. What it
computes is what `models/encoder_decoder.py` and `decoding/` compute; the tests compare the two.
"""

from typing import Literal

Precision = Literal["fp32", "bf16", "int8"]
"""The number formats that the engine computes with, and bundles store."""
