"""Masks that say what they are: what a query may attend to, drawn only by those who need a matrix.

    causal      itself and what comes before                    j <= i
    window      the nearest positions                           i - j < window, j - i < window
    real        the keys that are no padding
    documents   the keys of the query's own document, where several share a row
    matrix      anything else, drawn by the caller

A query may attend to a key that all of these permit. The last query is at the last key: with a past
the keys begin earlier than the queries.

Causal masks, windows and documents leave each query one *range* of adjacent keys, which the C
kernel reads; the fused kernels of GPUs get the kind of mask (`attention/fused.py`); the readable
twin draws the matrix.

Source: windows: Beltagy et al. 2020 (Longformer), section 3.1; their size counts the query itself,
as in Jiang et al. 2023 (Mistral), section 2. Documents: Krell et al. 2021.
"""

from dataclasses import dataclass, field, replace

import torch

from jumok.shapes import Bool, Int, Tensor

Ranges = Int[Tensor, "#batch query 2"]
"""The first key that a query may attend to, and the end of its keys; int32."""

Drawn = Bool[Tensor, "#batch #heads #query #key"]
"""True where a query may attend to a key."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Which positions of a row belong together: several documents share one.

    Attributes:
        numbers: of each position the number of its document, whose positions are adjacent.
        offsets: where each document begins, counted over all rows one after another, in the order
            of `numbers`, which are then indices into it; at the end, as often as it takes, the
            number of all positions. It has the same length for all batches. None: documents are
            told apart by their numbers alone.
        longest: no document has more positions; None: not known.
    """

    numbers: Int[Tensor, "batch length"]
    offsets: Int[Tensor, " slots"] | None = None
    longest: int | None = None

    def limits(self) -> tuple[Int[Tensor, "batch length"], Int[Tensor, "batch length"]]:
        """Where the document of each position begins in its row, and where it ends."""
        numbers = self.numbers
        index = torch.arange(numbers.shape[1], device=numbers.device).expand_as(numbers)
        change = numbers[:, 1:] != numbers[:, :-1]
        border = torch.ones_like(numbers[:, :1], dtype=torch.bool)
        starts, stops = torch.cat([border, change], 1), torch.cat([change, border], 1)
        first = index.where(starts, 0).cummax(1).values
        last = index.where(stops, numbers.shape[1]).flip(1).cummin(1).values.flip(1)
        return first, last + 1

    def indexes(self) -> Int[Tensor, "batch length"]:
        """Each position inside of its own document: 0 0 0 1 1 becomes 0 1 2 0 1."""
        index = torch.arange(self.numbers.shape[1], device=self.numbers.device)
        return index - self.limits()[0]

    def lengths(self) -> Int[Tensor, "batch length"]:
        """The number of positions of each position's document."""
        first, end = self.limits()
        return end - first

    def repeated(self, times: int) -> "Documents":
        """The rows of a batch that is repeated."""
        numbers, offsets = self.numbers, self.offsets
        if offsets is None:
            return replace(self, numbers=numbers.repeat(times, 1))
        slots = torch.arange(times, device=numbers.device)[:, None]
        starts = (offsets[:-1] + slots * numbers.numel()).flatten()
        end = offsets[-1:] * times
        more = (numbers + slots[:, :, None] * (len(offsets) - 1)).flatten(0, 1)
        return replace(self, numbers=more, offsets=torch.cat([starts, end]).to(offsets.dtype))


