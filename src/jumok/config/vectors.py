"""The section [vectors]: embeddings that begin as vectors somebody learnt before."""

from jumok.config.section import DataPath, Section


class VectorsConfig(Section):
    """word2vec, GloVe or fastText vectors for the words that are one piece of the tokenizer.

    A section of its own, and no part of [model]: where a table began is nothing that a trained
    model must know to be built again.
    """

    path: DataPath
    frozen: bool = False
