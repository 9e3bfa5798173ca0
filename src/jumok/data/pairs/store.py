"""Pairs as token ids on disk: created once, memory-mapped, and found by a hash of their content.

A store is a folder: `source.values` and `target.values` hold the ids of all sentences one after
another (uint16, or uint32 for a vocabulary beyond 65,536), `*.ends` where each sentence ends
(int64), `*_text.*` their bytes if texts are kept, and `store.json` the dtypes and the report. START
and END are not stored.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import compress
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from jumok.data.cache import cached_folder, digest, opened
from jumok.data.flat import Flat, FlatWriter, Lengths, StoredSequences, map_flat
from jumok.data.pairs.blocks import PairLengths, StoredLengths
from jumok.data.pairs.columns import PairColumns, columns_of
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.rows import spread
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Place
from jumok.json_types import JsonObject

VERSION = 2
CHUNK = 20_000  # pairs encoded at once: long enough for two threads, small in memory
SIDES = ("source", "target")


@dataclass(frozen=True)
class Filters:
    """Decides which pairs are left out. A pair with an empty side always is.

    Attributes:
        max_tokens: the maximum length of either side in tokens; None: no limit.
        max_ratio: the maximum ratio of the longer side to the shorter, in tokens; None: no limit.
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
        """The source and target texts of these pairs, if they were kept."""
        ...

    def sample(self, count: int) -> Sequence[int]:
        """At most `count` rows, about evenly spaced, because corpora are often sorted by kind."""
        ...


@dataclass(frozen=True)
class PairStore:
    """A prepared corpus.

    Attributes:
        key: names the content.
        source, target: the ids of every sentence.
        source_text, target_text: the bytes of every sentence; None unless texts were kept.
        report: the lines read, corrected and left out.
    """

    folder: Path
    key: str
    source: Flat
    target: Flat
    source_text: Flat | None
    target_text: Flat | None
    report: CorpusReport

    def __len__(self) -> int:
        return len(self.source.lengths)

    @property
    def lengths(self) -> StoredLengths:
        """Those of all pairs."""
        return StoredLengths(self.source.lengths, self.target.lengths)

    def sample(self, count: int) -> Sequence[int]:
        return spread(range(len(self)), count)

    def texts(self, rows: Iterable[int]) -> tuple[list[str], list[str]]:
        """The source and target texts of these pairs.

        Raises:
            DataError: the store was created without texts.
        """
        if self.source_text is None or self.target_text is None:
            raise DataError(
                "this prepared corpus contains no texts.",
                do="prepare it with keep_texts=True",
                place=Place(self.folder),
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
        cache: the folder of the stores; created if it is missing.
        keep_texts: keep the sentences too, for subword sampling.
        threads: the number of threads that encode.
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
    """As `prepare`, for any stream of pairs; `identity` (JSON) must change whenever the pairs
    change.
    """
    described = [VERSION, identity, source.hash, target.hash, asdict(filters), keep_texts]

    def fill(folder: Path) -> dict[str, object]:
        encoder = PairEncoder((source, target), filters, keep_texts, threads)
        encoder.write(folder, columns_of(pairs, CHUNK), report, progress)
        if report.kept == 0:
            raise DataError("no pair is left after the filters.", got=str(report))
        return {"texts": keep_texts, "report": report.to_json()}

    return open_store(cached_folder(cache, described, fill), (source.size, target.size))


def open_store(folder: Path, sizes: tuple[int, int]) -> PairStore:
    """The store in this folder, mapped into memory.

    Args:
        sizes: of the two vocabularies: every id is below the size of its side.

    Raises:
        DataError: a file is missing or changed, or has unexpected contents.
    """
    with opened(folder, "corpus is", "corpus") as about:
        return map_pairs(folder, about, sizes)


def map_pairs(folder: Path, about: JsonObject, sizes: tuple[int, int]) -> PairStore:
    """The store in this folder, whose files were checked.

    Args:
        about: of its `store.json`.
        sizes: of the two vocabularies: every id is below the size of its side.

    Raises:
        ValueError, LookupError, OSError: a file has unexpected contents, or cannot be read.
    """
    limits = dict(zip(SIDES, sizes, strict=True))
    flat = {
        name: map_flat(folder, name, np.dtype(kind), limits.get(name, 256))
        for name, kind in _kinds(sizes, about["texts"]).items()
    }
    report = CorpusReport.from_json(about["report"])
    if len({len(each.ends) for each in flat.values()}) != 1:
        raise ValueError("the sides have different numbers of sentences")
    return PairStore(
        folder,
        folder.name,
        flat["source"],
        flat["target"],
        flat.get("source_text"),
        flat.get("target_text"),
        report,
    )


def _kinds(sizes: tuple[int, int], texts: bool) -> dict[str, str]:
    """The numpy type of each `Flat` of the store, by its name."""
    kinds = {
        name: "uint16" if size <= 1 << 16 else "uint32"
        for name, size in zip(SIDES, sizes, strict=True)
    }
    return kinds | {f"{name}_text": "uint8" for name in SIDES if texts}


@dataclass(frozen=True)
class PairEncoder:
    """Writes the ids of pairs, and their texts if they are kept, into the files of a store."""

    tokenizers: tuple[Tokenizer, Tokenizer]
    filters: Filters
    keep_texts: bool
    threads: int

    def write(
        self,
        folder: Path,
        chunks: Iterable[PairColumns],
        report: CorpusReport,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[FlatWriter, FlatWriter]:
        """Writes all files but `store.json`; returns the closed writers of both sides.

        Args:
            chunks: of CHUNK pairs each, but for the last one.
            report: counts what is read, kept and left out.
            progress: called after each chunk of pairs with the number of those read so far.
        """
        source, target = self.tokenizers
        kinds = _kinds((source.size, target.size), self.keep_texts)
        with ExitStack() as stack:
            writers = [
                stack.enter_context(FlatWriter(folder, name, np.dtype(kind)))
                for name, kind in kinds.items()
            ]
            for chunk in chunks:
                self._append(chunk, writers[:2], writers[2:], report)
                if progress:
                    progress(report.read)
        return writers[0], writers[1]

    def _append(
        self,
        chunk: PairColumns,
        ids: list[FlatWriter],
        texts: list[FlatWriter],
        report: CorpusReport,
    ) -> None:
        sides = chunk.sources, chunk.targets
        encoded = [
            tokenizer.encode_flat(side, self.threads)
            for tokenizer, side in zip(self.tokenizers, sides, strict=True)
        ]
        keep = _keep(encoded[0][1], encoded[1][1], chunk.lines, self.filters, report)
        report.read += len(chunk)
        report.kept += int(keep.sum())
        for writer, (values, lengths) in zip(ids, encoded, strict=True):
            writer.append(values[np.repeat(keep, lengths)], lengths[keep])
        for writer, side in zip(texts, sides, strict=False):
            kept = [text.encode() for text in compress(side, keep)]
            lengths = np.array([len(text) for text in kept], dtype=np.int64)
            writer.append(np.frombuffer(b"".join(kept), dtype=np.uint8), lengths)


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
