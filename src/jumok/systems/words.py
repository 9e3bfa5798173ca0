"""Word vectors: nearest neighbours and analogies.

Source: Mikolov et al. 2013 (Linguistic regularities in continuous space word representations);
lecture 004 (왕 - 남자 + 여자 = 여왕).
"""

import difflib
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F

from jumok.errors import DataError
from jumok.shapes import Float, Int, Tensor


class Neighbour(NamedTuple):
    """A word near another, and the cosine of the angle between them: 1 is the same direction."""

    text: str
    cosine: float


class WordSpace:
    """Words and their directions; lengths of vectors play no part.

    A word is looked up as it is written, and then in lower case: most files of vectors were trained
    on lower-cased text.

    Args:
        words: of two that are equal in NFC the first is used.
    """

    def __init__(self, words: Sequence[str], matrix: Float[Tensor, "words width"]) -> None:
        self.words = [unicodedata.normalize("NFC", word) for word in words]
        self.directions: Float[Tensor, "words width"] = F.normalize(matrix.float(), dim=1)
        self._rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            self._rows.setdefault(word, row)

    def row(self, word: str) -> int | None:
        """The row of the word; None if it has no vector."""
        word = unicodedata.normalize("NFC", word)
        return self._rows.get(word, self._rows.get(word.lower()))

    def nearest(self, word: str, top: int) -> list[Neighbour]:
        """The `top` words with the smallest angle to this one, without itself.

        Raises:
            DataError: a word has no vector.
        """
        row = self._known(word)
        return self._around(self.directions[row], [row], top)

    def analogy(self, first: str, minus: str, plus: str, top: int) -> list[Neighbour]:
        """The words nearest to first - minus + plus: king - man + woman.

        The three words are left out, as is customary: otherwise `first` or `plus` mostly wins.

        Raises:
            DataError: a word has no vector.
        """
        rows = [self._known(word) for word in (first, minus, plus)]
        a, b, c = self.directions[rows]
        return self._around(a - b + c, rows, top)

    def solve(
        self, rows: Int[Tensor, "questions 3"], chunk: int = 256
    ) -> Int[Tensor, " questions"]:
        """For many (first, minus, plus) at once the row of the best answer."""
        answers = []
        for part in rows.split(chunk):
            a, b, c = self.directions[part].unbind(1)
            likeness = (a - b + c) @ self.directions.t()
            answers.append(likeness.scatter(1, part, -torch.inf).argmax(1))
        return torch.cat(answers) if answers else rows.new_empty(0)

    def _around(
        self, direction: Float[Tensor, " width"], without: list[int], top: int
    ) -> list[Neighbour]:
        likeness = self.directions @ F.normalize(direction, dim=0)
        likeness[without] = -torch.inf
        best = likeness.topk(min(top, len(self.words) - len(set(without))))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [Neighbour(self.words[row], cosine) for row, cosine in pairs]

    def _known(self, word: str) -> int:
        row = self.row(word)
        if row is None:
            alike = [each for each in self._rows if each[:1] == word[:1]]
            near = difflib.get_close_matches(word, alike, n=3)
            raise DataError(
                "this word has no vector.",
                got=repr(word),
                do=f"did you mean {' or '.join(map(repr, near))}?"
                if near
                else f"choose one of the {len(self.words):,} words that have one",
            )
        return row
