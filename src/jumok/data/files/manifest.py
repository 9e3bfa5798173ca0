"""The manifest of a prepared corpus: what its files hold, as one JSON file.

A prepared corpus is a folder on a disk or in an object store:

    manifest.json               written last, when everything else is complete
    tokenizer.model             the tokenizer of all shards
    validation.tsv              optional: source, target of pairs that are in no shard
    shard-000000.safetensors    the token ids of some of the pairs (jumok.data.pairs.store)
    ...

It names every file with its size and SHA-256, and how many pairs and tokens each shard has.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator

from jumok.data.files.atomic import write_durably
from jumok.data.report import CorpusReport
from jumok.errors import DataError, Location
from jumok.json_types import JsonObject

MANIFEST, TOKENIZER, VALIDATION = "manifest.json", "tokenizer.model", "validation.tsv"
MANIFEST_VERSION = 2
KIND = "jumok pairs"

# The name of a file: a path could lead out of the corpus.
_Name = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]
_Count = Annotated[int, Field(ge=0)]


class FileRecord(BaseModel, frozen=True, strict=True, extra="forbid"):
    """A file as it was written: its size, and its SHA-256 in hexadecimal digits."""

    bytes: _Count
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @classmethod
    def of(cls, file: Path) -> "FileRecord":
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        return cls(bytes=file.stat().st_size, sha256=digest)


class ShardRecord(BaseModel, frozen=True, strict=True, extra="forbid"):
    """A shard: its pairs, their tokens without START and END, and the most on one side of a
    pair.
    """

    name: _Name
    pairs: Annotated[int, Field(ge=1)]
    source_tokens: _Count
    target_tokens: _Count
    longest: _Count
    file: FileRecord


class Manifest(BaseModel, frozen=True, strict=True, extra="forbid"):
    """A prepared corpus.

    Attributes:
        shards: in the order of their pairs.
        files: those beside the shards; tokenizer.model is one of them.
        vocabulary: the number of the tokenizer's subwords.
        texts: whether the shards hold the sentences too, for subword sampling.
        report: `CorpusReport.to_json` of its preparation.
        about: anything else that its writer wants to keep.
    """

    shards: Annotated[tuple[ShardRecord, ...], Field(min_length=1)]
    files: Mapping[_Name, FileRecord]
    vocabulary: _Count
    texts: bool
    report: JsonObject
    about: JsonObject = {}

    @field_validator("shards")
    @classmethod
    def _names(cls, shards: tuple[ShardRecord, ...]) -> tuple[ShardRecord, ...]:
        if len({shard.name for shard in shards}) != len(shards):
            raise ValueError("two shards have the same name")
        return shards

    @field_validator("files")
    @classmethod
    def _with_tokenizer(cls, files: Mapping[str, FileRecord]) -> Mapping[str, FileRecord]:
        if TOKENIZER not in files:
            raise ValueError(f"{TOKENIZER} is missing")
        return files

    @field_validator("report")
    @classmethod
    def _readable(cls, report: JsonObject) -> JsonObject:
        try:
            CorpusReport.from_json(report)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"no report: {type(error).__name__}: {error}") from None
        return report

    @property
    def pairs(self) -> int:
        return sum(shard.pairs for shard in self.shards)

    @property
    def longest(self) -> int:
        return max(shard.longest for shard in self.shards)

    @property
    def tokenizer(self) -> str:
        return self.files[TOKENIZER].sha256

    @property
    def identity(self) -> str:
        """A digest of what the shards hold."""
        content = json.dumps([shard.model_dump() for shard in self.shards], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]


def write_manifest_file(folder: Path, manifest: Manifest) -> None:
    """Writes manifest.json, atomically. It makes the folder a prepared corpus: write it last.

    Raises:
        DataError: the disk refuses.
    """
    content = {
        "kind": KIND,
        "version": MANIFEST_VERSION,
        "pairs": manifest.pairs,
        **manifest.model_dump(),
    }
    described = {**content, "sha256": _digest_of_json(content)}
    text = json.dumps(described, ensure_ascii=False, indent=1)
    try:
        write_durably(folder / MANIFEST, f"{text}\n".encode())
    except OSError as error:
        raise DataError(
            "the manifest cannot be written.", got=error.strerror, place=Location(folder / MANIFEST)
        ) from error


def parse_manifest(content: bytes, place: Location) -> Manifest:
    """The manifest in the bytes of a manifest.json, which is at `place`.

    Raises:
        DataError: it is not one, of another version, changed, or inconsistent.
    """
    try:
        described = _OBJECT.validate_json(content)
        kind, version = described.pop("kind"), described.pop("version")
    except (ValueError, LookupError, RecursionError):
        raise _no_manifest(place, "no JSON, or none of a corpus") from None
    if kind != KIND or not isinstance(version, int):
        raise _no_manifest(place, f"{kind!r}, version {version!r}")
    newer = version > MANIFEST_VERSION
    if version != MANIFEST_VERSION:
        raise DataError(
            f"the prepared corpus is of {'a newer' if newer else 'an older'} version.",
            expected=f"version {MANIFEST_VERSION}",
            got=f"version {version}",
            do="update jumok" if newer else "prepare it again: jumok prepare",
            place=place,
        )
    written = described.pop("sha256", None)
    if written != (digest := _digest_of_json({"kind": kind, "version": version, **described})):
        raise DataError(
            "the manifest has changed since it was written.",
            expected=f"SHA-256 {written}, according to itself",
            got=f"SHA-256 {digest}",
            do="copy it again from where the corpus was prepared, or prepare it again",
            place=place,
        )
    pairs = described.pop("pairs", None)
    try:
        manifest = Manifest.model_validate_json(json.dumps(described))
    except ValidationError as error:
        first = error.errors()[0]
        raise _no_manifest(
            place, f"{'.'.join(map(str, first['loc']))} is {first['input']!r}: {first['msg']}"
        ) from None
    if pairs != manifest.pairs:
        raise DataError(
            "the manifest's number of pairs is not that of its shards.",
            expected=f"{manifest.pairs:,} pairs, the sum of {len(manifest.shards)} shards",
            got=repr(pairs),
            do="prepare the corpus again: jumok prepare",
            place=place,
        )
    return manifest


_OBJECT = TypeAdapter(JsonObject)


def _digest_of_json(content: JsonObject) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _no_manifest(place: Location, got: str) -> DataError:
    return DataError(
        "this is not the manifest of a prepared corpus.",
        got=got,
        do="name the folder that `jumok prepare` wrote",
        place=place,
    )
