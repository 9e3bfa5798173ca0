"""Texts and their labels, by a model that nobody trained."""

import pytest
import torch

from jumok.config import TextClassifierConfig
from jumok.data.tokenizer import END, START, Tokenizer
from jumok.errors import DataError
from jumok.models.classifier import TextClassifier
from jumok.systems.text_classifier import TextClassification
from tests.parity.torch_weights import roughen
from tests.systems.masked import LINES


def untrained(pooling: str = "mean") -> TextClassification:
    tokenizer = Tokenizer.train(LINES, "bpe", 300)
    torch.manual_seed(1)
    config = TextClassifierConfig(
        dim=12, heads=3, layers=2, feedforward=20, max_length=29, pooling=pooling
    )
    model = roughen(TextClassifier(config, tokenizer.size, 3)).eval()
    return TextClassification(model, ("no", "perhaps", "yes"), tokenizer, 23)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_labels_are_the_same_whatever_stands_in_the_batch(pooling):
    system = untrained(pooling)
    texts = ["the cat", "the dog sat on the cat and sat and sat", "학교에 갔다"]
    together = system.classify(texts, batch_size=2)
    for text, found in zip(texts, together, strict=True):
        ids = torch.tensor([[START, *system.tokenizer.encode(text)[:23], END]])
        states = system.model.encoder(ids)
        pooled = states.mean(dim=1) if pooling == "mean" else states[:, 0]
        expected = system.model.output(pooled).softmax(dim=1)[0].detach()
        values = list(found.probabilities.values())
        assert values == pytest.approx(sorted(expected.tolist(), reverse=True), abs=1e-5)
        assert found.label == system.labels[int(expected.argmax())]
        assert found.probability == values[0]


def test_an_empty_text_names_itself():
    with pytest.raises(DataError, match="text 2 is empty: there is nothing to classify"):
        untrained().classify(["the cat", " "])


def test_a_text_that_is_not_utf_8_is_named():
    with pytest.raises(DataError, match="text 3 is not valid UTF-8"):
        untrained().check("caf\udce9", 3)
