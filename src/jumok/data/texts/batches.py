"""Texts as tensors: masked, with labels, or unchanged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from jumok.data.pairs.batches import Updates, fill, framed, gather, places_of
from jumok.data.pairs.blocks import StoredLengths
from jumok.data.pairs.rows import batched_rows
from jumok.data.pairs.sampler import PairSampler, plan_epoch
from jumok.data.store import Rows
from jumok.data.texts.examples import ExampleStore
from jumok.data.texts.masking import Masking
from jumok.shapes import Bool, Int, Tensor


@dataclass(frozen=True)
class MaskedBatch:
    """Masked texts.

    Attributes:
        tokens: START, tokens, END, padded with PAD; the chosen tokens are corrupted.
        allowed: True where a position is a token; None: everywhere.
        chosen: True where a token is masked.
        answers: the original tokens there, row by row.
        sources: the number of tokens.
    """

    tokens: Int[Tensor, "batch length"]
    allowed: Bool[Tensor, "batch length"] | None
    chosen: Bool[Tensor, "batch length"]
    answers: Int[Tensor, " chosen"]
    sources: int

    @cached_property
    def places(self) -> Int[Tensor, " chosen"]:
        return places_of(self.chosen)

    @property
    def targets(self) -> int:
        return len(self.answers)

    @property
    def work(self) -> int:
        return self.tokens.numel()


@dataclass(frozen=True)
class LabelledBatch:
    """Texts and the numbers of their labels; otherwise as `MaskedBatch`."""

    tokens: Int[Tensor, "batch length"]
    allowed: Bool[Tensor, "batch length"] | None
    labels: Int[Tensor, " batch"]
    sources: int

    @property
    def targets(self) -> int:
        return len(self.labels)

    @property
    def work(self) -> int:
        return self.tokens.numel()


def text_sampler(
    store: ExampleStore, update_tokens: int, micro_tokens: int, seed: int, shares: int = 1
) -> PairSampler:
    """Batches of texts of similar length, so that almost nothing is padded."""
    lengths = StoredLengths(store.texts, store.texts)
    return PairSampler(
        [lengths], None, update_tokens, micro_tokens, seed, identity=store.key, shares=shares
    )


class MaskedUpdates(Updates[MaskedBatch]):
    """Updates of masked texts; each time a text is seen, other words are masked."""

    def __init__(
        self, store: ExampleStore, sampler: PairSampler, masking: Masking, seed: int
    ) -> None:
        super().__init__(sampler)
        self._store, self._masking, self._seed = store, masking, seed

    def _work(self, corpus: int, rows: Rows) -> int:
        del corpus
        return _positions(self._store, rows)

    def _batch(self, place: tuple[int, int], corpus: int, rows: Rows) -> MaskedBatch:
        del corpus
        # Seeded by its place, so that a resumed stream gives the same samples, in any process.
        random = np.random.default_rng((self._seed, *place))
        return masked_batch(*gather(self._store.texts, rows), self._masking, random)


class LabelledUpdates(Updates[LabelledBatch]):
    """Updates of labelled texts."""

    def __init__(self, store: ExampleStore, sampler: PairSampler) -> None:
        super().__init__(sampler)
        self._store = store

    def _work(self, corpus: int, rows: Rows) -> int:
        del corpus
        return _positions(self._store, rows)

    def _batch(self, place: tuple[int, int], corpus: int, rows: Rows) -> LabelledBatch:
        del place, corpus
        return labelled_batch(self._store, rows)


def _positions(store: ExampleStore, rows: Rows) -> int:
    """The positions of a batch of these texts, with START, END and padding."""
    return len(rows) * (int(store.texts.lengths_of(rows).max()) + 2)


def masked_batch(
    ids: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    masking: Masking,
    random: np.random.Generator,
) -> MaskedBatch:
    """Masks texts (padded with PAD, without START and END)."""
    chosen = np.zeros_like(ids, dtype=np.bool_)
    for row, length in enumerate(lengths):
        chosen[row, :length] = masking.choose(ids[row, :length], random)
    answers = ids[chosen]
    corrupted = ids.copy()
    corrupted[chosen] = masking.corrupt(answers, random)
    tokens, allowed = framed(corrupted, lengths)
    return MaskedBatch(
        tokens,
        allowed,
        torch.from_numpy(np.pad(chosen, ((0, 0), (1, 1)))),
        torch.from_numpy(answers),
        int(lengths.sum()) + 2 * len(lengths),
    )


def labelled_batch(store: ExampleStore, rows: Rows) -> LabelledBatch:
    """The texts in these rows of a store that has labels."""
    assert store.labels is not None
    ids, lengths = gather(store.texts, rows)
    tokens, allowed = framed(ids, lengths)
    labels = torch.from_numpy(store.labels[rows])
    return LabelledBatch(tokens, allowed, labels, int(lengths.sum()) + 2 * len(lengths))


def every_text(store: ExampleStore, tokens: int) -> Iterator[Rows]:
    """The rows of every text once, in batches of similar length and of about `tokens` tokens."""
    lengths = store.texts.lengths().astype(np.int32)
    return plan_epoch(lengths, lengths, tokens, np.random.default_rng(0)).unshuffled()


def fixed_masked_batches(
    store: ExampleStore, tokens: int, masking: Masking
) -> Iterator[MaskedBatch]:
    """Every text once, always with the same mask."""
    random = np.random.default_rng(0)
    for rows in every_text(store, tokens):
        yield masked_batch(*gather(store.texts, rows), masking, random)


def plain_batches(
    ids: Sequence[Sequence[int]], texts: int
) -> Iterator[tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"] | None, list[int]]]:
    """START, tokens and END of at most `texts` texts at once, the longest first.

    Yields the tokens, which positions are tokens (None: all), and the texts' indices in `ids`.
    """
    for rows in batched_rows(ids, texts):
        tokens, allowed = framed(*fill([ids[row] for row in rows]))
        yield tokens, allowed, rows


def batches_of_guesses(
    ids: Sequence[Sequence[int]], texts: int, masking: Masking
) -> Iterator[MaskedBatch]:
    """Every text once, at most `texts` at once, always with the same mask."""
    random = np.random.default_rng(0)
    for rows in batched_rows(ids, texts):
        yield masked_batch(*fill([ids[row] for row in rows]), masking, random)
