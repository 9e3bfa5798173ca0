"""The loss of a batch, by torch and by hand."""

import math

import pytest
import torch
import torch.nn.functional as F

from jumok.config import MaskedConfig, TextClassifierConfig
from jumok.data.pairs.batches import Batch, collate
from jumok.data.texts.batches import LabelledBatch, MaskedBatch
from jumok.models.classifier import TextClassifier
from jumok.models.masked import MaskedLanguageModel
from jumok.training.objectives import (
    ConsistentTranslation,
    guess_masked,
    mean_loss,
    text_classification,
    translation,
)
from tests.parity.torch_weights import roughen
from tests.training.tiny import model, pairs


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_translation_is_the_cross_entropy_of_the_real_tokens(smoothing):
    trained = model().eval()
    batch = collate(*pairs(7))
    assert (batch.target_output == 0).any()
    assert batch.source_allowed is not None
    with torch.no_grad():
        memory = trained.encode(batch.source, batch.source_allowed)
        log_p = F.log_softmax(trained.decoder(memory, batch.target_input), -1)
    expected = 0.0
    for row, target in enumerate(pairs(7)[1]):
        for t, word in enumerate([*target, 3]):
            expected -= (1 - smoothing) * float(log_p[row, t, word])
            expected -= smoothing * float(log_p[row, t].mean())
    actual = translation(trained, batch, smoothing).detach()
    assert float(actual) == pytest.approx(expected, rel=1e-5)


def test_padding_adds_nothing_to_loss_or_gradient():
    """Pairs together cost what they cost one by one."""
    trained = model().eval()
    sources, targets = pairs(5)
    together = translation(trained, collate(sources, targets), 0.1)
    together.backward()
    gradient = trained.decoder.embedding.table.grad.clone()
    trained.zero_grad()
    one_by_one = 0.0
    for source, target in zip(sources, targets, strict=True):
        loss = translation(trained, collate([source], [target]), 0.1)
        loss.backward()
        one_by_one += float(loss.detach())
    assert float(together.detach()) == pytest.approx(one_by_one, rel=1e-5)
    expected = trained.decoder.embedding.table.grad
    torch.testing.assert_close(gradient, expected, atol=1e-4, rtol=0)


def test_even_logits_cost_the_logarithm_of_the_vocabulary():
    even = model(tied="none").eval()
    torch.nn.init.zeros_(even.decoder.output.weight)
    loss = translation(even, collate([[4, 5]], [[6, 7, 8]]), 0.0).detach()
    assert float(loss) == pytest.approx(4 * math.log(31), rel=1e-6)


def test_consistent_translation_is_r_drop_halved():
    """By torch's own losses on the same two readings: (CE + CE + alpha/2 (KL + KL)) / 2."""
    trained = model(dropout=0.3).train()
    batch = collate(*pairs(7))
    trained.noise.rekey(1)
    actual = ConsistentTranslation(5.0)(trained, batch, 0.1).detach()
    trained.noise.rekey(1)
    with torch.no_grad():
        memory = trained.encode(batch.source.repeat(2, 1), batch.source_allowed.repeat(2, 1))
        logits = trained.decoder(memory, batch.target_input.repeat(2, 1))
    real = batch.target_output != 0
    a, b = (reading[real] for reading in logits.chunk(2))
    assert not torch.allclose(a, b)  # the masks differ
    expected = 0.0
    for one, other in ((a, b), (b, a)):
        expected += F.cross_entropy(
            one, batch.target_output[real], label_smoothing=0.1, reduction="sum"
        )
        log_one, log_other = one.log_softmax(-1), other.log_softmax(-1)
        expected += 5.0 / 2 * F.kl_div(log_other, log_one, log_target=True, reduction="sum")
    assert float(actual) == pytest.approx(float(expected) / 2, rel=1e-5)


def test_consistent_translation_without_dropout_is_translation():
    trained = model().eval()
    batch = collate(*pairs(7))
    once = translation(trained, batch, 0.1).detach()
    twice = ConsistentTranslation(5.0)(trained, batch, 0.1).detach()
    assert float(twice) == pytest.approx(float(once), rel=1e-6)


def test_the_mean_loss_is_of_batches_on_the_models_device():
    seen = []

    def objective(of: torch.nn.Module, batch: Batch, smoothing: float) -> torch.Tensor:
        seen.append(batch.source.device.type)
        return torch.tensor(6.0)

    batch = collate(*pairs(7))
    assert mean_loss(objective, model().to("meta"), [batch, batch]) == 12 / (2 * batch.targets)
    assert seen == ["meta", "meta"]


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
