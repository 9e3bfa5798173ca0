"""The special tokens, which have the same ids in all vocabularies."""

PAD, UNKNOWN, START, END = 0, 1, 2, 3
SPECIAL = "<pad>", "<unk>", "<s>", "</s>"
"""Their names, in the order of the ids."""
