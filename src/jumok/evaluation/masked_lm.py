"""Scores of a masked language model's predictions."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from jumok.bundle.card import Score
from jumok.data.texts.batches import MaskedBatch
from jumok.evaluation.intervals import RESAMPLES, SEED, interval
from jumok.models.masked import MaskedLanguageModel

Sums = npt.NDArray[np.float64]


@dataclass(frozen=True)
class MaskedAccuracy:
    """Sums over the predictions in each text.

    Attributes:
        nats: of the masked tokens' negative log-probabilities.
        right: how often the most probable token is the masked one.
        guesses: the number of masked tokens.
    """

    nats: Sums
    right: Sums
    guesses: Sums

    @property
    def loss(self) -> float:
        return float(self.nats.sum() / self.guesses.sum())

    @property
    def accuracy(self) -> float:
        """In percent."""
        return float(100.0 * self.right.sum() / self.guesses.sum())

    def scores(self, signature: str, on: str, resamples: int = RESAMPLES) -> tuple[Score, ...]:
        """Accuracy and loss with their 95 % intervals, by bootstrap over the texts; 0 `resamples`:
        none.
        """
        signature = f"{signature}|bs:{resamples}|seed:{SEED}" if resamples else signature

        def score(name: str, value: float, part: Sums, scale: float) -> Score:
            def resampled(rows: npt.NDArray[np.int64]) -> float:
                return float(scale * part[rows].sum() / self.guesses[rows].sum())

            low, high = interval(len(part), resampled, resamples)
            return Score(name, value, low, high, signature, on)

        return (
            score("accuracy", self.accuracy, self.right, 100.0),
            score("loss", self.loss, self.nats, 1.0),
        )


@torch.no_grad()
def score_masked_lm(model: MaskedLanguageModel, batches: Iterable[MaskedBatch]) -> MaskedAccuracy:
    """Predicts all masked tokens of a text in one pass. The model must be in evaluation mode."""
    device = next(model.parameters()).device
    parts: list[list[npt.NDArray[np.float64]]] = []
    for batch in batches:
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        chosen = batch.chosen.to(device)
        states = model.encoder(batch.tokens.to(device), allowed)[chosen]
        logits, answers = model.head(states).float(), batch.answers.to(device)
        rows = chosen.nonzero()[:, 0]
        values = (
            F.cross_entropy(logits, answers, reduction="none"),
            (logits.argmax(dim=1) == answers).float(),
            torch.ones_like(answers, dtype=torch.float32),
        )
        parts.append(
            [torch.bincount(rows, value, len(chosen)).double().cpu().numpy() for value in values]
        )
    nats, right, guesses = (np.concatenate(part) for part in zip(*parts, strict=True))
    return MaskedAccuracy(nats, right, guesses)
