"""Pairs as token ids on disk: created once, and memory-mapped (`jumok.data.store`).

The columns are `source` and `target`, the ids of all sentences without START and END, and
`source_text` and `target_text`, their UTF-8, if texts are kept.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.data.pairs.blocks import PairLengths, StoredLengths
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair, PairColumns, columns_of
from jumok.data.pairs.rows import spread
from jumok.data.report import CorpusReport
from jumok.data.store import (
    Lengths,
    Ragged,
    Store,
    StoredSequences,
    StoreWriter,
    cached_store,
    digest,
    id_type,
)
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location

CHUNK = 20_000  # pairs encoded at once: long enough for two threads, small in memory
SIDES = ("source", "target")


@dataclass(frozen=True)
class Filters:
    """Which pairs are left out, besides those with an empty side.

    Attributes:
        max_tokens: of either side; None: no limit.
        max_ratio: of the longer side to the shorter, in tokens; None: no limit.
    """

    max_tokens: int | None = 250
    max_ratio: float | None = None


@runtime_checkable
class PairCorpus(Protocol):
    """Pairs as token ids: in one store, or in shards."""

    @property
    def key(self) -> str:
        """Names the content."""
        ...

    @property
    def source(self) -> StoredSequences: ...

    @property
    def target(self) -> StoredSequences: ...

    @property
    def report(self) -> CorpusReport:
        """The lines read, corrected and left out."""
        ...

    @property
    def lengths(self) -> PairLengths: ...

    def __len__(self) -> int: ...

    def texts(self, rows: Iterable[int]) -> tuple[list[str], list[str]]:
        """The texts of both sides, if they were kept."""
        ...

    def sample(self, count: int) -> Sequence[int]:
        """At most `count` rows, about evenly spaced, because corpora are often sorted by kind."""
        ...


@dataclass(frozen=True)
class PairStore:
    """A prepared corpus; the texts are None unless they were kept."""

    file: Path
    key: str
    source: Ragged
    target: Ragged
    source_text: Ragged | None
    target_text: Ragged | None
    report: CorpusReport

    @classmethod
    def of(cls, store: Store, sizes: tuple[int, int]) -> "PairStore":
        """The pairs in a store.

        Args:
            sizes: of the two vocabularies: every id is below the size of its side.

        Raises:
            ValueError, LookupError, TypeError: the store has unexpected contents.
        """
        columns = {
            name: store.sequences(name, size) for name, size in zip(SIDES, sizes, strict=True)
        }
        texts = [f"{name}_text" for name in SIDES if store.about["texts"]]
        columns |= {name: store.sequences(name, 256) for name in texts}
        if len({len(column) for column in columns.values()}) != 1:
            raise ValueError("the sides have different numbers of sentences")
        return cls(
            store.file,
            store.key,
            columns["source"],
            columns["target"],
            columns.get("source_text"),
            columns.get("target_text"),
            CorpusReport.from_json(store.about["report"]),
        )

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> StoredLengths:
        return StoredLengths(self.source, self.target)

    def sample(self, count: int) -> Sequence[int]:
        return spread(range(len(self)), count)

    def texts(self, rows: Iterable[int]) -> tuple[list[str], list[str]]:
        """Raises DataError if the store was created without texts."""
        if self.source_text is None or self.target_text is None:
            raise DataError(
                "this prepared corpus contains no texts.",
                do="prepare it with keep_texts=True",
                place=Location(self.file),
            )
        chosen = list(rows)
        sources = [self.source_text[row].tobytes().decode() for row in chosen]
        return sources, [self.target_text[row].tobytes().decode() for row in chosen]


def prepare(
    corpus: Corpus,
    source: Tokenizer,
    target: Tokenizer,
    cache: Path,
    filters: Filters = Filters(),
    *,
    keep_texts: bool = False,
    threads: int = 2,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """The corpus as token ids, from the cache if the same content was prepared before.

    Args:
        source, target: the tokenizers of the two sides; the same one for a joint vocabulary.
        keep_texts: keep the sentences too, for subword sampling.
        progress: called from time to time with the number of pairs read so far.

    Raises:
        DataError: what `read_pairs` raises; no pair is left; the cache cannot be written.
    """
    identity = {
        "files": [digest(path) for path in corpus.files],
        "columns": [corpus.source_column, corpus.target_column],
        "format": corpus.format,
        "suffixes": [path.suffixes for path in corpus.files],
        "skip_damaged": corpus.skip_damaged,
        "read_as": [corpus.encoding, corpus.delimiter],
        "left": digest_of_left(corpus),
    }
    report = corpus.report()
    pairs = read_pairs(corpus, report)
    return prepare_pairs(
        pairs, identity, source, target, cache, filters,
        report=report, keep_texts=keep_texts, threads=threads, progress=progress,
    )  # fmt: skip


def digest_of_left(corpus: Corpus) -> str | None:
    """The SHA-256 of which pairs of a corpus are read; None: all."""
    if corpus.left is None:
        return None
    return hashlib.sha256(np.packbits(corpus.left).tobytes()).hexdigest()


def prepare_pairs(
    pairs: Iterable[Pair],
    identity: object,
    source: Tokenizer,
    target: Tokenizer,
    cache: Path,
    filters: Filters = Filters(),
    *,
    report: CorpusReport,
    keep_texts: bool = False,
    threads: int = 2,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """As `prepare`, for any stream of pairs; `identity` is JSON that changes with the pairs."""
    described = ["pairs", identity, source.hash, target.hash, asdict(filters), keep_texts]
    encoder = PairEncoder((source, target), filters, keep_texts, threads)

    def fill(writer: StoreWriter) -> Mapping[str, object]:
        encoder.write(writer, columns_of(pairs, CHUNK), report, progress)
        if report.kept == 0:
            raise DataError("no pair is left after the filters.", got=str(report))
        return {"texts": keep_texts, "report": report.to_json()}

    with cached_store(cache, described, fill) as store:
        return PairStore.of(store, (source.size, target.size))


@dataclass(frozen=True)
class PairEncoder:
    """Writes the ids of pairs, and their texts if they are kept, into a store."""

    tokenizers: tuple[Tokenizer, Tokenizer]
    filters: Filters
    keep_texts: bool
    threads: int

    def write(
        self,
        writer: StoreWriter,
        chunks: Iterable[PairColumns],
        report: CorpusReport,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Writes all columns.

        Args:
            chunks: of CHUNK pairs each, but for the last one.
            progress: called after each chunk with the number of pairs read so far.
        """
        for chunk in chunks:
            self._append(chunk, writer, report)
            if progress:
                progress(report.read)

    def _append(self, chunk: PairColumns, writer: StoreWriter, report: CorpusReport) -> None:
        sides = chunk.sources, chunk.targets
        encoded = [
            tokenizer.encode_flat(side, self.threads)
            for tokenizer, side in zip(self.tokenizers, sides, strict=True)
        ]
        keep = _keep(encoded[0][1], encoded[1][1], chunk.lines, self.filters, report)
        report.read += len(chunk)
        report.kept += int(keep.sum())
        both = zip(SIDES, self.tokenizers, sides, encoded, strict=True)
        for name, tokenizer, side, (values, lengths) in both:
            ids = values[np.repeat(keep, lengths)]
            writer.add_sequences(name, ids.astype(id_type(tokenizer.size)), lengths[keep])
            if self.keep_texts:
                kept = [text.encode() for text in compress(side, keep)]
                sizes = np.array([len(text) for text in kept], dtype=np.int64)
                joined = np.frombuffer(b"".join(kept), dtype=np.uint8)
                writer.add_sequences(f"{name}_text", joined, sizes)


def _keep(
    source: Lengths,
    target: Lengths,
    lines: npt.NDArray[np.int64],
    filters: Filters,
    report: CorpusReport,
) -> npt.NDArray[np.bool_]:
    """The pairs that pass; each of the others is reported with the first reason that applies."""
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    reasons = {"one side empty": shorter == 0}
    if filters.max_tokens is not None:
        reasons[f"longer than {filters.max_tokens} tokens"] = longer > filters.max_tokens
    if filters.max_ratio is not None:
        reasons[f"one side more than {filters.max_ratio:g} times the other"] = (
            longer > filters.max_ratio * shorter
        )
    keep = np.ones(len(source), dtype=np.bool_)
    for reason, meets in reasons.items():
        report.drop(reason, lines[keep & meets].tolist())
        keep &= ~meets
    return keep
