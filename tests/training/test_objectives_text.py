"""Where a batch of whole texts meets a model: losses against torch's own, and their gradients."""

import pytest
import torch
import torch.nn.functional as F

from jumok.config import MaskedConfig, TextClassifierConfig
from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.training.objectives import guess_masked, text_classification
from tests.parity.torch_weights import roughen

SIZES = {"dim": 16, "heads": 4, "layers": 1, "feedforward": 24, "max_length": 13, "dropout": 0.0}
TOKENS = torch.tensor([[2, 9, 31, 11, 3], [2, 31, 3, 0, 0]])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_only_the_chosen_positions_are_guessed(smoothing):
    torch.manual_seed(1)
    model = roughen(MaskedLanguageModel(MaskedConfig.model_validate(SIZES), 31))
    chosen = torch.zeros_like(TOKENS, dtype=torch.bool)
    chosen[0, 2] = chosen[0, 3] = chosen[1, 1] = True
    answers = torch.tensor([10, 11, 7])
    batch = MaskedBatch(TOKENS, TOKENS != 0, chosen, answers, sources=8)
    loss = guess_masked(model, batch, smoothing)
    logits = model(TOKENS, TOKENS != 0)[chosen]
    expected = F.cross_entropy(logits, answers, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss, expected, atol=1e-4, rtol=0)
    loss.backward()
    ours = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    expected.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, atol=1e-4, rtol=0)
    assert ours["encoder.embedding.table"].abs().sum() > 0


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_labels_are_learnt_by_cross_entropy(smoothing):
    torch.manual_seed(1)
    model = roughen(TextClassifier(TextClassifierConfig.model_validate(SIZES), 31, 3))
    labels = torch.tensor([2, 0])
    batch = LabelledBatch(TOKENS, TOKENS != 0, labels, sources=8)
    log_p = model(TOKENS, TOKENS != 0).log_softmax(dim=1)
    right = -(log_p[0, 2] + log_p[1, 0])
    expected = (1 - smoothing) * right - smoothing / 3 * log_p.sum()
    loss = text_classification(model, batch, smoothing)
    torch.testing.assert_close(loss, expected, atol=1e-5, rtol=0)
    assert (batch.targets, batch.work) == (2, 10)
