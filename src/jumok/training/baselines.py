"""Scores of trivial baselines: a model that is no better counts as untrained.

Each function returns the reason as text, or None for a trained model. Accuracies are in percent.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from jumok.bundle.card import Score

LEAST_TEXT_SCORE = 1.0
"""BLEU, or percent of correct lines: below it, texts are correct by chance alone."""

Integers = npt.NDArray[np.integer]


def of_text(score: Score) -> str | None:
    """For models that generate text, by BLEU or accuracy in percent."""
    if score.value >= LEAST_TEXT_SCORE:
        return None
    return f"{score.name} is {score.value:.2f} of 100 on {score.on}"


def of_labels(accuracy: float, labels: Sequence[str], truth: Integers) -> str | None:
    """For classifiers; `truth` has the number of the right label of each example."""
    counts = np.bincount(truth, minlength=len(labels))
    always = 100.0 * counts.max() / counts.sum()
    if accuracy > always + 1e-9:
        return None
    return (
        f"accuracy is {accuracy:.1f} %, and always predicting {labels[int(counts.argmax())]!r} "
        f"would reach {always:.1f} %"
    )


def of_guesses(accuracy: float, tokens: Integers) -> str | None:
    """For masked language models; `tokens` are those of the validation texts."""
    always = 100.0 * np.bincount(tokens).max() / len(tokens)
    if accuracy > always:
        return None
    return (
        f"accuracy is {accuracy:.1f} %, and always predicting the most frequent token would "
        f"reach {always:.1f} %"
    )


def of_next_token(loss: float, tokens: Integers) -> str | None:
    """For language models, by the loss in nats per token; `tokens` are those to predict."""
    counts = np.bincount(tokens)
    shares = counts[counts > 0] / len(tokens)
    entropy = -float((shares * np.log(shares)).sum())
    if loss < entropy:
        return None
    return (
        f"the loss is {loss:.2f} nats per token, and a model of token frequencies alone "
        f"would reach {entropy:.2f}"
    )
