"""Vocabularies of others in the order of jumok's, which begins with PAD, UNKNOWN, START and END."""

from dataclasses import dataclass

COPIED_BIAS = -100.0
"""The output bias of a row that stands for another token's: it is never predicted."""


@dataclass(frozen=True)
class Vocabulary:
    """The rows of a table there, in our order.

    Attributes:
        order: for each of our ids the row there. One row may be several tokens: START and PAD of
            Marian, all special tokens of GPT-2.
        copied: our ids of such tokens that the model does not predict.
        rows: how many there are.
        tokenizer: the file of the bundle's tokenizer.
    """

    order: tuple[int, ...]
    copied: tuple[int, ...]
    rows: int
    tokenizer: bytes

    def here(self) -> dict[int, int]:
        """For each row there our id; of several the last one, which is read as input."""
        return {row: id for id, row in enumerate(self.order)}

    def predicted(self) -> dict[int, int]:
        """For each row there the id that is predicted."""
        return {row: id for id, row in enumerate(self.order) if id not in self.copied}
