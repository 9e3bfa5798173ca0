"""The section [vectors]: pretrained vectors as initial embeddings."""

from jumok.config.section import DataPath, Section


class VectorsConfig(Section):
    """word2vec, GloVe or fastText vectors for the words that are one subword.

    It is not a part of [model], because a trained model does not need its initial embeddings to be
    built again.
    """

    path: DataPath
    frozen: bool = False
