"""Words taken out of a text, for a model to guess.

Of the chosen pieces most become MASK, some become a piece drawn at random, and the rest stay as
they are: the model never knows which positions it can trust.

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
        share: of a text's pieces that are to be guessed; one piece at least.
        mask, random: shares of the chosen pieces that become MASK, and a random piece.
        whole_words: choose all pieces of a word or none.
        opens: for every piece of the vocabulary whether a word starts with it.
    """

    share: float
    mask: float
    random: float
    whole_words: bool
    opens: npt.NDArray[np.bool_]

    @property
    def mask_id(self) -> int:
        """MASK is no piece of the tokenizer but the row after the last: no text can spell it."""
        return len(self.opens)

    @property
    def signature(self) -> str:
        """What it takes to compare two scores of guesses."""
        unit = "words" if self.whole_words else "pieces"
        return f"share:{self.share:g}|mask:{self.mask:g}|random:{self.random:g}|{unit}"

    def choose(self, text: Ids, random: Random) -> npt.NDArray[np.bool_]:
        """Which pieces of one text are to be guessed.

        Words are drawn in random order; one that would exceed the share is passed over, unless it
        is the first. Without `whole_words` every piece counts as a word.
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
        """For each piece the index (from 0) of its word; see `Tokenizer.words`."""
        return np.cumsum(self.opens[text]) - int(self.opens[text[0]])

    def corrupt(self, pieces: Ids, random: Random) -> Ids:
        """What stands in the places of the chosen pieces."""
        dice = random.random(len(pieces))
        drawn = random.integers(len(SPECIALS), len(self.opens), len(pieces))
        replaced = np.where(dice < self.mask + self.random, drawn, pieces)
        return np.where(dice < self.mask, self.mask_id, replaced)


def word_starts(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """For every piece whether a word starts with it."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE) for piece in pieces])
