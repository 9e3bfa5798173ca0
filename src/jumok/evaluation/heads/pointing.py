"""Pointing accuracy of each head of a captioner over reference captions, batch by batch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch

from jumok.attention.observe import Attention
from jumok.evaluation.pointing import Gold, NounAttention, cover, points
from jumok.inspection.heads.cards import AnyHeadCard, GridCard
from jumok.shapes import Tensor
from jumok.systems.captioner import Captioner

NOT_YET = np.zeros((1, 1))
"""A placeholder for the attention, which each head has of its own."""


class ReferenceCaption(NamedTuple):
    """A reference caption as tokens, and the image that it describes."""

    picture: int
    text: str
    tokens: list[int]


@dataclass
class _Points:
    """The sums of one layer at one step: a number for each head."""

    hits: np.ndarray
    inside: np.ndarray


@dataclass
class Pointing:
    """The pointing accuracy of each head, over reference captions.

    A word of several tokens has the mean of their weights, at the step that writes it and at the
    next, which reads it.
    """

    captioner: Captioner
    gold: Gold
    nouns: int = 0
    even: float = 0.0
    sums: dict[tuple[str, bool], _Points] = field(default_factory=dict)
    seen: dict[str, list[Tensor]] = field(default_factory=dict)

    def record(self, site: str, attention: Attention) -> None:
        """Keeps the weights until the batch is scored; an RNN attends step by step."""
        self.seen.setdefault(site, []).append(attention.weights.detach().float().cpu())

    def update(
        self,
        captions: Sequence[ReferenceCaption],
        files: Sequence[str],
        sizes: Sequence[tuple[int, int]],
    ) -> None:
        """Adds a batch, whose weights are then dropped.

        Args:
            captions: one for each row of the weights.
            files, sizes: the images' names, and their height and width in pixels of the boxes.
        """
        weights = {site: torch.cat(parts, dim=2).numpy() for site, parts in self.seen.items()}
        self.seen.clear()
        for row, caption in enumerate(captions):
            _, of_token = self.captioner.words_of(caption.tokens)
            for noun in self.gold.nouns(files[caption.picture], caption.text):
                steps = [step for step, word in enumerate(of_token) if word == noun.word]
                if steps:  # otherwise the caption was truncated before it
                    height, width = sizes[caption.picture]
                    maps_of = {site: of_batch[row] for site, of_batch in weights.items()}
                    self._noun(NounAttention(NOT_YET, noun.boxes, height, width), maps_of, steps)

    def _noun(self, noun: NounAttention, maps_of: dict[str, np.ndarray], steps: list[int]) -> None:
        """Adds one noun: the weights of every head at its steps, (heads step cell)."""
        grid = self.captioner._model.grid
        shares = cover(replace(noun, attention=np.ones(grid)))
        self.nouns += 1
        self.even += float(shares.mean())
        for site, weights in maps_of.items():
            for reads in (False, True):
                maps = weights[:, [step + reads for step in steps]].mean(axis=1)
                maps = maps.reshape(-1, *grid)
                zeros = np.zeros(len(maps))
                sums = self.sums.setdefault((site, reads), _Points(zeros, zeros.copy()))
                sums.hits += [points(replace(noun, attention=map_of_head)) for map_of_head in maps]
                sums.inside += (maps * shares).sum(axis=(1, 2)) / maps.sum(axis=(1, 2))

    def compute(self, cards: Iterable[AnyHeadCard]) -> list[AnyHeadCard]:
        """The cards with the pointing accuracy of their heads, at the better of the two steps."""
        return [self._scored(card) for card in cards]

    def _scored(self, card: AnyHeadCard) -> AnyHeadCard:
        if not isinstance(card, GridCard) or card.part != "cross" or not self.nouns:
            return card  # self-attention of cells has no words, and no gold boxes
        both = {reads: self.sums[card.site, reads] for reads in (False, True)}
        reads = bool(both[True].hits[card.head] > both[False].hits[card.head])
        return replace(
            card,
            nouns=self.nouns,
            pointing=float(both[reads].hits[card.head] / self.nouns),
            in_box=float(both[reads].inside[card.head] / self.nouns),
            even_in_box=self.even / self.nouns,
            reading="reads" if reads else "writes",
        )
