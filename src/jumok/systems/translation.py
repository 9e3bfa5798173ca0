"""What a translator gives back for a line."""

from dataclasses import dataclass
from math import fsum

from jumok.inspection.alignment import Link
from jumok.shapes import Float, Tensor


@dataclass(frozen=True)
class Translation:
    """A line's translation, and what the model thought of it.

    Words are what plain spaces separate. A line of several sentences, or too long for the model,
    was translated in parts: everything here is then the parts' one after another, and `score` is
    their sum.

    Attributes:
        text: one line, never with a line break in it; "" for a line without a word.
        score: what translations are ranked by: the log-probability after the length and the
            coverage penalty. Higher is better; only scores of the same source compare.
        tokens: the pieces of the translation, without END.
        token_log_probabilities: natural logarithms, one a piece, and one for the END of each
            part that was written to its end.
        source_tokens: the pieces that were read, without END.
        alignment: (source word, target word), both from 0. None where it was not asked
            for, or where the model has no attention.
        alternatives: the second best, the third best, ..., where more than one was asked for; no
            two have the same text.
        confidence: the geometric mean of the probabilities that the model gave the pieces and
            END, 0 to 1; of a line of several parts that of the least sure one. None for a line
            without a word. It says how sure the model is, not how likely the translation is right.
        forced: what constrained search wrote: the glossary's terms, and kept strings that the
            plain search had left out.
        inserted: kept strings that were put in where the alignment says, since the model could
            not write them; tokens and log-probabilities are those of the text with them.
    """

    text: str
    score: float = 0.0
    tokens: tuple[str, ...] = ()
    token_log_probabilities: tuple[float, ...] = ()
    source_tokens: tuple[str, ...] = ()
    alignment: tuple[Link, ...] | None = None
    alternatives: tuple["Translation", ...] = ()
    confidence: float | None = None
    forced: tuple[str, ...] = ()
    inserted: tuple[str, ...] = ()

    @property
    def log_probability(self) -> float:
        """Of the whole text given the source, by the model: natural logarithm."""
        return fsum(self.token_log_probabilities)


@dataclass(frozen=True)
class WordAttention:
    """How much each target word looked at each source word.

    Attributes:
        weights: rows sum to 1 at most; what is missing went to the source's END.
        alignment: each target word with the source word it looked at most.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    weights: Float[Tensor, "target_words source_words"]
    alignment: tuple[Link, ...]
