"""Masked words of a text, for a model to predict.

Most of the chosen tokens become MASK, some a random token, and the rest stay unchanged.

Source: Devlin et al. 2019, section 3.1 (task 1) and appendix A.1; whole words: their repository,
README, "whole word masking".
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from jumok.data.tokenizer import SPACE, SPECIALS, Tokenizer

Ids = npt.NDArray[np.int64]
Random = np.random.Generator


@dataclass(frozen=True)
class Masking:
    """How texts are corrupted.

    Attributes:
        share: of a text's tokens that are masked; at least one token.
        mask, random: shares of the chosen tokens that become MASK, and a random token.
        whole_words: choose all tokens of a word or none.
        opens: for every subword, whether a word starts with it.
    """

    share: float
    mask: float
    random: float
    whole_words: bool
    opens: npt.NDArray[np.bool_]

    @property
    def mask_id(self) -> int:
        """The row after the tokenizer's last id, so that no text encodes to it."""
        return len(self.opens)

    @property
    def signature(self) -> str:
        """The settings that two comparable scores have in common."""
        unit = "words" if self.whole_words else "pieces"
        return f"share:{self.share:g}|mask:{self.mask:g}|random:{self.random:g}|{unit}"

    def choose(self, text: Ids, random: Random) -> npt.NDArray[np.bool_]:
        """The mask of one text: which tokens are chosen.

        Words are visited in random order; one that would exceed the share is skipped, unless it is
        the first. Without `whole_words`, every token is a word.
        """
        words = self.words(text) if self.whole_words else np.arange(len(text))
        sizes = np.bincount(words)
        budget = max(1, round(self.share * len(text)))
        taken, chosen = 0, np.zeros(len(sizes), dtype=np.bool_)
        for word in random.permutation(len(sizes)):
            if taken and taken + sizes[word] > budget:
                continue
            chosen[word] = True
            taken += sizes[word]
            if taken >= budget:
                break
        return chosen[words]

    def words(self, text: Ids) -> Ids:
        """For each token the index (from 0) of its word; see `Tokenizer.words`."""
        return np.cumsum(self.opens[text]) - int(self.opens[text[0]])

    def corrupt(self, pieces: Ids, random: Random) -> Ids:
        dice = random.random(len(pieces))
        drawn = random.integers(len(SPECIALS), len(self.opens), len(pieces))
        replaced = np.where(dice < self.mask + self.random, drawn, pieces)
        return np.where(dice < self.mask, self.mask_id, replaced)


def word_starts(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """For every subword, whether a word starts with it."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE) for piece in pieces])
