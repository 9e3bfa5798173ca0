"""The ids of the special tokens, which are equal in all vocabularies."""

PAD, UNKNOWN, START, END = 0, 1, 2, 3
