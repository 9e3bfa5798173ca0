"""The training windows of a language model: `context` tokens each.

From one long text, windows are sampled at random. Many documents are packed: each is divided into
parts of at most `context` tokens, a row is filled with several parts, and document numbers restrict
attention to the tokens of the same part.

Source: random sampling: Karpathy's nanoGPT; packing: Krell et al. 2021.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TypedDict

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

from jumok.data.pairs.batches import places_of
from jumok.data.planned import NumberedUpdates, Planned, PlannedUpdates, check_plan
from jumok.data.texts.store import TextStore
from jumok.data.tokenizer import PAD, START
from jumok.shapes import Int, Tensor

Indices = npt.NDArray[np.int64]

BEGINNINGS = 0.125  # the share of windows of a long text in which START replaces the first token
BUFFER = 1_000  # parts that are packed together: more of them give less padding and less randomness


@dataclass(frozen=True)
class TextBatch:
    """The windows of one training batch.

    Attributes:
        tokens: padded with PAD.
        following: the next token of each, which it is to predict; PAD where there is none.
        documents: equal numbers for the tokens of a document; None: every row is one document.
        targets: the number of predictions.
        offsets: where the documents begin, counted over all rows, in the order of their numbers.
        longest: positions of the longest document; set with `offsets`.
    """

    tokens: Int[Tensor, "batch length"]
    following: Int[Tensor, "batch length"]
    documents: Int[Tensor, "batch length"] | None
    targets: int
    offsets: Int[Tensor, " slots"] | None = None
    longest: int | None = None

    @cached_property
    def places(self) -> Int[Tensor, " targets"]:
        """Positions with a next token (`places_of`); all, with padding, where batches have one
        shape.
        """
        if self.offsets is not None:
            return torch.arange(self.following.numel())
        return places_of(self.following != PAD)

    @property
    def sources(self) -> int:
        """A language model has no source."""
        return 0

    @property
    def work(self) -> int:
        return self.tokens.numel()


def windows_at(store: TextStore, places: Indices, parts: Indices) -> TextBatch:
    """The windows of these tokens.

    Args:
        places: (batch length), each token's index into the store's values; -1 is padding.
        parts: (batch length), the number of the part of each token.
    """
    values, ends = store.tokens.values, store.tokens.offsets[1:]
    real = places >= 0
    # nothing follows the END of a document
    last = ends[np.searchsorted(ends, places, side="right")] == places + 1
    tokens = np.where(real, values[np.maximum(places, 0)], PAD).astype(np.int64)
    after = values[np.minimum(places + 1, len(values) - 1)]
    following = np.where(real & ~last, after, PAD).astype(np.int64)
    alone = bool((parts == parts[:, :1])[real].all())
    return TextBatch(
        torch.from_numpy(tokens),
        torch.from_numpy(following),
        None if alone else torch.from_numpy(parts),
        int((following != PAD).sum()),
    )


def one_shape(batch: TextBatch, parts: Indices, rows: int, context: int, most: int) -> TextBatch:
    """The batch filled up with padding to `rows` rows of `context` positions.

    Args:
        parts: (batch length), the number of the part of each token; that of padding is -1.
        most: documents of a row, padding counted.
    """
    batch_rows, length = parts.shape
    around = (0, context - length, 0, rows - batch_rows)
    tokens, following = (F.pad(side, around, value=PAD) for side in (batch.tokens, batch.following))
    filled = np.pad(parts, ((0, around[3]), (0, around[1])), constant_values=-1)
    begins = np.ones_like(filled, dtype=np.bool_)
    begins[:, 1:] = filled[:, 1:] != filled[:, :-1]
    starts = np.flatnonzero(begins)
    offsets = np.full(rows * most + 1, filled.size, dtype=np.int32)
    assert len(starts) < len(offsets), "more documents than a batch has room for"
    offsets[: len(starts)] = starts
    numbers = np.cumsum(begins).reshape(filled.shape) - 1
    return TextBatch(
        tokens,
        following,
        torch.from_numpy(numbers),
        batch.targets,
        torch.from_numpy(offsets),
        context,
    )


class DrawnWindows(NumberedUpdates[TextBatch]):
    """Updates of random windows of a text.

    In one window of eight, START replaces the first token, so that the model learns to generate
    without a prompt. A window may contain the end of a document, which attention does not cross.

    Args:
        rows: windows of an update, and of a micro-batch.
        alike: whether all batches have one shape (`one_shape`).
    """

    def __init__(
        self,
        store: TextStore,
        context: int,
        rows: tuple[int, int],
        seed: int,
        *,
        alike: bool = False,
    ) -> None:
        super().__init__(f"text {store.key}, windows of {context}, {rows[0]} at once, seed {seed}")
        self._store, self._rows, self._seed = store, rows, seed
        self._context = min(context, len(store.tokens.values) - 1)
        ends = store.tokens.offsets[1:]
        across = np.searchsorted(ends, ends + self._context) - np.arange(len(ends))
        self._most = int(across.max()) + 2 if alike else None  # a part on each side, and padding

    def planned(self) -> list[Planned[TextBatch]]:
        random = np.random.default_rng((self._seed, self._update))
        self._update += 1
        rows, at_once = self._rows
        starts = random.integers(0, len(self._store.tokens.values) - self._context, rows)
        begins = torch.from_numpy(random.random(rows) < BEGINNINGS)

        def collate(some: slice) -> TextBatch:
            places = starts[some, None] + np.arange(self._context)
            parts = np.searchsorted(self._store.tokens.offsets[1:], places, side="right")
            batch = windows_at(self._store, places, parts)
            batch.tokens[begins[some], 0] = START
            if self._most is None:
                return batch
            return one_shape(batch, parts, at_once, self._context, self._most)

        return [
            Planned(
                self._work(min(at_once, rows - first)),
                partial(collate, slice(first, min(first + at_once, rows))),
            )
            for first in range(0, rows, at_once)
        ]

    def _work(self, rows: int) -> int:
        return (rows if self._most is None else self._rows[1]) * self._context

    @property
    def epoch_steps(self) -> float:
        """The updates whose windows hold as many tokens as the text."""
        return len(self._store.tokens.values) / (self._rows[0] * self._context)


@dataclass(frozen=True)
class DocumentChunks:
    """Documents divided into parts: the indices of their first tokens, and their lengths.

    The END of a document is predicted and never an input, so it belongs to no part.
    """

    starts: Indices
    lengths: Indices

    @classmethod
    def of(cls, store: TextStore, context: int) -> "DocumentChunks":
        """All parts, in order."""
        read = store.tokens.lengths() - 1
        begins = store.tokens.offsets[:-1]
        counts = -(-read // context)
        document = np.repeat(np.arange(len(read)), counts)
        number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
        offset = number * context
        return cls(begins[document] + offset, np.minimum(read[document] - offset, context))

    def __len__(self) -> int:
        return len(self.starts)


def pack(
    lengths: Indices, order: Indices, context: int, most: int | None = None
) -> list[list[int]]:
    """Rows of parts that fit into `context` tokens.

    Parts are taken in `order`, a buffer at a time; within it the longest comes first, and each goes
    to the fullest row that still has room for it.

    Args:
        most: parts of a row at most.
    """
    rows: list[list[int]] = []
    for first in range(0, len(order), BUFFER):
        buffer = order[first : first + BUFFER]
        buffer = buffer[np.argsort(-lengths[buffer], kind="stable")]
        rooms: list[list[list[int]]] = [[] for _ in range(context + 1)]
        filled = 0  # bit r is set if there is a row with room for r more tokens
        for part, length in zip(buffer.tolist(), lengths[buffer].tolist(), strict=True):
            larger = filled >> length
            if larger:
                room = length + (larger & -larger).bit_length() - 1
                row = rooms[room].pop()
                filled &= ~(0 if rooms[room] else 1 << room)
            else:
                room, row = context, []
                rows.append(row)
            row.append(part)
            if len(row) != most:
                rooms[room - length].append(row)
                filled |= 1 << (room - length)
    return rows


def windows_of_rows(store: TextStore, parts: DocumentChunks, rows: list[list[int]]) -> TextBatch:
    """The windows of these rows of parts."""
    places, numbers = places_of_rows(parts, rows)
    return windows_at(store, places, numbers)


def places_of_rows(parts: DocumentChunks, rows: list[list[int]]) -> tuple[Indices, Indices]:
    """The indices of the tokens of these rows, and the numbers of their parts; -1 is padding."""
    width = max(int(parts.lengths[row].sum()) for row in rows)
    places = np.full((len(rows), width), -1, dtype=np.int64)
    numbers = np.full((len(rows), width), -1, dtype=np.int64)
    for index, row in enumerate(rows):
        end = 0
        for number, part in enumerate(row):
            start, length = int(parts.starts[part]), int(parts.lengths[part])
            places[index, end : end + length] = np.arange(start, start + length)
            numbers[index, end : end + length] = number
            end += length
    return places, numbers


class PackCursor(TypedDict):
    """The position of a stream of packed windows: the epoch, and its number of updates."""

    plan: str
    epoch: int
    update: int


class PackedWindows(PlannedUpdates[TextBatch]):
    """Updates with every document once per epoch, in a new order.

    Args:
        rows: rows of an update, and of a micro-batch. An epoch is divided evenly, so an update may
            have a few more or less.
        alike: whether all batches have one shape (`one_shape`).
    """

    def __init__(
        self,
        store: TextStore,
        context: int,
        rows: tuple[int, int],
        seed: int,
        *,
        alike: bool = False,
    ) -> None:
        self._store, self._context, self._rows, self._seed = store, context, rows, seed
        self._parts = DocumentChunks.of(store, context)
        # twice the average number of parts, so that a row is seldom closed before it is full
        usual = -(-2 * context * len(self._parts) // int(self._parts.lengths.sum()))
        self._most = min(context, usual + 2) if alike else None
        self._plan = f"text {store.key}, packed to {context}, {rows[0]} at once, seed {seed}"
        if self._most is not None:
            self._plan += f", {self._most} parts a row"
        self._epoch, self._update = 0, 0
        self._packed: list[list[list[int]]] | None = None

    def planned(self) -> list[Planned[TextBatch]]:
        if self._packed is None:
            self._packed = self._plan_epoch()
        rows = self._packed[self._update]
        self._update += 1
        if self._update == len(self._packed):
            self._epoch, self._update, self._packed = self._epoch + 1, 0, None
        at_once = self._rows[1]
        parts = [rows[first : first + at_once] for first in range(0, len(rows), at_once)]
        return [Planned(self._work(len(part)), partial(self._batch, part)) for part in parts]

    def _work(self, rows: int) -> int:
        return (rows if self._most is None else self._rows[1]) * self._context

    def _batch(self, rows: list[list[int]]) -> TextBatch:
        places, numbers = places_of_rows(self._parts, rows)
        batch = windows_at(self._store, places, numbers)
        if self._most is None:
            return batch
        return one_shape(batch, numbers, self._rows[1], self._context, self._most + 1)

    def _plan_epoch(self) -> list[list[list[int]]]:
        random = np.random.default_rng((self._seed, self._epoch))
        order = random.permutation(len(self._parts))
        rows = pack(self._parts.lengths, order, self._context, self._most)
        mixed = [rows[index] for index in random.permutation(len(rows))]
        updates = max(1, round(len(rows) / self._rows[0]))
        bounds = [index * len(rows) // updates for index in range(updates + 1)]
        return [mixed[first:end] for first, end in pairwise(bounds)]

    @property
    def epoch_steps(self) -> float:
        """The updates whose rows hold as many tokens as the documents."""
        return float(self._parts.lengths.sum()) / (self._rows[0] * self._context)

    @property
    def cursor(self) -> PackCursor:
        return PackCursor(plan=self._plan, epoch=self._epoch, update=self._update)

    def restore(self, cursor: PackCursor) -> None:
        """Raises DataError for a cursor of other text, other sizes or another seed."""
        check_plan(cursor["plan"], self._plan)
        self._epoch, self._update, self._packed = cursor["epoch"], cursor["update"], None


def reading_batches(store: TextStore, context: int, rows: int) -> Iterator[TextBatch]:
    """Every document once, in parts of at most `context` tokens, for validation."""
    parts = DocumentChunks.of(store, context)
    packed = pack(parts.lengths, np.arange(len(parts)), context)
    for first in range(0, len(packed), rows):
        yield windows_of_rows(store, parts, packed[first : first + rows])
