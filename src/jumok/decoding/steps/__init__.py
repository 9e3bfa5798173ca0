"""Searches for one sentence each, in numpy over single steps of a model, for the native engine.

They are the twins without torch of what `decoding/` computes for whole batches; the tests compare
the two.
"""
