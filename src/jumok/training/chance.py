"""What a model scores that has learnt nothing: the marks to tell such a model by.

Each function gives the reason in words, or None for a model that has learnt something.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from jumok.bundle.card import Score

LEAST_TEXT_SCORE = 1.0  # BLEU, or percent of right lines: below it, texts are right by chance alone

Numbers = npt.NDArray[np.integer[Any]]


def of_text(score: Score) -> str | None:
    """For models that write texts, by BLEU or accuracy in percent."""
    if score.value >= LEAST_TEXT_SCORE:
        return None
    return f"{score.name} is {score.value:.2f} of 100 on {score.on}"


def of_labels(accuracy: float, labels: Sequence[str], truth: Numbers) -> str | None:
    """For classifiers.

    Args:
        accuracy: in percent.
        truth: the number of the right label of each thing.
    """
    counts = np.bincount(truth, minlength=len(labels))
    always = 100.0 * counts.max() / counts.sum()
    if accuracy > always + 1e-9:
        return None
    return (
        f"accuracy is {accuracy:.1f} %, and saying {labels[int(counts.argmax())]!r} of everything "
        f"would reach {always:.1f} %"
    )


def of_guesses(accuracy: float, tokens: Numbers) -> str | None:
    """For masked language models.

    Args:
        accuracy: in percent.
        tokens: of the validation texts.
    """
    always = 100.0 * np.bincount(tokens).max() / len(tokens)
    if accuracy > always:
        return None
    return (
        f"accuracy is {accuracy:.1f} %, and guessing the most frequent token everywhere would "
        f"reach {always:.1f} %"
    )


def of_next_token(loss: float, tokens: Numbers) -> str | None:
    """For language models, against one that knows how frequent each token is and nothing else.

    Args:
        loss: nats a token.
        tokens: what is predicted.
    """
    counts = np.bincount(tokens)
    shares = counts[counts > 0] / len(tokens)
    entropy = -float((shares * np.log(shares)).sum())
    if loss < entropy:
        return None
    return (
        f"the loss is {loss:.2f} nats a token, and knowing nothing but how frequent each token is "
        f"would reach {entropy:.2f}"
    )
