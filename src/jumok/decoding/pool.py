"""The pool of hypotheses that have left the beam. Importing it imports no torch."""

from collections.abc import Hashable, Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from jumok.decoding.hypothesis import Hypothesis, Same


class Pool:
    """The hypotheses of every sentence that have left the beam, the finished and the cut.

    A finished hypothesis is a whole sentence and a cut one only the beginning of one, so the cut
    ones come after all finished ones, whatever their scores.

    Args:
        wanted: the number of hypotheses for each sentence.
        enough: the number of finished ones that ends the search for a sentence. None: none does.
    """

    def __init__(
        self, sentences: int, wanted: int, enough: int | None, same: Same | None = None
    ) -> None:
        self.wanted, self.enough, self.same = wanted, enough, same
        self.finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.cut: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.worst_kept = np.full(sentences, -inf, np.float32)
        self.full = np.zeros(sentences, np.bool_)

    def add(self, sentences: Sequence[int], hypotheses: Sequence[Hypothesis]) -> None:
        """One hypothesis for each of `sentences`; the earlier of two equals stays ahead."""
        for sentence, hypothesis in zip(sentences, hypotheses, strict=True):
            (self.finished if hypothesis.finished else self.cut)[sentence].append(hypothesis)
        for sentence in set(sentences):
            self.finished[sentence] = finished = self._ranked(self.finished[sentence])
            self.full[sentence] = self.enough is not None and len(finished) >= self.enough
            if len(finished) >= self.wanted:
                self.worst_kept[sentence] = finished[self.wanted - 1].score

    def settled(
        self, sentences: npt.NDArray[np.int64], bound: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.bool_]:
        """Whether no hypothesis with a score of `bound` or less can change the result.

        Args:
            bound: in float32, in which the scores are compared; one for each of `sentences`.
        """
        enough: npt.NDArray[np.bool_] = bound <= self.worst_kept[sentences]
        return self.full[sentences] | enough

    def best(self) -> list[list[Hypothesis]]:
        """The `wanted` best hypotheses of every sentence, or all if there are fewer."""
        return [
            self._once([*finished, *self._ranked(cut)])[: self.wanted]
            for finished, cut in zip(self.finished, self.cut, strict=True)
        ]

    def _ranked(self, hypotheses: list[Hypothesis]) -> list[Hypothesis]:
        return self._once(sorted(hypotheses, key=lambda hypothesis: -hypothesis.score))

    def _once(self, ranked: list[Hypothesis]) -> list[Hypothesis]:
        """Drops those with the key of an earlier one."""
        if self.same is None:
            return ranked
        first: dict[Hashable, Hypothesis] = {}
        for hypothesis in ranked:
            first.setdefault(self.same(hypothesis.tokens), hypothesis)
        return list(first.values())
