"""Classification scores: accuracy, macro F1, and the confusion matrix."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from jumok.bundle.card import Score
from jumok.data.texts.batches import LabelledBatch
from jumok.evaluation.intervals import RESAMPLES, SEED, interval, wilson
from jumok.models.classifier import TextClassifier

LabelCounts = npt.NDArray[np.int64]


def accuracy(counts: LabelCounts) -> float:
    """The percentage of correct labels."""
    return float(100.0 * np.trace(counts) / counts.sum())


def macro_f1(counts: LabelCounts) -> float:
    """The mean over labels of F1 = 2 correct / (true + predicted), in percent.

    A label that is neither true nor predicted for any example is left out of the mean.
    """
    right, both = np.diag(counts), counts.sum(axis=0) + counts.sum(axis=1)
    seen = both > 0
    return float(100.0 * np.mean(2.0 * right[seen] / both[seen]))


MEASURES: dict[str, Callable[[LabelCounts], float]] = {"accuracy": accuracy, "macro-F1": macro_f1}


@dataclass(frozen=True)
class ClassifiedExamples:
    """The true and the predicted labels of the examples, by number.

    Attributes:
        loss: nats an example; 0 where it was not computed.
    """

    truth: LabelCounts
    given: LabelCounts
    loss: float = 0.0

    @classmethod
    def of(cls, truth: Sequence[int], given: Sequence[int]) -> "ClassifiedExamples":
        return cls(np.array(truth, dtype=np.int64), np.array(given, dtype=np.int64))

    def scores(
        self, labels: Sequence[str], on: str, resamples: int = RESAMPLES
    ) -> tuple[Score, ...]:
        """Accuracy and macro F1 with their 95 % intervals, by bootstrap over the examples.

        Args:
            on: the data that was scored, in words.
            resamples: 0 leaves the intervals out.
        """
        signature = f"labels:{len(labels)}" + (f"|bs:{resamples}|seed:{SEED}" if resamples else "")

        def score(name: str, measure: Callable[[LabelCounts], float]) -> Score:
            def resampled(rows: LabelCounts) -> float:
                return measure(self.confusion(len(labels), rows))

            low, high = interval(len(self.truth), resampled, resamples)
            return Score(name, measure(self.confusion(len(labels))), low, high, signature, on)

        return tuple(score(name, measure) for name, measure in MEASURES.items())

    def confusion(self, labels: int, rows: LabelCounts | None = None) -> LabelCounts:
        """How many examples of label i (row) were predicted as label j (column).

        Args:
            rows: the examples to count, with repetitions; None: all, once.
        """
        pairs = self.truth * labels + self.given
        pairs = pairs if rows is None else pairs[rows]
        return np.bincount(pairs, minlength=labels * labels).reshape(labels, labels)


@torch.no_grad()
def predict_labels(model: TextClassifier, batches: Iterable[LabelledBatch]) -> ClassifiedExamples:
    """Predicts the most probable label of every text. The model must be in evaluation mode."""
    truth, predicted, loss = [], [], 0.0
    for batch in batches:
        device = model.output.weight.device
        allowed = None if batch.allowed is None else batch.allowed.to(device)
        logits = model(batch.tokens.to(device), allowed).float().cpu()
        truth.append(batch.labels)
        predicted.append(logits.argmax(dim=1))
        loss += float(F.cross_entropy(logits, batch.labels, reduction="sum"))
    labels, predictions = (torch.cat(part).numpy() for part in (truth, predicted))
    return ClassifiedExamples(labels, predictions, loss / len(labels))


def confusion_lines(labelled: ClassifiedExamples, labels: Sequence[str]) -> list[str]:
    """A line for each label: how many examples were predicted as which, and Wilson's 95 % interval
    of the recall.
    """
    lines = []
    for index, (label, row) in enumerate(zip(labels, labelled.confusion(len(labels)), strict=True)):
        if not (total := int(row.sum())):
            lines.append(f"{label}: no example")
            continue
        low, high = wilson(int(row[index]), total)
        counts = [f"{other} {count:,}" for other, count in zip(labels, row, strict=True) if count]
        share = f"{row[index] / total:.1%}, 95 %: {100 * low:.1f} to {100 * high:.1f}"
        lines.append(f"{label}: predicted as {', '.join(counts)}; right {share}")
    return lines
