"""Guesses of a model against its own logits."""

import pytest
import torch.nn.functional as F

from jumok.data.texts.batches import batches_of_guesses
from jumok.data.texts.masking import Masking, word_starts
from jumok.evaluation.masked_lm import score_masked_lm
from tests.systems.masked import LINES, untrained


def test_guesses_are_judged_text_by_text():
    system = untrained()
    masking = Masking(0.3, 0.8, 0.1, True, word_starts(system.tokenizer))
    ids = system.tokenizer.encode_batch(LINES[:3])
    batches = list(batches_of_guesses(ids, 2, masking))
    guesses = score_masked_lm(system.model, batches)
    nats, right, row = 0.0, 0, 0
    for batch in batches:
        logits = system.model(batch.tokens, batch.allowed).detach()
        answers = iter(batch.answers)
        for text, chosen in zip(logits, batch.chosen, strict=True):
            for place in chosen.nonzero()[:, 0]:
                answer = next(answers)
                nats += float(F.cross_entropy(text[place], answer))
                right += int(text[place].argmax() == answer)
            assert guesses.guesses[row] == chosen.sum()
            row += 1
    assert guesses.loss == pytest.approx(nats / guesses.guesses.sum(), abs=1e-5)
    accuracy, loss = guesses.scores(masking.signature, "3 texts")
    assert accuracy.value == 100.0 * right / guesses.guesses.sum()
    assert loss.low <= loss.value <= loss.high
    assert loss.signature.startswith("share:0.3|mask:0.8|random:0.1|words")
