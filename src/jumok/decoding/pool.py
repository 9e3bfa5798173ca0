"""Where hypotheses go that have left the beam."""

from collections.abc import Sequence
from math import inf

import torch

from jumok.decoding.hypothesis import Hypothesis
from jumok.shapes import Bool, Float, Int, Tensor


class Pool:
    """The hypotheses of every sentence that have left the beam, the finished and the cut.

    A finished hypothesis is a whole sentence and a cut one only the beginning of one, so the cut
    ones come after all finished ones, whatever their scores.

    Args:
        wanted: how many hypotheses a sentence is to get.
        enough: how many finished ones end the search for a sentence. None: no number does.
    """

    def __init__(self, sentences: int, wanted: int, enough: int | None) -> None:
        self.wanted, self.enough = wanted, enough
        self.finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.cut: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.worst_kept = torch.full((sentences,), -inf)
        self.full = torch.zeros(sentences, dtype=torch.bool)

    def add(self, sentences: Sequence[int], hypotheses: Sequence[Hypothesis]) -> None:
        """One hypothesis for each of `sentences`; the earlier of two equals stays ahead."""
        for sentence, hypothesis in zip(sentences, hypotheses, strict=True):
            (self.finished if hypothesis.finished else self.cut)[sentence].append(hypothesis)
        for sentence in set(sentences):
            finished = self.finished[sentence]
            finished.sort(key=lambda hypothesis: -hypothesis.score)
            self.full[sentence] = self.enough is not None and len(finished) >= self.enough
            if len(finished) >= self.wanted:
                self.worst_kept[sentence] = finished[self.wanted - 1].score

    def settled(
        self, sentences: Int[Tensor, " sentences"], bound: Float[Tensor, " sentences"]
    ) -> Bool[Tensor, " sentences"]:
        """Whether no hypothesis with a score of `bound` or less can change what is kept."""
        where = sentences.cpu()
        worst, full = self.worst_kept[where].to(bound.device), self.full[where].to(bound.device)
        return full | (bound <= worst)

    def best(self) -> list[list[Hypothesis]]:
        """The `wanted` best hypotheses of every sentence, or all if there are fewer."""
        return [
            [*finished, *sorted(cut, key=lambda hypothesis: -hypothesis.score)][: self.wanted]
            for finished, cut in zip(self.finished, self.cut, strict=True)
        ]
