"""The native engine: whole models in C, on one thread, without torch.

`engine.c` reads a batch of sentences and searches for their translations in two calls. What it
computes is what `models/encoder_decoder.py` and `decoding/` compute; the tests compare the two.
"""
