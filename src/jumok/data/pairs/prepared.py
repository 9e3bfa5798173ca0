"""A prepared corpus: its shards as one corpus, each opened when it is first needed."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from threading import RLock
from typing import Literal

import numpy as np

from jumok.data.files.manifest import (
    MANIFEST,
    TOKENIZER,
    VALIDATION,
    Manifest,
    ShardRecord,
    parse_manifest,
)
from jumok.data.files.remote import CorpusFiles, corpus_files
from jumok.data.pairs.blocks import Lengths
from jumok.data.pairs.rows import spread
from jumok.data.pairs.store import PairStore
from jumok.data.report import CorpusReport
from jumok.data.store import Ids, Ragged, Rows, read_store
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location

OPEN = 256  # shards: each is an open file, of which systems allow a process 1,024 and more
SAMPLED = 8  # shards that examples are taken from: all of them may be far away


class ShardedPairs:
    """A prepared corpus, in a folder or at an address, as a `PairCorpus` of any size.

    Args:
        cache: the folder for copies of what is at an address.

    Attributes:
        tokenizer: that of all shards.
        validation: a table of pairs (source, target) that are in no shard; None: there is none.
        shards: the number of pairs in each.

    Raises:
        DataError: there is no corpus, or a file is missing, cut or changed. What is only known when
            a shard is opened is raised then.
        MissingExtraError: a package that reads the address is not installed.
    """

    def __init__(self, where: str, cache: Path) -> None:
        self._files: CorpusFiles = corpus_files(where, cache)
        content, self._place = self._files.manifest()
        self.manifest: Manifest = parse_manifest(content, self._place)
        self._files.check(self.manifest)
        records = self.manifest.files
        self.tokenizer = Tokenizer.load(self._files.file(TOKENIZER, records[TOKENIZER]))
        if self.tokenizer.size != self.manifest.vocabulary:
            raise DataError(
                "the manifest's tokenizer has another number of subwords.",
                expected=f"{self.manifest.vocabulary:,} subwords, according to {MANIFEST}",
                got=f"{self.tokenizer.size:,}",
                do="prepare the corpus again: jumok prepare",
                place=self._place,
            )
        known = records.get(VALIDATION)
        self.validation = None if known is None else self._files.file(VALIDATION, known)
        self.key = self.manifest.identity
        self.report = CorpusReport.from_json(self.manifest.report)
        self.source, self.target = _ShardedSide(self, "source"), _ShardedSide(self, "target")
        self.shards = [shard.pairs for shard in self.manifest.shards]
        self._firsts = list(accumulate(self.shards, initial=0))
        self._first_rows = np.array(self._firsts)
        self._opened: OrderedDict[int, PairStore] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return self._firsts[-1]

    @property
    def lengths(self) -> "ShardedPairs":
        return self

    @property
    def source_tokens(self) -> int:
        return sum(shard.source_tokens for shard in self.manifest.shards)

    @property
    def longest(self) -> int:
        return self.manifest.longest

    @property
    def target_tokens(self) -> int:
        return sum(shard.target_tokens for shard in self.manifest.shards)

    def expect(self, stretches: Iterable[tuple[int, int]]) -> None:
        numbers = {n for first, end in stretches for n, _, _ in self._within(first, end)}
        self._files.expect([self.manifest.shards[number] for number in sorted(numbers)])

    def read(self, first: int, end: int) -> tuple[Lengths, Lengths]:
        parts = [self.store(n).lengths.read(a, b) for n, a, b in self._within(first, end)]
        source, target = zip(*parts, strict=True)
        return np.concatenate(source), np.concatenate(target)

    def texts(self, rows: Iterable[int]) -> tuple[list[str], list[str]]:
        """Raises DataError if the corpus was prepared without texts."""
        sources, targets = [], []
        for row in rows:
            number, own = self.located(row)
            (source,), (target,) = self.store(number).texts([own])
            sources.append(source)
            targets.append(target)
        return sources, targets

    def sample(self, count: int) -> Sequence[int]:
        """At most `count` rows, evenly spaced over a few of the shards."""
        chosen = spread(range(len(self.shards)), SAMPLED)
        ranges = [range(self._firsts[number], self._firsts[number + 1]) for number in chosen]
        rows = [row for shard in ranges for row in spread(shard, -(-count // len(chosen)))]
        return spread(rows, count)

    def located(self, row: int) -> tuple[int, int]:
        """The number of the row's shard, and the row in it."""
        number = bisect_right(self._firsts, row) - 1
        return number, row - self._firsts[number]

    def parts(self, rows: Rows) -> Iterator[tuple[PairStore, Rows, Rows]]:
        """Where these pairs are: the shard, their indices in `rows`, and their rows in it."""
        numbers = np.searchsorted(self._first_rows, rows, side="right") - 1
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield self.store(number), places, rows[places] - self._firsts[number]

    def store(self, number: int) -> PairStore:
        """A shard, opened.

        Raises:
            DataError: a file is missing, cut or changed, or differs from the manifest.
        """
        with self._lock:
            if number not in self._opened:
                self._opened[number] = self._open(self.manifest.shards[number])
            self._opened.move_to_end(number)
            if len(self._opened) > OPEN:
                self._opened.popitem(last=False)
            return self._opened[number]

    def _within(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The shards with the rows from `first` to before `end`: number, and these rows in it."""
        number, start = self.located(first)
        while first < end:
            stop = min(end - self._firsts[number], self.shards[number])
            yield number, start, stop
            first, number, start = self._firsts[number] + stop, number + 1, 0

    def _open(self, record: ShardRecord) -> PairStore:
        file = self._files.file(record.name, record.file)
        size, place = self.tokenizer.size, Location(f"{self._place.file}, {record.name}")
        try:
            stored = read_store(file, verified=True)
            store, written = PairStore.of(stored, (size, size)), str(stored.about["tokenizer"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataError(
                "the shard does not hold what a shard holds.",
                got=f"{type(error).__name__}: {error}",
                do="prepare the corpus again: jumok prepare",
                place=place,
            ) from None
        if written != self.manifest.tokenizer:
            raise DataError(
                "the shard was written with another tokenizer than the manifest's.",
                expected=f"SHA-256 {self.manifest.tokenizer}, according to {MANIFEST}",
                got=f"SHA-256 {written}",
                do="prepare the corpus again: jumok prepare",
                place=place,
            )
        stated = record.pairs, record.source_tokens, record.target_tokens, record.longest
        lengths = store.lengths
        actual = len(store), lengths.source_tokens, lengths.target_tokens, lengths.longest
        if actual != stated:
            raise DataError(
                "the manifest's numbers are not those of the shard.",
                expected=f"{_sizes_text(*stated)}, according to {MANIFEST}",
                got=_sizes_text(*actual),
                do="prepare the corpus again: jumok prepare",
                place=place,
            )
        return store


class _ShardedSide:
    """One side of all shards."""

    def __init__(self, corpus: ShardedPairs, name: Literal["source", "target"]) -> None:
        self._corpus, self._name = corpus, name

    def __getitem__(self, index: int) -> Ids:
        number, row = self._corpus.located(index)
        return self._of(self._corpus.store(number))[row]

    def parts(self, rows: Rows) -> Iterator[tuple[Ragged, Rows, Rows]]:
        for store, places, own in self._corpus.parts(rows):
            yield self._of(store), places, own

    def _of(self, store: PairStore) -> Ragged:
        return store.source if self._name == "source" else store.target


def _sizes_text(pairs: int, source: int, target: int, longest: int) -> str:
    return (
        f"{pairs:,} pairs, {source:,} source and {target:,} target tokens, at most {longest:,} "
        "in a sentence"
    )
