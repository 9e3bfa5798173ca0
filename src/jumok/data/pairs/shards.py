"""Writes a prepared corpus: shards that are stores of pairs, and the manifest of all of them.

Several processes write shards at the same time, each with numbers of its own. When all of them are
written, one process writes the manifest. A shard is written atomically, so what exists is complete.
"""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from jumok.data.cache import STORE, write_store
from jumok.data.files.manifest import (
    TOKENIZER,
    VALIDATION,
    FileRecord,
    Manifest,
    ShardRecord,
    write_manifest_file,
)
from jumok.data.pairs.columns import PairColumns, columns_of
from jumok.data.pairs.pair import Pair
from jumok.data.pairs.store import CHUNK, Filters, PairEncoder
from jumok.data.report import CorpusReport
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Place
from jumok.json_types import JsonObject

SHARD_PAIRS = 500_000
"""A good size of a shard: a block of training is made of twenty of them."""


def shard_name(number: int) -> str:
    """The folder of a shard in the folder of the corpus."""
    return f"shard-{number:06}"


def write_shard(
    folder: Path,
    number: int,
    pairs: Iterable[Pair],
    tokenizer: Tokenizer,
    filters: Filters,
    *,
    report: CorpusReport,
    keep_texts: bool = False,
    threads: int = 1,
) -> bool:
    """Writes pairs as a shard, in place of an earlier one of this number.

    Args:
        folder: the corpus's; created if it is missing.
        number: from 0; the shards' order is that of their numbers, of which some may be missing.
        tokenizer: that of both sides, and of all shards.
        report: counts what is read, kept and left out.
        keep_texts: keep the sentences too, for subword sampling; for all shards or for none.

    Returns:
        Whether it was written: no shard is, if no pair is left after the filters.

    Raises:
        DataError: what `pairs` raises; the disk refuses.
    """
    encoder = PairEncoder((tokenizer, tokenizer), filters, keep_texts, threads)
    return write_shard_of(folder, number, columns_of(pairs, CHUNK), encoder, report=report)


def write_shard_of(
    folder: Path,
    number: int,
    chunks: Iterable[PairColumns],
    encoder: PairEncoder,
    *,
    report: CorpusReport,
) -> bool:
    """As `write_shard`, for pairs by columns: CHUNK of them at a time."""
    tokenizer = encoder.tokenizers[0]
    shard = folder / shard_name(number)

    def fill(partial: Path) -> dict[str, object]:
        source, target = encoder.write(partial, chunks, report)
        if report.kept == 0:
            raise _NothingLeft
        return {
            "texts": encoder.keep_texts,
            "report": report.to_json(),
            "tokens": [source.values, target.values],
            "longest": max(source.longest, target.longest),
            "tokenizer": tokenizer.hash,
            "vocabulary": tokenizer.size,
        }

    try:
        if shard.exists():
            shutil.rmtree(shard)
        write_store(shard, fill)
    except _NothingLeft:
        return False
    except OSError as error:
        raise DataError(
            "the shard cannot be written.",
            got=error.strerror,
            do="free some space, or name another folder",
            place=Place(shard),
        ) from error
    return True


def write_manifest(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    name: str,
    validation: Iterable[Pair] = (),
    about: JsonObject | None = None,
) -> Manifest:
    """Completes a prepared corpus: its tokenizer, its validation pairs, and its manifest.

    All shards in the folder belong to it.

    Args:
        tokenizer: that of all shards.
        name: the corpus's, for reports.
        validation: pairs that are in no shard, for the validations of training.
        about: anything else that is to be kept, such as the filters; JSON.

    Raises:
        DataError: there is no shard, one is incomplete, or has another tokenizer; the disk refuses.
    """
    report = CorpusReport(name)
    vocabulary, texts, shards = tokenizer.size, [], []
    for shard in sorted(folder.glob("shard-*")):
        record, stored = _record(shard)
        if stored["tokenizer"] != tokenizer.hash:
            raise DataError(
                "the shard was written with another tokenizer.",
                expected=f"SHA-256 {tokenizer.hash}",
                got=f"SHA-256 {stored['tokenizer']}",
                do="remove the shards, and write all of them again",
                place=Place(shard),
            )
        report.join(CorpusReport.from_json(stored["report"]))
        texts.append(stored["texts"])
        shards.append(record)
    if not shards:
        raise DataError("there are no shards in this folder.", place=Place(folder))
    try:
        tokenizer.save(folder / TOKENIZER)
        _write_validation(folder, validation)
        files = {
            each: FileRecord.of(folder / each)
            for each in (TOKENIZER, VALIDATION)
            if (folder / each).exists()
        }
    except OSError as error:
        raise DataError(
            "the prepared corpus cannot be written.", got=error.strerror, place=Place(folder)
        ) from error
    manifest = Manifest(tuple(shards), files, vocabulary, all(texts), report.to_json(), about or {})
    write_manifest_file(folder, manifest)
    return manifest


class _NothingLeft(Exception):  # noqa: N818  # not an error
    """No pair of a shard is left after the filters."""


def _record(shard: Path) -> tuple[ShardRecord, JsonObject]:
    """A shard's entry in the manifest, and what its `store.json` says about it."""
    try:
        described = json.loads((shard / STORE).read_text("utf-8"))
        about, digests = described["about"], described["files"]
        files = {
            each: FileRecord((shard / each).stat().st_size, digest)
            for each, digest in digests.items()
        }
        files[STORE] = FileRecord.of(shard / STORE)
        source, target = about["tokens"]
        pairs, longest = about["report"]["kept"], about["longest"]
        return ShardRecord(shard.name, pairs, source, target, longest, files), about
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            "the shard is incomplete.",
            got=f"{type(error).__name__}: {error}",
            do="remove it, and write it again",
            place=Place(shard),
        ) from error


def _write_validation(folder: Path, pairs: Iterable[Pair]) -> None:
    """A table of two columns, or none without pairs; a tab inside of a text becomes a space."""
    rows = ("\t".join(text.replace("\t", " ") for text in pair[:2]) for pair in pairs)
    text = "".join(f"{row}\n" for row in rows)
    (folder / VALIDATION).unlink(missing_ok=True)
    if text:
        (folder / VALIDATION).write_text(text, "utf-8", newline="\n")
