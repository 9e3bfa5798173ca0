"""The hot loops of a CPU training step in C, each with a readable twin in torch.

The C file is compiled by the machine's own compiler when it is first needed and kept in the
user's cache. Without a compiler, or on a GPU, the twins run.
"""
