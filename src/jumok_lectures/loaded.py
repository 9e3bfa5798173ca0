"""Pretrained encoders, for the labs that read one: what a word attends to.

A folder is a bundle of ours, or a BERT as Hugging Face keeps it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from jumok.errors import ConfigError, DataError
from jumok.shapes import Float, Tensor
from jumok.systems.catalog import load
from jumok.systems.translation.translator import Translator
from jumok.tracing.catalog import load_family
from jumok.tracing.request import NOTHING

Looks = Callable[[str, int], Float[Tensor, "layer head word"]]
"""A sentence and the number of one of its words, from 0, to how much it attends to each word."""


def looks_of(folder: Path) -> Looks:
    """What a word attends to in the encoder of this folder.

    Raises:
        BundleError: it holds no model that can be read.
    """
    family = load_family(folder, device="cpu")
    # A translation is given and not searched for: what the encoder does, it does before.
    translates = isinstance(family.system, Translator)

    def looks(sentence: str, word: int) -> Float[Tensor, "layer head word"]:
        """Raises ConfigError if the model has no encoder with self-attention."""
        target = sentence if translates else None
        trace = family.trace(sentence, target, level="weights", extras=NOTHING)
        sites = [site for site in trace.sites if site.part == "encoder"]
        if not sites:
            raise ConfigError(
                "this model has no encoder with self-attention.",
                got=str(folder),
                do="give a Transformer for translation, masked words or classification",
            )
        weights = torch.from_numpy(np.stack([site.weights for site in sites]).astype(np.float32))
        return by_words(weights, trace.axes[sites[0].queries].words, sentence, word)

    return looks


def translator_of(folder: Path) -> Translator:
    """The translator of this folder.

    Raises:
        BundleError: the folder holds no model that can be read.
        ConfigError: it does not translate.
    """
    system = load(folder, device="cpu", engine="torch")
    if not isinstance(system, Translator):
        raise ConfigError("this model does not translate.", got=str(folder), do="give a translator")
    return system


def by_words(
    weights: Float[Tensor, "layer head query key"],
    words: Sequence[int | None],
    sentence: str,
    word: int,
) -> Float[Tensor, "layer head word"]:
    """The weights from the tokens of one word, averaged, to each word's tokens, added up.

    Args:
        words: for each position the number of its word; None: of none.

    Raises:
        DataError: the tokenizer has other words than those that blanks separate.
    """
    count = len(sentence.split())
    if {each for each in words if each is not None} != set(range(count)):
        raise DataError(
            "the words of this tokenizer are not those between spaces.", got=repr(sentence)
        )
    to = torch.zeros(len(words), count)
    for position, each in enumerate(words):
        if each is not None:
            to[position, each] = 1.0
    asked = torch.tensor([each == word for each in words])
    return weights[:, :, asked].mean(2) @ to
