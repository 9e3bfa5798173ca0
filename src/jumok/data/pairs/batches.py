"""Pairs as tensors: the input of a model in training, validation and decoding."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property, partial
from random import Random

import numpy as np
import numpy.typing as npt
import torch

from jumok.config.data import NoiseConfig
from jumok.data.pairs.noise import noised
from jumok.data.pairs.rows import batched_rows
from jumok.data.pairs.sampler import Cursor, PairSampler, plan_epoch
from jumok.data.pairs.store import PairCorpus
from jumok.data.planned import Micro, Planned, PlannedUpdates
from jumok.data.store import Ragged, Rows, StoredSequences
from jumok.data.tokenizer import END, PAD, START, Tokenizer
from jumok.shapes import Bool, Int, Tensor

Ids = npt.NDArray[np.int64]


def on_device(batch: Micro, device: torch.device) -> Micro:
    """A batch of any kind, its tensors moved to the device; see `with_tensors`."""
    if device.type == "cpu":
        return batch
    return with_tensors(batch, lambda tensor: tensor.to(device, non_blocking=True))


def with_tensors(batch: Micro, change: Callable[[Tensor], Tensor]) -> Micro:
    """A batch with every tensor changed, also in the dataclasses that it is made of.

    What it computes only once (`cached_property`) is computed before: on a GPU the host would wait
    for sizes that depend on numbers.
    """

    def of(value: object) -> object:
        if isinstance(value, Tensor):
            return change(value)
        return with_tensors(value, change) if is_dataclass(value) else value

    members = vars(type(batch)).items()
    once = [name for name, member in members if isinstance(member, cached_property)]
    computed = {name: of(getattr(batch, name)) for name in once}
    fields = {name: of(member) for name, member in vars(batch).items() if name not in once}
    other = replace(batch, **fields)  # type: ignore[type-var]  # every batch is a dataclass
    vars(other).update(computed)
    return other


def places_of(real: Bool[Tensor, "batch length"]) -> Int[Tensor, " real"]:
    """Where a mask is True, as indexes into its elements row by row."""
    return real.flatten().nonzero()[:, 0]


@dataclass(frozen=True)
class Batch:
    """The pairs of one training batch.

    Attributes:
        source: tokens and END, padded with PAD.
        source_allowed: True where a source position is a token; None: everywhere.
        target_input: START and tokens, padded with PAD.
        target_output: tokens and END, padded with PAD.
        sources, targets: the number of tokens of each side, END included.
        source_documents, target_documents: the number of each position's sentence where several
            share a row; None: a row is one sentence.
        source_offsets, target_offsets: where these sentences begin, in the order of their numbers.
        longest: positions of the longest one where they share rows.
    """

    source: Int[Tensor, "batch source"]
    source_allowed: Bool[Tensor, "batch source"] | None
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    sources: int
    targets: int
    source_documents: Int[Tensor, "batch source"] | None = None
    target_documents: Int[Tensor, "batch target"] | None = None
    source_offsets: Int[Tensor, " slots"] | None = None
    target_offsets: Int[Tensor, " slots"] | None = None
    longest: int | None = None

    @cached_property
    def places(self) -> Int[Tensor, " targets"]:
        """The positions of the target's tokens (`places_of`); all, with padding, where batches have
        one shape.
        """
        if self.target_offsets is not None:
            return torch.arange(self.target_output.numel())
        return places_of(self.target_output != PAD)

    @property
    def work(self) -> int:
        return work_of(self.source.numel(), self.target_input.numel())


def work_of(source_positions: int, target_positions: int) -> int:
    """The cost of a batch relative to others: only targets pass the output layer, which in a small
    model takes about as long for a position as all other layers do.
    """
    return source_positions + 2 * target_positions


@dataclass(frozen=True)
class SourceBatch:
    """The sources of one decoding batch; `rows` are their indices in the input."""

    tokens: Int[Tensor, "batch source"]
    allowed: Bool[Tensor, "batch source"] | None
    rows: list[int]


@dataclass(frozen=True)
class Variation:
    """Sentences that are tokenized again every time, with noise or subword regularisation.

    Attributes:
        alpha: see `Tokenizer.encode_sampled`; 0: as usual.
        noise: on the sources; None: none.
        most: tokens of a side; what has more than that is as it was prepared.
        seed: of all choices, together with the update.
    """

    tokenizer: Tokenizer
    alpha: float
    noise: NoiseConfig | None
    most: int
    seed: int

    def batch(
        self, store: PairCorpus, rows: npt.NDArray[np.int64], place: tuple[int, int]
    ) -> Batch:
        """The rows, seeded by their place: a resumed stream has the same batch, in any process."""
        random = Random(f"{self.seed} {place}")
        sources, targets = store.texts(rows.tolist())
        if self.noise is not None:
            sources = [noised(text, self.noise, random) for text in sources]
        return collate(
            self._encoded(self.tokenizer, sources, store.source, rows, random),
            self._encoded(self.tokenizer.target, targets, store.target, rows, random),
        )

    def _encoded(
        self,
        tokenizer: Tokenizer,
        texts: Sequence[str],
        prepared: StoredSequences,
        rows: Rows,
        random: Random,
    ) -> list[Sequence[int]]:
        if self.alpha:
            new = [tokenizer.encode_sampled(text, self.alpha, random) for text in texts]
        else:
            new = tokenizer.encode_batch(texts)
        return [
            ids if 0 < len(ids) <= self.most else prepared[row].tolist()
            for ids, row in zip(new, rows.tolist(), strict=True)
        ]


class Updates(PlannedUpdates[Micro]):
    """Updates whose rows a sampler chooses; `cursor` is the position after the last update."""

    def __init__(self, sampler: PairSampler) -> None:
        self._sampler = sampler

    def planned(self) -> list[Planned[Micro]]:
        update = self._sampler.update
        return [
            Planned(self._work(corpus, rows), partial(self._batch, (update, number), corpus, rows))
            for number, (corpus, rows) in enumerate(self._sampler.next_update())
        ]

    @abstractmethod
    def _work(self, corpus: int, rows: npt.NDArray[np.int64]) -> int:
        """The cost of a micro-batch of these rows of a corpus, relative to others."""

    @abstractmethod
    def _batch(self, place: tuple[int, int], corpus: int, rows: npt.NDArray[np.int64]) -> Micro:
        """The micro-batch. `place` is the update and its number therein, to seed samples."""

    @property
    def cursor(self) -> Cursor:
        return self._sampler.cursor

    def restore(self, cursor: Cursor) -> None:
        self._sampler.restore(cursor)

    @property
    def epochs(self) -> list[float]:
        return self._sampler.epochs

    @property
    def epoch_steps(self) -> float:
        return self._sampler.epoch_steps


class UpdateStream(Updates[Batch]):
    """Updates of pairs, as they were prepared, or with the variation of each corpus."""

    def __init__(
        self,
        stores: Sequence[PairCorpus],
        sampler: PairSampler,
        variations: Sequence[Variation] | None = None,
    ) -> None:
        super().__init__(sampler)
        self._stores, self._variations = stores, variations

    def _work(self, corpus: int, rows: npt.NDArray[np.int64]) -> int:
        # The plan of the block has read the lengths, so its shards are open.
        source, target = (
            max(int(store.lengths_of(own).max()) for store, _, own in side.parts(rows)) + 1
            for side in (self._stores[corpus].source, self._stores[corpus].target)
        )
        return work_of(len(rows) * source, len(rows) * target)

    def _batch(self, place: tuple[int, int], corpus: int, rows: npt.NDArray[np.int64]) -> Batch:
        if self._variations is None:
            return gather_batch(self._stores[corpus], rows)
        return self._variations[corpus].batch(self._stores[corpus], rows, place)


def gather_batch(store: PairCorpus, rows: npt.NDArray[np.int64]) -> Batch:
    """The pairs in these rows of the store as one batch."""
    source, source_lengths = gather(store.source, rows)
    target, target_lengths = gather(store.target, rows)
    return _batch(source, source_lengths, target, target_lengths)


def collate(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """Pairs of token ids (without START and END) as one batch."""
    return _batch(*fill(sources), *fill(targets))


def validation_batches(store: PairCorpus, tokens: int) -> Iterator[Batch]:
    """Every pair of the store once, shortest sources first, about `tokens` tokens per batch."""
    plan = plan_epoch(*store.lengths.read(0, len(store)), tokens, np.random.default_rng(0))
    for rows in plan.unshuffled():
        yield gather_batch(store, rows)


def source_batches(
    sources: Sequence[Sequence[int]], *, sentences: int, tokens: int | None = None
) -> Iterator[SourceBatch]:
    """Batches of sources (token ids without END) for decoding: see `batched_rows`."""
    for rows in batched_rows(sources, sentences, tokens):
        yield source_batch([sources[row] for row in rows], rows)


def padding(batches: Sequence[Batch]) -> float:
    """The share of positions, on both sides, that are padding: 0 to 1."""
    real = sum(batch.sources + batch.targets for batch in batches)
    return 1 - real / sum(batch.source.numel() + batch.target_output.numel() for batch in batches)


def source_batch(sources: Sequence[Sequence[int]], rows: list[int]) -> SourceBatch:
    """These sources (token ids without END), whose indices in the input are `rows`, as one
    batch.
    """
    ids, lengths = fill(sources)
    tokens, allowed = with_end(ids, lengths)
    return SourceBatch(tokens, allowed, rows)


def _batch(source: Ids, source_lengths: Ids, target: Ids, target_lengths: Ids) -> Batch:
    source_tokens, allowed = with_end(source, source_lengths)
    output, _ = with_end(target, target_lengths)
    start = torch.full((len(target), 1), START)
    return Batch(
        source=source_tokens,
        source_allowed=allowed,
        target_input=torch.cat([start, torch.from_numpy(target)], dim=1),
        target_output=output,
        sources=int(source_lengths.sum()) + len(source),
        targets=int(target_lengths.sum()) + len(target),
    )


def with_end(
    ids: Ids, lengths: Ids
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"] | None]:
    """The ids with END after each row's last token, and which positions are tokens (None: all)."""
    ended = np.pad(ids, ((0, 0), (0, 1)), constant_values=PAD)
    ended[np.arange(len(ids)), lengths] = END
    even = bool((lengths == ids.shape[1]).all())
    allowed = None if even else torch.from_numpy(np.arange(ended.shape[1]) <= lengths[:, None])
    return torch.from_numpy(ended), allowed


