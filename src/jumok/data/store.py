"""Pairs as token ids on disk: made once, mapped into memory, found again by their content.

A store is a folder: `source.ids` and `target.ids` hold the ids of all sentences one after another
(uint16, or uint32 for a vocabulary beyond 65,536), `*.ends` where each sentence ends (int64), and
`store.json` what they are. Neither START nor END is stored.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from jumok.data.corpora import Corpus, Pair, read_pairs
from jumok.data.report import Report
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Place

VERSION = 1
CHUNK = 20_000  # pairs encoded at once: long enough for two threads, small in memory
SIDES = ("source", "target")

Ids = npt.NDArray[np.uint32]
Lengths = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Filters:
    """Which pairs are left out. A pair with an empty side always is.

    Attributes:
        max_tokens: the most pieces either side may have; None is no limit.
        max_ratio: the most the longer side may exceed the shorter, as a quotient of their pieces;
            None is no limit.
    """

    max_tokens: int | None = 250
    max_ratio: float | None = None


@dataclass(frozen=True)
class Side:
    """One side of all pairs: `ids` of sentence i are `ids[ends[i] - lengths[i] : ends[i]]`."""

    ids: npt.NDArray[np.unsignedinteger[Any]]
    ends: Lengths
    lengths: npt.NDArray[np.int32]

    def sentence(self, index: int) -> npt.NDArray[np.unsignedinteger[Any]]:
        end = int(self.ends[index])
        return self.ids[end - int(self.lengths[index]) : end]


@dataclass(frozen=True)
class PairStore:
    """A prepared corpus. `key` names its content; `report` says what was read and left out."""

    folder: Path
    key: str
    source: Side
    target: Side
    report: Report

    def __len__(self) -> int:
        return len(self.source.lengths)


def prepare(
    corpus: Corpus,
    source: Tokenizer,
    target: Tokenizer,
    cache: Path,
    filters: Filters = Filters(),
    *,
    threads: int = 2,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """The corpus as token ids, from the cache if the same content was prepared before.

    Args:
        source, target: the tokenizers of the two sides; the same one for a joint vocabulary.
        cache: the folder that holds stores; made if missing.
        threads: how many encode at once.
        progress: called with the number of pairs read so far, now and then.

    Raises:
        DataError: what `read_pairs` raises; no pair is left; the cache cannot be written.
    """
    identity = {
        "files": [_digest(path) for path in corpus.files],
        "columns": [corpus.source_column, corpus.target_column],
        "format": corpus.format,
        "suffixes": [path.suffixes for path in corpus.files],
    }
    report = Report(corpus.title)
    pairs = read_pairs(corpus, report)
    return prepare_pairs(
        pairs, identity, source, target, cache, filters,
        report=report, threads=threads, progress=progress,
    )  # fmt: skip


def prepare_pairs(
    pairs: Iterable[Pair],
    identity: object,
    source: Tokenizer,
    target: Tokenizer,
    cache: Path,
    filters: Filters = Filters(),
    *,
    report: Report,
    threads: int = 2,
    progress: Callable[[int], None] | None = None,
) -> PairStore:
    """As `prepare`, for any stream of pairs; `identity` (JSON) must change when the pairs would."""
    described = [VERSION, identity, source.hash, target.hash, asdict(filters)]
    key = hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:32]
    folder = cache / key
    if folder.is_dir():
        return open_store(folder)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=cache))
        try:
            writer = _Writer(partial, source, target, filters, report, threads)
            writer.write(pairs, progress)
            _commit(partial, folder, report)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    except OSError as error:
        raise DataError(
            "The prepared corpus cannot be written.",
            got=error.strerror,
            do="free some space, or name another cache folder",
            place=Place(cache),
        ) from None
    return open_store(folder)


def open_store(folder: Path) -> PairStore:
    """The store in this folder, its ids mapped and not read."""
    try:
        described = json.loads((folder / "store.json").read_text("utf-8"))
        source, target = (_map_side(folder, name) for name in SIDES)
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            "The prepared corpus is damaged.",
            got=str(error),
            do="delete this folder; it is made again from the corpus",
            place=Place(folder),
        ) from None
    return PairStore(folder, folder.name, source, target, Report.from_json(described["report"]))


def _map_side(folder: Path, name: str) -> Side:
    ends = np.memmap(folder / f"{name}.ends", dtype=np.int64, mode="r")
    path = folder / f"{name}.ids"
    width = path.stat().st_size // int(ends[-1])
    ids = np.memmap(path, dtype={2: np.uint16, 4: np.uint32}[width], mode="r")
    if len(ids) != ends[-1]:
        raise ValueError(f"{path.name} holds {len(ids)} ids, not {ends[-1]}")
    return Side(ids, ends, np.diff(ends, prepend=0).astype(np.int32))


class _Writer:
    """Encodes pairs chunk by chunk, filters them, and appends what is kept to the store's files."""

    def __init__(
        self,
        folder: Path,
        source: Tokenizer,
        target: Tokenizer,
        filters: Filters,
        report: Report,
        threads: int,
    ) -> None:
        self.folder, self.tokenizers = folder, (source, target)
        self.filters, self.report, self.threads = filters, report, threads
        self.ends = [0, 0]

    def write(self, pairs: Iterable[Pair], progress: Callable[[int], None] | None) -> None:
        files: list[tuple[BinaryIO, BinaryIO]] = [
            ((self.folder / f"{name}.ids").open("wb"), (self.folder / f"{name}.ends").open("wb"))
            for name in SIDES
        ]
        try:
            for chunk in _chunks(pairs):
                self._append(chunk, files)
                if progress:
                    progress(self.report.read)
            for file in (file for side in files for file in side):
                file.flush()
                os.fsync(file.fileno())
        finally:
            for file in (file for side in files for file in side):
                file.close()

    def _append(self, chunk: list[Pair], files: list[tuple[BinaryIO, BinaryIO]]) -> None:
        sources, targets, lines = zip(*chunk, strict=True)
        encoded = [
            tokenizer.encode_flat(texts, self.threads)
            for tokenizer, texts in zip(self.tokenizers, (sources, targets), strict=True)
        ]
        keep = _keep(encoded[0][1], encoded[1][1], np.array(lines), self.filters, self.report)
        self.report.read += len(chunk)
        self.report.kept += int(keep.sum())
        for index, (ids, lengths) in enumerate(encoded):
            width = np.uint16 if self.tokenizers[index].size <= 1 << 16 else np.uint32
            ends = self.ends[index] + np.cumsum(lengths[keep])
            files[index][0].write(ids[np.repeat(keep, lengths)].astype(width).tobytes())
            files[index][1].write(ends.astype(np.int64).tobytes())
            self.ends[index] = int(ends[-1]) if len(ends) else self.ends[index]


def _keep(
    source: Lengths,
    target: Lengths,
    lines: npt.NDArray[np.int64],
    filters: Filters,
    report: Report,
) -> npt.NDArray[np.bool_]:
    """Which pairs pass; each of the others is reported under the first reason that meets it."""
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
        report.drop(reason, lines[keep & meets])
        keep &= ~meets
    return keep


def _commit(partial: Path, folder: Path, report: Report) -> None:
    """Make the finished folder appear under its name, whole or not at all."""
    if report.kept == 0:
        raise DataError("No pair is left after the filters.", got=str(report))
    with (partial / "store.json").open("w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "report": report.to_json()}, file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    try:
        partial.rename(folder)
    except OSError:
        # Another process finished the same store first; its content is the same.
        if not folder.is_dir():
            raise


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    rest = iter(pairs)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # read_pairs says what is wrong with the file
