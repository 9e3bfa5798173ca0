"""Decides which pairs form a batch, and the order of the batches.

A *micro-batch* holds pairs whose sources have exactly the same length, neighbours by target
length, so that almost nothing is padded. An *update* is several micro-batches that share one
optimizer step. Everything here works on lengths alone, in numpy: ten million pairs are 80 MB.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from jumok.errors import DataError

Lengths = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]

SPREAD = 0.6  # what doubling the target length inside a group costs, in micro-batches
SPAN = 1.1  # sparse source lengths share a micro-batch up to this quotient of longest and shortest


@dataclass(frozen=True)
class EpochPlan:
    """One pass over a corpus: micro-batch i is `order[starts[i] : starts[i + 1]]`."""

    order: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    shuffled: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.shuffled)

    def rows(self, index: int) -> Rows:
        """The pairs of the `index`-th micro-batch of the epoch."""
        micro = self.shuffled[index]
        return self.order[self.starts[micro] : self.starts[micro + 1]].astype(np.int64)


def plan_epoch(
    source: Lengths, target: Lengths, micro_tokens: int, random: np.random.Generator
) -> EpochPlan:
    """Divides all pairs into micro-batches, every pair in exactly one, and shuffles them.

    Args:
        source, target: each pair's length in tokens.
        micro_tokens: the approximate number of tokens of a micro-batch on its longer side, END
            included.
        random: the generator of the order.
    """
    groups = _source_groups(source, target, micro_tokens)
    # A random order first, and then a stable sort: equal pairs stay in random order.
    order = np.arange(len(source), dtype=np.uint32)
    random.shuffle(order)
    order = order[np.argsort(_keys(groups[source], target)[order], kind="stable")]
    first, starts = 0, [np.zeros(1, dtype=np.int64)]
    for size in np.bincount(groups[source]).tolist():
        rows = order[first : first + size]
        tokens = np.maximum(source[rows], target[rows]) + 1
        starts.append(first + _ends(target[rows] + 1, tokens / micro_tokens))
        first += size
    bounds = np.concatenate(starts)
    return EpochPlan(order, bounds, random.permutation(len(bounds) - 1))


def _keys(group: Lengths, target: Lengths) -> npt.NDArray[np.unsignedinteger]:
    """Numbers that sort by group and then by target length."""
    width = int(target.max()) + 1
    # The smallest type that holds them: numpy sorts 16 bits several times faster than 32.
    kind = np.min_scalar_type((int(group.max()) + 1) * width)
    keys: npt.NDArray[np.unsignedinteger] = group.astype(kind)
    keys *= keys.dtype.type(width)
    keys += target.astype(kind)
    return keys


def _ends(target: Lengths, cost: npt.NDArray[np.float64]) -> Rows:
    """The ends of the micro-batches of a group, whose pairs are sorted by target length.

    The group is divided into parts of equal cost, not into full ones and a remainder. A pair costs
    its share of a micro-batch, and the growth of the target length from the pair before it: where
    lengths are sparse, the parts are smaller, which saves padding.
    """
    reached = np.cumsum(cost) + SPREAD * np.log2(target / target[0])
    parts = max(1, round(float(reached[-1])))
    part = np.minimum((reached - cost / 2) * (parts / reached[-1]), parts - 0.5).astype(np.int64)
    return np.append(np.flatnonzero(np.diff(part)) + 1, len(part))


def _source_groups(source: Lengths, target: Lengths, micro_tokens: int) -> npt.NDArray[np.int32]:
    """For every source length the number of its group: itself, or itself and sparse neighbours.

    A length joins the group before it if they fill no more than one micro-batch together and the
    group's lengths stay within SPAN.
    """
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
"""Divides a corpus, by the lengths of its sources and targets, into micro-batches."""


class CorpusCursor(TypedDict):
    """The position in one corpus: its epoch, the next micro-batch, the target tokens so far."""

    epoch: int
    micro: int
    tokens: int


class Cursor(TypedDict):
    """The position of a stream of updates; numbers and strings, for a JSON file."""

    plan: str
    update: int
    corpora: list[CorpusCursor]


class PairSampler:
    """An endless, repeatable stream of updates over one or several corpora.

    The next micro-batch comes from the corpus that is furthest behind its share of the target
    tokens, so the mixture is exact and needs no random state. At its end, a corpus starts its next
    epoch in a new order.

    Args:
        lengths: the source and target lengths of each corpus, in tokens.
        weights: the share of each corpus in the target tokens; None: by its size.
        update_tokens: target tokens of one update on average, END included; an update ends where
            the stream comes closest to it.
        micro_tokens: the approximate number of tokens of a micro-batch on its longer side.
        seed: the seed of the orders, together with the corpus and its epoch.
        identity: names the content of the corpora, so that a cursor is not used with other data.
        planner: divides an epoch into micro-batches; None: `plan_epoch`.
    """

    def __init__(
        self,
        lengths: Sequence[tuple[Lengths, Lengths]],
        weights: Sequence[float] | None,
        update_tokens: int,
        micro_tokens: int,
        seed: int,
        identity: str = "",
        planner: Planner | None = None,
    ) -> None:
        self._lengths, self._seed, self._planner = lengths, seed, planner
        # An update has at least one micro-batch, so a larger one would exceed it.
        self._update_tokens, self._micro_tokens = update_tokens, min(micro_tokens, update_tokens)
        sizes = np.array([target.sum() + len(target) for _, target in lengths], dtype=np.float64)
        share = sizes if weights is None else np.array(weights, dtype=np.float64)
        self._share = share / share.sum()
        self.epoch_tokens = int(sizes.sum())
        shares = " ".join(f"{share:.6g}" for share in self._share)
        self._plan = (
            f"corpora {identity} of {self.epoch_tokens} tokens, shares {shares}, "
            f"update {update_tokens}, micro-batch {micro_tokens}, seed {seed}"
        )
        self._places = [CorpusCursor(epoch=0, micro=0, tokens=0) for _ in lengths]
        self._plans: list[EpochPlan | None] = [None] * len(lengths)
        self.update = 0

    @property
    def cursor(self) -> Cursor:
        """The position of the stream: a sampler with this cursor continues with the next update."""
        places = [place.copy() for place in self._places]
        return Cursor(plan=self._plan, update=self.update, corpora=places)

    def restore(self, cursor: Cursor) -> None:
        """Restores the position of `cursor`.

        Raises:
            DataError: the cursor belongs to other data, batch sizes or weights, or to another seed.
        """
        check_plan(cursor["plan"], self._plan)
        self.update = cursor["update"]
        self._places = [place.copy() for place in cursor["corpora"]]
        self._plans = [None] * len(self._places)

    @property
    def epoch_steps(self) -> float:
        """The number of updates in which as many target tokens are drawn as the corpora have."""
        return self.epoch_tokens / self._update_tokens

    @property
    def epochs(self) -> list[float]:
        """The number of epochs of each corpus."""
        return [
            place["epoch"] + place["micro"] / len(self._epoch_plan(index))
            for index, place in enumerate(self._places)
        ]

    def next_update(self) -> list[tuple[int, Rows]]:
        """The micro-batches of the next update: the corpus's index and the pairs' indices."""
        micros: list[tuple[int, Rows]] = []
        drawn = sum(place["tokens"] for place in self._places)
        goal = (self.update + 1) * self._update_tokens
        while True:
            corpus = self._furthest_behind()
            place, plan = self._places[corpus], self._epoch_plan(corpus)
            rows = plan.rows(place["micro"])
            target = self._lengths[corpus][1]
            tokens = int(target[rows].sum()) + len(rows)
            if micros and drawn + tokens / 2 > goal:
                break
            micros.append((corpus, rows))
            drawn += tokens
            self._advance(corpus, tokens, len(plan))
        self.update += 1
        return micros

    def _furthest_behind(self) -> int:
        drawn = np.array([place["tokens"] for place in self._places], dtype=np.float64)
        return int(np.argmin(drawn / self._share))

    def _advance(self, corpus: int, tokens: int, size: int) -> None:
        place = self._places[corpus]
        place["tokens"] += tokens
        place["micro"] += 1
        if place["micro"] == size:
            place["epoch"], place["micro"] = place["epoch"] + 1, 0
            self._plans[corpus] = None

    def _epoch_plan(self, corpus: int) -> EpochPlan:
        plan = self._plans[corpus]
        if plan is None:
            epoch = self._places[corpus]["epoch"]
            random = np.random.default_rng((self._seed, corpus, epoch))
            if self._planner is None:
                plan = plan_epoch(*self._lengths[corpus], self._micro_tokens, random)
            else:
                plan = self._planner(*self._lengths[corpus], random)
            self._plans[corpus] = plan
        return plan


class UpdateCursor(TypedDict):
    """The position of a stream whose updates depend on their number alone; JSON."""

    plan: str
    update: int


def check_plan(before: str, now: str) -> None:
    """Raises DataError if a cursor belongs to another stream."""
    if before != now:
        raise DataError(
            "the data has changed since training stopped.",
            expected=before,
            got=now,
            do="resume with the same data, tokenizer, filters, batch sizes and seed",
        )