def framed(
    ids: Ids, lengths: Ids
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"] | None]:
    """As `with_end`, with START before every row: the input of an encoder of whole texts."""
    started = np.pad(ids, ((0, 0), (1, 0)), constant_values=START)
    return with_end(started, lengths + 1)


def fill(rows: Sequence[Sequence[int]]) -> tuple[Ids, Ids]:
    """Rows of different lengths as one array padded with PAD, and their lengths."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    filled = np.full((len(rows), int(lengths.max())), PAD, dtype=np.int64)
    for index, row in enumerate(rows):
        filled[index, : len(row)] = row
    return filled, lengths


def gather(side: StoredSequences, rows: npt.NDArray[np.int64]) -> tuple[Ids, Ids]:
    """As `fill`, read from the store in one step, or from each of its shards in one."""
    parts = [(indices, *_gather(part, own)) for part, indices, own in side.parts(rows)]
    if len(parts) == 1:
        return parts[0][1:]
    lengths = np.empty(len(rows), dtype=np.int64)
    width = max(part_ids.shape[1] for _, part_ids, _ in parts)
    ids = np.full((len(rows), width), PAD, dtype=np.int64)
    for indices, part_ids, part_lengths in parts:
        ids[indices, : part_ids.shape[1]] = part_ids
        lengths[indices] = part_lengths
    return ids, lengths


def _gather(side: Ragged, rows: npt.NDArray[np.int64]) -> tuple[Ids, Ids]:
    lengths = side.lengths_of(rows)
    positions = np.arange(int(lengths.max()))
    real = positions < lengths[:, None]  # rows, positions
    places = np.where(real, side.offsets[rows][:, None] + positions, 0)
    return np.where(real, side.values[places], PAD).astype(np.int64), lengths
