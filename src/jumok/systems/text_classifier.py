"""Text classification system."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from jumok.attention.events import emit
from jumok.bundle.reading import Bundle
from jumok.data.texts.batches import plain_batches
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError
from jumok.models.classifier import TextClassifier
from jumok.shapes import Float, Tensor
from jumok.systems.base import GIVEN, ROWS, Facts, System, loaded_from
from jumok.systems.classification import Classification, ranked
from jumok.systems.device import PrecisionName
from jumok.systems.given import texts_in
from jumok.systems.loading import load_one, load_tokenizer


class TextClassification(System):
    """One model, its labels, and the tokenizer it was trained with.

    Args:
        max_tokens: the maximum number of tokens of a text that are read, from its start.
        names: what people call the labels, as far as they have such names.
    """

    task = "text-classification"

    def __init__(
        self,
        model: TextClassifier,
        labels: Sequence[str],
        tokenizer: Tokenizer,
        max_tokens: int,
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._model, self.labels = model, tuple(labels)
        self.label_names = tuple((names or {}).get(label, label) for label in labels)
        self.tokenizer, self.max_tokens = tokenizer, max_tokens

    def answer(self, given: Sequence[str]) -> list[Facts]:
        return [each.facts() for each in self.classify(given)]

    @classmethod
    def load(
        cls,
        *folders: Bundle | Path | str,
        device: str = "auto",
        precision: PrecisionName = "fp32",
    ) -> "TextClassification":
        """The bundle in this folder.

        Raises:
            BundleError: a bundle is missing, damaged or unsafe, or there are several.
            ConfigError: the device does not exist.
        """
        bundle, model = load_one(folders, TextClassifier, device, precision)
        tokenizer = load_tokenizer(bundle)
        config = bundle.config
        system = cls(model, config.labels, tokenizer, config.max_tokens, config.label_names)
        return loaded_from(system, [bundle], device, precision)

    @property
    def model(self) -> TextClassifier:
        return self.expose(self._model)

    def _modules(self) -> Sequence[TextClassifier]:
        return [self._model]

    def classify(self, texts: Sequence[str], batch_size: int = 32) -> list[Classification]:
        """The label of each text, in their order; of a long text only the beginning is read.

        Raises:
            DataError: a text has no word, or not a list of texts.
        """
        texts = texts_in(texts)
        for number, text in enumerate(texts, start=1):
            self.check(text, number)
        return [ranked(row, self.labels) for row in self.probabilities(texts, batch_size)]

    def check(self, text: str, number: int) -> None:
        """Raises a DataError that names `number` if there is nothing to classify."""
        if not text.strip():
            raise DataError(f"text {number} is empty: there is nothing to classify.")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"text {number} is not valid UTF-8.",
                got=ascii(text),
                do="decode it in the character set that it is in",
            ) from None

    def read_texts(self, texts: Sequence[str], batch_size: int) -> None:
        """Reads texts for `jumok.states_of`."""
        self.probabilities(texts, batch_size)

    @torch.inference_mode()
    def probabilities(
        self, texts: Sequence[str], batch_size: int = 32
    ) -> Float[Tensor, "texts labels"]:
        """The probability of every label, for each text."""
        texts = texts_in(texts)
        device = self._model.encoder.embedding.table.device
        ids = [each[: self.max_tokens] for each in self.tokenizer.encode_batch(texts)]
        probabilities = torch.empty(len(ids), len(self.labels))
        emit(self, GIVEN, len(texts))
        for tokens, allowed, rows in plain_batches(ids, batch_size):
            emit(self, ROWS, rows)
            allowed = None if allowed is None else allowed.to(device)
            logits = self._model(tokens.to(device), allowed)
            probabilities[rows] = logits.float().softmax(dim=1).cpu()
        return probabilities
