"""Batches of pairs that all have one shape, with many sentences in one row.

What is left of a row is padding in documents of its own. A GPU compiles or records its steps for
one shape; on a CPU batches of exact lengths are faster (`sampler.py`).

Source: Krell et al. 2021, "Efficient sequence packing without cross-contamination".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from jumok.data.pairs.batches import Batch, Ids, Updates, gather, work_of
from jumok.data.pairs.blocks import Lengths, PairLengths
from jumok.data.pairs.sampler import EpochPlan, PairSampler
from jumok.data.pairs.store import PairCorpus
from jumok.data.store import Rows
from jumok.data.tokenizer import END, PAD, START
from jumok.errors import ConfigError

SPARE = 1.5  # a batch has room for so many times the average number of pairs


@dataclass(frozen=True)
class PackedShape:
    """The shape of every batch.

    Attributes:
        source, target: positions of a row, END or START counted.
        pairs: of a row, at most.
        longest: positions of the longest sentence of either side.
    """

    source: int
    target: int
    pairs: int
    longest: int

    @classmethod
    def of(cls, lengths: Sequence[PairLengths], micro_tokens: int) -> "PackedShape":
        """The shape for these corpora: the source has its share of the target's positions.

        Raises:
            ConfigError: a pair has more tokens than a batch has positions.
        """
        count = sum(sum(corpus.shards) for corpus in lengths)
        sources = count + sum(corpus.source_tokens for corpus in lengths)
        targets = count + sum(corpus.target_tokens for corpus in lengths)
        longest = 1 + max(corpus.longest for corpus in lengths)
        if longest > micro_tokens:
            raise ConfigError(
                "a sentence is longer than a packed batch.",
                expected=f"training.tokens_per_micro_batch of {longest} or more",
                got=str(micro_tokens),
                do=f"--set training.tokens_per_micro_batch={longest}, or a lower data.max_tokens",
            )
        source = max(longest, -(-micro_tokens * sources // (16 * targets)) * 16)
        return cls(source, micro_tokens, int(SPARE * micro_tokens * count / targets) + 8, longest)

    @property
    def padding(self) -> int:
        """Documents of padding that fill a row, each no longer than a sentence may be."""
        return -(-max(self.source, self.target) // self.longest)

    def __str__(self) -> str:
        return f"packed to {self.source} and {self.target} positions, {self.pairs} pairs at most"


def plan_packed(
    shape: PackedShape, source: Lengths, target: Lengths, random: np.random.Generator
) -> EpochPlan:
    """Divides the pairs of a block, in a random order, into batches that fit into the shape.

    Args:
        source, target: each pair's length in tokens, without END.
    """
    order = random.permutation(len(source)).astype(np.uint32)
    ends = [
        np.concatenate(([0], np.cumsum(side[order].astype(np.int64) + 1)))
        for side in (source, target)
    ]
    starts = [0]
    while starts[-1] < len(order):
        first = starts[-1]
        fits = (
            int(np.searchsorted(end, end[first] + room, side="right")) - 1
            for end, room in zip(ends, (shape.source, shape.target), strict=True)
        )
        starts.append(min(*fits, first + shape.pairs))
    bounds = np.array(starts, dtype=np.int64)
    return EpochPlan(order, bounds, random.permutation(len(bounds) - 1), np.diff(ends[1][bounds]))


def packed_batch(
    sources: list[npt.NDArray[np.int64]], targets: list[npt.NDArray[np.int64]], shape: PackedShape
) -> Batch:
    """Pairs of token ids (without START and END) in one row."""
    source = _packed_side([np.append(ids, END) for ids in sources], shape.source, shape)
    inputs = _packed_side([np.append(START, ids) for ids in targets], shape.target, shape)
    outputs = np.full((1, shape.target), PAD, dtype=np.int64)
    outputs[0, : inputs.tokens] = np.concatenate([np.append(ids, END) for ids in targets])
    return Batch(
        source=torch.from_numpy(source.ids),
        source_allowed=None,
        target_input=torch.from_numpy(inputs.ids),
        target_output=torch.from_numpy(outputs),
        sources=source.tokens,
        targets=inputs.tokens,
        source_documents=torch.from_numpy(source.numbers),
        target_documents=torch.from_numpy(inputs.numbers),
        source_offsets=torch.from_numpy(source.offsets),
        target_offsets=torch.from_numpy(inputs.offsets),
        longest=shape.longest,
    )


class PackedUpdates(Updates[Batch]):
    """Updates of packed pairs; the sampler's planner makes batches that fit into the shape."""

    def __init__(
        self, stores: Sequence[PairCorpus], sampler: PairSampler, shape: PackedShape
    ) -> None:
        super().__init__(sampler)
        self._stores, self._shape = stores, shape

    def _work(self, corpus: int, rows: Rows) -> int:
        del corpus, rows
        return work_of(self._shape.source, self._shape.target)

    def _batch(self, place: tuple[int, int], corpus: int, rows: Rows) -> Batch:
        del place
        return gather_packed(self._stores[corpus], rows, self._shape)


def gather_packed(store: PairCorpus, rows: Rows, shape: PackedShape) -> Batch:
    """The pairs in these rows of the store as one batch."""
    source, target = (
        [ids[:length] for ids, length in zip(*gather(side, rows), strict=True)]
        for side in (store.source, store.target)
    )
    return packed_batch(source, target, shape)


@dataclass(frozen=True)
class _PackedSide:
    """One side of a packed batch; `numbers` are the documents of its positions."""

    ids: Ids
    numbers: Ids
    offsets: npt.NDArray[np.int32]
    tokens: int


def _packed_side(
    sentences: list[npt.NDArray[np.int64]], room: int, shape: PackedShape
) -> _PackedSide:
    """The sentences side by side; padding is cut into documents that come after all sentences."""
    lengths = np.zeros(shape.pairs + shape.padding, dtype=np.int64)
    lengths[: len(sentences)] = [len(sentence) for sentence in sentences]
    tokens = int(lengths.sum())
    rest = room - tokens
    for slot in range(shape.pairs, len(lengths)):
        lengths[slot] = min(rest, shape.longest)
        rest -= int(lengths[slot])
    assert rest == 0, "the batch does not fit into its shape"
    ids = np.full((1, room), PAD, dtype=np.int64)
    ids[0, :tokens] = np.concatenate(sentences)
    numbers = np.repeat(np.arange(len(lengths)), lengths)[None]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return _PackedSide(ids, numbers, offsets, tokens)
