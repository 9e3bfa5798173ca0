"""Which pairs form a batch, and the order of the batches.

A *micro-batch* holds pairs whose sources have exactly the same length, neighbours by target length,
so that almost nothing is padded. An *update* is several micro-batches that share one optimizer
step. Everything here works on the lengths of a block of pairs (`blocks.py`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from jumok.data.pairs.blocks import BLOCK_PAIRS, Lengths, PairBlock, PairLengths, blocks_of_epoch
from jumok.data.planned import check_plan
from jumok.data.store import Rows

SPREAD = 0.6  # what doubling the target length inside a group costs, in micro-batches
SPAN = 1.1  # sparse source lengths share a micro-batch up to this quotient of longest and shortest
LARGER = 1.25  # how much larger a micro-batch may become, to divide an update evenly
TRIED = 1_000_000  # pairs from which the mean size of the micro-batches is known well enough


@dataclass(frozen=True)
class EpochPlan:
    """One pass over pairs: micro-batch i is `order[starts[i] : starts[i + 1]]`.

    Attributes:
        shuffled: the order of the micro-batches.
        tokens: target tokens of each, END included.
    """

    order: npt.NDArray[np.unsignedinteger]
    starts: npt.NDArray[np.int64]
    shuffled: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.shuffled)

    def rows(self, index: int) -> Rows:
        micro = self.shuffled[index]
        return self.order[self.starts[micro] : self.starts[micro + 1]].astype(np.int64)

    def unshuffled(self) -> Iterator[Rows]:
        """The rows of every micro-batch, shortest sources first."""
        for first, end in pairwise(self.starts):
            yield self.order[first:end].astype(np.int64)


def plan_epoch(
    source: Lengths, target: Lengths, micro_tokens: int, random: np.random.Generator
) -> EpochPlan:
    """Divides pairs into micro-batches, every pair in exactly one, and shuffles them.

    Args:
        source, target: each pair's length in tokens.
        micro_tokens: about the tokens of a micro-batch on its longer side, END included.
    """
    groups = _source_groups(source, target, micro_tokens)
    # A random order first, and then a stable sort: equal pairs stay in random order.
    order = np.arange(len(source), dtype=np.min_scalar_type(len(source)))
    random.shuffle(order)
    order = order[np.argsort(_sort_keys(groups[source], target)[order], kind="stable")]
    first, starts = 0, [np.zeros(1, dtype=np.int64)]
    for size in np.bincount(groups[source]).tolist():
        rows = order[first : first + size]
        tokens = np.maximum(source[rows], target[rows]) + 1
        starts.append(first + _ends(target[rows] + 1, tokens / micro_tokens))
        first += size
    bounds = np.concatenate(starts)
    shuffled = random.permutation(len(bounds) - 1)
    tokens = np.add.reduceat(target[order], bounds[:-1], dtype=np.int64) + np.diff(bounds)
    return EpochPlan(order, bounds, shuffled, tokens)


def _sort_keys(group: Lengths, target: Lengths) -> npt.NDArray[np.unsignedinteger]:
    """Numbers that sort by group and then by target length."""
    width = int(target.max()) + 1
    # The smallest type that holds them: numpy sorts 16 bits several times faster than 32.
    kind = np.min_scalar_type((int(group.max()) + 1) * width)
    keys: npt.NDArray[np.unsignedinteger] = group.astype(kind)
    keys *= keys.dtype.type(width)
    keys += target.astype(kind)
    return keys


def _ends(target: Lengths, cost: npt.NDArray[np.float64]) -> Rows:
    """The ends of the micro-batches of a group, whose pairs are sorted by target length."""
    # The parts have equal costs. A pair costs its share of a micro-batch, and the growth of the
    # target length from the pair before it: where lengths are sparse, this saves padding.
    reached = np.cumsum(cost) + SPREAD * np.log2(target / target[0])
    parts = max(1, round(float(reached[-1])))
    part = np.minimum((reached - cost / 2) * (parts / reached[-1]), parts - 0.5).astype(np.int64)
    return np.append(np.flatnonzero(np.diff(part)) + 1, len(part))


def _source_groups(source: Lengths, target: Lengths, micro_tokens: int) -> npt.NDArray[np.int32]:
    """For every source length the number of its group: itself, or itself and sparse neighbours."""
    tokens = np.bincount(source, weights=np.maximum(source, target) + 1.0)
    groups = np.zeros(len(tokens), dtype=np.int32)
    group, first, filled = -1, 0, float("inf")
    for length in np.flatnonzero(tokens):
        joins = tokens[length] + filled <= micro_tokens and length + 1 <= SPAN * (first + 1)
        if not joins:
            group, first, filled = group + 1, int(length), 0.0
        groups[length] = group
        filled += tokens[length]
    return groups


Planner = Callable[[Lengths, Lengths, np.random.Generator], EpochPlan]
"""Divides pairs, by the lengths of their sources and targets, into micro-batches."""


def by_length(micro_tokens: int) -> Planner:
    """`plan_epoch`, with micro-batches of this size."""
    return lambda source, target, random: plan_epoch(source, target, micro_tokens, random)


def by_length_for_shares(micro_tokens: int, update_tokens: int, shares: int) -> Planner:
    """`plan_epoch`, with micro-batches of which a multiple of `shares` is about an update.

    They are at most LARGER times as large as `micro_tokens`. Otherwise one of two threads often has
    three micro-batches of five, and the other one waits.
    """

    def planned(source: Lengths, target: Lengths, random: np.random.Generator) -> EpochPlan:
        # Every n-th pair, because neighbours may be alike.
        sample = slice(None, None, -(-len(source) // TRIED))
        tried = plan_epoch(source[sample], target[sample], micro_tokens, np.random.default_rng(0))
        usual = update_tokens / float(tried.tokens.mean())
        count = shares * math.ceil(usual / (shares * LARGER))
        # Where some shares stay empty anyway, nothing is gained by dividing micro-batches.
        even = max(1, round(micro_tokens * usual / count)) if usual * LARGER >= shares else None
        return plan_epoch(source, target, even or micro_tokens, random)

    return planned


class CorpusCursor(TypedDict):
    """The position in one corpus: its epoch, the block in it, the next micro-batch of the block,
    and the target tokens so far.
    """

    epoch: int
    block: int
    micro: int
    tokens: int


class Cursor(TypedDict):
    """The position of a stream of updates; numbers and strings, for a JSON file."""

    plan: str
    update: int
    corpora: list[CorpusCursor]


class CorpusOrder:
    """The endless order of one corpus's micro-batches; only the plan of one block is in memory.

    Args:
        number: the corpus's, for the seeds of its epochs and blocks.
    """

    def __init__(
        self, lengths: PairLengths, planner: Planner, seed: int, number: int, block_pairs: int
    ) -> None:
        self._lengths, self._planner = lengths, planner
        self._seed, self._block_pairs = (seed, number), block_pairs
        self._pairs = sum(lengths.shards)
        self.place = CorpusCursor(epoch=0, block=0, micro=0, tokens=0)
        self._blocks: list[PairBlock] | None = None
        self._plan: EpochPlan | None = None

    def restore(self, place: CorpusCursor) -> None:
        if place["epoch"] != self.place["epoch"]:
            self._blocks = self._plan = None
        elif place["block"] != self.place["block"]:
            self._plan = None
        self.place = place.copy()

    @property
    def epochs(self) -> float:
        done = sum(map(len, self.blocks[: self.place["block"]]))
        part = self.place["micro"] / len(self.plan) * len(self.blocks[self.place["block"]])
        return self.place["epoch"] + (done + part) / self._pairs

    @property
    def tokens(self) -> int:
        """Target tokens of the next micro-batch, END included."""
        return int(self.plan.tokens[self.plan.shuffled[self.place["micro"]]])

    def draw(self) -> Rows:
        """The rows of the next micro-batch."""
        place, tokens = self.place, self.tokens
        rows = self.blocks[place["block"]].rows(self.plan.rows(place["micro"]))
        place["tokens"] += tokens
        place["micro"] += 1
        if place["micro"] == len(self.plan):
            place["block"], place["micro"], self._plan = place["block"] + 1, 0, None
        if place["block"] == len(self.blocks):
            place["epoch"], place["block"], self._blocks = place["epoch"] + 1, 0, None
        return rows

    @property
    def blocks(self) -> list[PairBlock]:
        if self._blocks is None:
            seed = (*self._seed, self.place["epoch"])
            self._blocks = blocks_of_epoch(self._lengths.shards, self._block_pairs, seed)
        return self._blocks

    @property
    def plan(self) -> EpochPlan:
        """That of the block."""
        if self._plan is None:
            number, seed = self.place["block"], [*self._seed, self.place["epoch"]]
            if len(self.blocks) > 1:
                # From 1: numpy gives the same numbers with and without a 0 at the end of a seed.
                seed.append(1 + number)
            self._lengths.expect(self.blocks[number].stretches)
            lengths = self.blocks[number].lengths(self._lengths)
            for following in self.blocks[number + 1 : number + 2]:
                self._lengths.expect(following.stretches)
            random = np.random.default_rng(seed)
            self._plan = self._planner(*lengths, random)
        return self._plan


class PairSampler:
    """An endless, repeatable stream of updates over one or several corpora.

    The next micro-batch comes from the corpus that is furthest behind its share of the target
    tokens, so the mixture is exact and needs no random state. At its end, a corpus starts its next
    epoch in a new order.

    Args:
        weights: the share of each corpus in the target tokens; None: by its size.
        update_tokens: target tokens of one update on average, END included; an update ends where
            the stream comes closest to it, or up to one micro-batch before or after it, if each
            share then has equally many micro-batches.
        micro_tokens: about the tokens of a micro-batch on its longer side.
        identity: names the content of the corpora, so that a cursor is not used with other data.
        block_pairs: planned at once.
        planner: divides a block into micro-batches; None: `plan_epoch`.
        shares: of an update, which are computed in parallel.
    """

    def __init__(
        self,
        lengths: Sequence[PairLengths],
        weights: Sequence[float] | None,
        update_tokens: int,
        micro_tokens: int,
        seed: int,
        identity: str = "",
        block_pairs: int = BLOCK_PAIRS,
        planner: Planner | None = None,
        shares: int = 1,
    ) -> None:
        self._update_tokens, self._shares = update_tokens, shares
        sizes = np.array([one.target_tokens + sum(one.shards) for one in lengths], np.float64)
        share = sizes if weights is None else np.array(weights, dtype=np.float64)
        self._share = share / share.sum()
        self.epoch_tokens = int(sizes.sum())
        mixture = " ".join(f"{share:.6g}" for share in self._share)
        self._plan = (
            f"corpora {identity} of {self.epoch_tokens} tokens, mixed {mixture}, "
            f"update {update_tokens} in {shares}, micro-batch {micro_tokens}, seed {seed}"
        )
        if planner is None:
            # An update has at least one micro-batch, so a larger one would exceed it.
            size = min(micro_tokens, update_tokens)
            planner = (
                by_length(size)
                if shares == 1
                else by_length_for_shares(size, update_tokens, shares)
            )
        self._corpora = [
            CorpusOrder(corpus, planner, seed, number, block_pairs)
            for number, corpus in enumerate(lengths)
        ]
        self.update = 0

    @property
    def cursor(self) -> Cursor:
        places = [corpus.place.copy() for corpus in self._corpora]
        return Cursor(plan=self._plan, update=self.update, corpora=places)

    def restore(self, cursor: Cursor) -> None:
        """Raises DataError for a cursor of other data, batch sizes, weights or seed."""
        check_plan(cursor["plan"], self._plan)
        self.update = cursor["update"]
        for corpus, place in zip(self._corpora, cursor["corpora"], strict=True):
            corpus.restore(place)

    @property
    def epoch_steps(self) -> float:
        """The updates that hold as many target tokens as the corpora have."""
        return self.epoch_tokens / self._update_tokens

    @property
    def epochs(self) -> list[float]:
        return [corpus.epochs for corpus in self._corpora]

    def next_update(self) -> list[tuple[int, Rows]]:
        """The micro-batches of the next update: the corpus's index and the pairs' indices."""
        micros: list[tuple[int, Rows]] = []
        drawn = sum(corpus.place["tokens"] for corpus in self._corpora)
        goal = (self.update + 1) * self._update_tokens
        while True:
            index = self._furthest_behind()
            tokens = self._corpora[index].tokens
            if micros and self._complete(len(micros), drawn - goal, tokens):
                break
            micros.append((index, self._corpora[index].draw()))
            drawn += tokens
        self.update += 1
        return micros

    def _complete(self, count: int, beyond: int, tokens: int) -> bool:
        """Whether an update ends here, `beyond` its goal, before a micro-batch of `tokens`."""
        closest = beyond + tokens / 2 > 0
        if self._shares == 1:
            return closest
        missing = -count % self._shares
        if missing == 0:
            return beyond > -tokens
        return closest and beyond + missing * tokens > tokens

    def _furthest_behind(self) -> int:
        drawn = np.array([corpus.place["tokens"] for corpus in self._corpora], dtype=np.float64)
        return int(np.argmin(drawn / self._share))
