"""Writing a prepared corpus: shards that are stores of pairs, and the manifest of all of them.

Several processes may write shards at the same time, each with numbers of its own; one writes the
manifest when all are written.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from jumok.data.files.manifest import (
    TOKENIZER,
    VALIDATION,
    FileRecord,
    Manifest,
    ShardRecord,
    write_manifest_file,
)
from jumok.data.pairs.pair import Pair, PairColumns, columns_of
from jumok.data.pairs.store import CHUNK, SIDES, Filters, PairEncoder
from jumok.data.report import CorpusReport
from jumok.data.store import STORE_SUFFIX, StoreWriter, read_store, write_store
from jumok.data.tokenizer import Tokenizer
from jumok.errors import DataError, Location
from jumok.json_types import JsonObject


def shard_name(number: int) -> str:
    """The file of a shard in the folder of the corpus."""
    return f"shard-{number:06}{STORE_SUFFIX}"


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
        number: from 0; shards are in the order of their numbers, of which some may be missing.
        tokenizer: that of both sides, and of all shards.
        report: counts what is read, kept and left out.
        keep_texts: keep the sentences too, for subword sampling; for all shards or for none.

    Returns:
        False, and no shard is written, if no pair is left after the filters.

    Raises:
        DataError: what `pairs` raises; the disk refuses.
    """
    encoder = PairEncoder((tokenizer, tokenizer.target), filters, keep_texts, threads)
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

    def fill(writer: StoreWriter) -> Mapping[str, object]:
        encoder.write(writer, chunks, report)
        if report.kept == 0:
            raise _NothingLeft
        return {
            "texts": encoder.keep_texts,
            "report": report.to_json(),
            "tokens": [writer.sizes[side] for side in SIDES],
            "longest": max(writer.longest[side] for side in SIDES),
            "tokenizer": tokenizer.hash,
        }

    try:
        shard.unlink(missing_ok=True)
        write_store(shard, fill)
    except _NothingLeft:
        return False
    except OSError as error:
        raise DataError(
            "the shard cannot be written.",
            got=error.strerror,
            do="free some space, or name another folder",
            place=Location(shard),
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
    """Completes a prepared corpus of all shards in the folder.

    Args:
        tokenizer: that of all shards.
        name: the corpus's, for reports.
        validation: pairs that are in no shard.
        about: JSON that is to be kept, such as the filters.

    Raises:
        DataError: there is no shard, one is incomplete, or has another tokenizer; the disk refuses.
    """
    report = CorpusReport(name)
    vocabulary, texts, shards = tokenizer.size, [], []
    for shard in sorted(folder.glob(f"shard-*{STORE_SUFFIX}")):
        record, stored = _shard_record(shard)
        if stored["tokenizer"] != tokenizer.hash:
            raise DataError(
                "the shard was written with another tokenizer.",
                expected=f"SHA-256 {tokenizer.hash}",
                got=f"SHA-256 {stored['tokenizer']}",
                do="remove the shards, and write all of them again",
                place=Location(shard),
            )
        report.join(CorpusReport.from_json(stored["report"]))
        texts.append(stored["texts"])
        shards.append(record)
    if not shards:
        raise DataError("there are no shards in this folder.", place=Location(folder))
    try:
        tokenizer.save(folder / TOKENIZER)
        _write_validation(folder, validation)
        files = {
            file: FileRecord.of(folder / file)
            for file in (TOKENIZER, VALIDATION)
            if (folder / file).exists()
        }
    except OSError as error:
        raise DataError(
            "the prepared corpus cannot be written.", got=error.strerror, place=Location(folder)
        ) from error
    manifest = Manifest(
        shards=tuple(shards),
        files=files,
        vocabulary=vocabulary,
        texts=all(texts),
        report=report.to_json(),
        about=about or {},
    )
    write_manifest_file(folder, manifest)
    return manifest


class _NothingLeft(Exception):  # noqa: N818  # not an error
    """No pair of a shard is left after the filters."""


def _shard_record(shard: Path) -> tuple[ShardRecord, JsonObject]:
    try:
        about = read_store(shard, verified=True).about
        source, target = about["tokens"]
        record = ShardRecord(
            name=shard.name,
            pairs=about["report"]["kept"],
            source_tokens=source,
            target_tokens=target,
            longest=about["longest"],
            file=FileRecord.of(shard),
        )
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            "the shard is incomplete.",
            got=f"{type(error).__name__}: {error}",
            do="remove it, and write it again",
            place=Location(shard),
        ) from error
    return record, about


def _write_validation(folder: Path, pairs: Iterable[Pair]) -> None:
    """A table of two columns, or none without pairs; a tab inside of a text becomes a space."""
    rows = ("\t".join(text.replace("\t", " ") for text in pair[:2]) for pair in pairs)
    text = "".join(f"{row}\n" for row in rows)
    (folder / VALIDATION).unlink(missing_ok=True)
    if text:
        (folder / VALIDATION).write_text(text, "utf-8", newline="\n")