@dataclass(frozen=True, eq=False)
class AttentionMask:
    """What the queries of an attention may attend to.

    Attributes:
        causal: not to later positions.
        window: the number of positions, the query's own counted, that it sees to its left, and to
            its right if the mask is not causal; None: no limit.
        real: True where a key is real; None where all are.
        documents: those of the queries; a query sees the keys of its own document only. None: a row
            is one document.
        key_documents: those of the keys, with offsets, where the keys are of other positions than
            the queries: the source, for the target. None: those of the queries.
        matrix: True where a query may attend to a key; None: everywhere.
        copies: the queries are those of so many heads, one after another (`folded`).
    """

    causal: bool = False
    window: int | None = None
    real: Bool[Tensor, "#batch key"] | None = None
    documents: Documents | None = None
    key_documents: Documents | None = None
    matrix: Drawn | None = None
    copies: int = 1
    _known: dict[object, object] = field(default_factory=dict, repr=False)

    def within(self, window: int | None) -> "AttentionMask":
        """This mask with a window. The layers that ask for the same one share it."""
        if window is None:
            return self
        narrower = self._known.get(window)
        if not isinstance(narrower, AttentionMask):
            nearer = window if self.window is None else min(window, self.window)
            narrower = replace(self, window=nearer, _known={})
            self._known[window] = narrower
        return narrower

    def folded(self, heads: int, shared: int) -> "AttentionMask":
        """The mask of the queries of `heads` heads as those of `shared` heads, one after another.

        A matrix that is the same for all queries and heads serves them as it is.
        """
        copies, matrix = heads // shared, self.matrix
        if matrix is not None and matrix.shape[1:3] != (1, 1):
            rows = matrix.expand(-1, copies if matrix.shape[1] == 1 else heads, -1, -1)
            matrix = rows.reshape(rows.shape[0], -1, copies * rows.shape[2], rows.shape[3])
        return replace(self, matrix=matrix, copies=copies * self.copies, _known={})

    def first_key(self, queries: int, keys: int) -> int:
        """The first key that any query may see by the window."""
        return 0 if self.window is None else max(0, keys - queries // self.copies - self.window + 1)

    def after(self, first: int, queries: int) -> "AttentionMask | None":
        """The mask of the keys from `first_key` on: a single query, the last one, sees all of these
        that are real; None: without exception.
        """
        real = None if self.real is None else self.real[:, first:]
        matrix = None if self.matrix is None else self.matrix[..., first:]
        if queries > 1 or self.documents is not None:
            return replace(self, real=real, matrix=matrix, _known={})
        if real is None and matrix is None:
            return None
        return AttentionMask(real=real, matrix=matrix)

    @property
    def has_ranges(self) -> bool:
        """Whether queries may see different ranges of the keys."""
        return self.causal or self.window is not None or self.documents is not None

    def ranges(self, queries: int, keys: int, device: torch.device) -> Ranges | None:
        """The range of keys of each query, by all but `real` and `matrix`; None: all keys."""
        if not self.has_ranges:
            return None
        known = self._known.get((queries, keys, device))
        if not isinstance(known, Tensor):
            once = self._ranges(queries // self.copies, keys, device)
            known = once.repeat(1, self.copies, 1)
            self._known[queries, keys, device] = known
        return known

    def _ranges(self, queries: int, keys: int, device: torch.device) -> Ranges:
        here = torch.arange(keys - queries, keys, device=device)[None]
        first, end = torch.zeros_like(here), torch.full_like(here, keys)
        if self.causal:
            end = here + 1
        if self.window is not None:
            first = here - self.window + 1
            end = torch.minimum(end, here + self.window)
        if self.documents is not None:
            begins, ends = self._documents_of_keys(queries, keys)
            first, end = torch.maximum(first, begins), torch.minimum(end, ends)
        limits = torch.stack((first, torch.maximum(first, end)), -1)
        return limits.clamp(0, keys).to(torch.int32)

    def _documents_of_keys(self, queries: int, keys: int) -> tuple[Tensor, Tensor]:
        """Where the keys of each query's document begin in the row, and where they end."""
        assert self.documents is not None
        if self.key_documents is None:
            assert queries == keys, "documents with a past"
            return self.documents.limits()
        numbers, offsets = self.documents.numbers, self.key_documents.offsets
        assert offsets is not None
        rows = torch.arange(numbers.shape[0], device=numbers.device)[:, None] * keys
        return offsets[numbers] - rows, offsets[numbers + 1] - rows

    def forbidden_keys(self) -> Drawn | None:
        """What ranges do not say: `real` and `matrix`, with one row for all queries if it does."""
        real = None if self.real is None else self.real[:, None, None]
        if self.matrix is None or real is None:
            return real if self.matrix is None else self.matrix
        return self.matrix & real

    def draw(self, queries: int, keys: int, device: torch.device) -> Drawn:
        """The matrix; one row where all queries may see the same keys.

        Drawn by the definitions of the parts, and not from `ranges`, whose twin it is.
        """
        of_queries = queries // self.copies
        here = torch.arange(keys - of_queries, keys, device=device)[:, None]
        there = torch.arange(keys, device=device)
        drawn = torch.ones(1, 1, 1, keys, dtype=torch.bool, device=device)
        if self.causal:
            drawn = drawn & (there <= here)
        if self.window is not None:
            drawn = drawn & ((here - there).abs() < self.window)
        if self.documents is not None:
            of_rows = self.documents.numbers
            of_keys = of_rows if self.key_documents is None else self.key_documents.numbers
            drawn = drawn & (of_rows[:, :, None] == of_keys[:, None, :])[:, None]
        if drawn.shape[2] > 1:
            drawn = drawn.repeat(1, 1, self.copies, 1)
        others = self.forbidden_keys()
        return drawn if others is None else drawn & others


def mask_of_keys(real: Bool[Tensor, "batch key"] | None) -> AttentionMask | None:
    """The mask where some keys are padding; None: all are real."""
    return None if real is None else AttentionMask(real=real)
