"""The manifest of a prepared corpus: what its files hold, as one JSON file.

A prepared corpus is a folder on a disk or in an object store:

    manifest.json                  written last, when everything else is complete
    tokenizer.model                the tokenizer of all shards
    validation.tsv                 optional: source, target of pairs that are in no shard
    shard-000000/source.values     the token ids of some of the pairs, and what else a store holds
    shard-000000/...
    shard-000001/...

The manifest names every file with its size and SHA-256, and how many pairs and tokens each shard
has, so that a plan of training needs no shard, and a copy that is cut or mixed up is found.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from jumok.data.files.atomic import write_durably
from jumok.data.report import CorpusReport
from jumok.errors import DataError, Place
from jumok.json_types import JsonObject

MANIFEST, TOKENIZER, VALIDATION = "manifest.json", "tokenizer.model", "validation.tsv"
VERSION = 1
KIND = "jumok pairs"

_NAME = re.compile(r"\w[\w.-]*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class FileRecord:
    """A file as it was written: its size in bytes, and its SHA-256 in hexadecimal digits."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, file: Path) -> "FileRecord":
        """That of a file on the disk.

        Raises:
            OSError: it cannot be read.
        """
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        return cls(file.stat().st_size, digest)


@dataclass(frozen=True)
class ShardRecord:
    """A shard: the number of its pairs, and of their tokens without START and END.

    Attributes:
        name: that of its folder.
        longest: the most tokens on one side of a pair.
        files: by their names in the folder.
    """

    name: str
    pairs: int
    source_tokens: int
    target_tokens: int
    longest: int
    files: Mapping[str, FileRecord]


@dataclass(frozen=True)
class Manifest:
    """A prepared corpus.

    Attributes:
        shards: in the order of their pairs.
        files: those beside the shards; tokenizer.model is one of them.
        vocabulary: the number of the tokenizer's subwords.
        texts: whether the shards hold the sentences too, for subword sampling.
        report: the lines read, corrected and left out: `CorpusReport.to_json`.
        about: anything else that its writer wants to keep, such as the filters.
    """

    shards: tuple[ShardRecord, ...]
    files: Mapping[str, FileRecord]
    vocabulary: int
    texts: bool
    report: JsonObject
    about: JsonObject = field(default_factory=dict)

    @property
    def pairs(self) -> int:
        return sum(shard.pairs for shard in self.shards)

    @property
    def longest(self) -> int:
        """The most tokens on one side of a pair."""
        return max(shard.longest for shard in self.shards)

    @property
    def tokenizer(self) -> str:
        """The SHA-256 of the tokenizer's model."""
        return self.files[TOKENIZER].sha256

    @property
    def identity(self) -> str:
        """Names the content: a digest of what the shards hold."""
        content = [asdict(shard) for shard in self.shards]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def write_manifest_file(folder: Path, manifest: Manifest) -> None:
    """Writes manifest.json, atomically. It makes the folder a prepared corpus: write it last.

    Raises:
        DataError: the disk refuses.
    """
    content = {"kind": KIND, "version": VERSION, "pairs": manifest.pairs, **asdict(manifest)}
    described = {**content, "sha256": _digest_of(content)}
    text = json.dumps(described, ensure_ascii=False, indent=1)
    try:
        write_durably(folder / MANIFEST, f"{text}\n".encode())
    except OSError as error:
        raise DataError(
            "the manifest cannot be written.", got=error.strerror, place=Place(folder / MANIFEST)
        ) from error


def parse_manifest(content: bytes, place: Place) -> Manifest:
    """The manifest in the bytes of a manifest.json.

    Args:
        place: the file or its address, for errors.

    Raises:
        DataError: it is not one, of a newer version, changed, or does not fit itself.
    """
    try:
        described = json.loads(content)
        kind, version = described["kind"], described["version"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise _no_manifest(place, "no JSON, or none of a corpus") from None
    if kind != KIND or not isinstance(version, int):
        raise _no_manifest(place, f"{kind!r}, version {version!r}")
    if version != VERSION:
        raise DataError(
            f"the prepared corpus is of {'a newer' if version > VERSION else 'an older'} version.",
            expected=f"version {VERSION}",
            got=f"version {version}",
            do="update jumok" if version > VERSION else "prepare it again: jumok prepare",
            place=place,
        )
    written = described.pop("sha256", None)
    if written != (found := _digest_of(described)):
        raise DataError(
            "the manifest has changed since it was written.",
            expected=f"SHA-256 {written}, according to itself",
            got=f"SHA-256 {found}",
            do="copy it again from where the corpus was prepared, or prepare it again",
            place=place,
        )
    try:
        manifest, said = _manifest(described), _count(described["pairs"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _no_manifest(place, f"{type(error).__name__}: {error}") from None
    if said != manifest.pairs:
        raise DataError(
            "the manifest's number of pairs is not that of its shards.",
            expected=f"{manifest.pairs:,} pairs, the sum of {len(manifest.shards)} shards",
            got=f"{said:,}",
            do="prepare the corpus again: jumok prepare",
            place=place,
        )
    return manifest


def _manifest(described: JsonObject) -> Manifest:
    shards = tuple(
        ShardRecord(
            _name(shard["name"]),
            _count(shard["pairs"]),
            _count(shard["source_tokens"]),
            _count(shard["target_tokens"]),
            _count(shard["longest"]),
            _files(shard["files"]),
        )
        for shard in described["shards"]
    )
    if not shards or min(shard.pairs for shard in shards) < 1:
        raise ValueError("a corpus has at least one shard, and a shard at least one pair")
    if len({shard.name for shard in shards}) != len(shards):
        raise ValueError("two shards have the same name")
    files, report = _files(described["files"]), described["report"]
    if TOKENIZER not in files:
        raise ValueError(f"{TOKENIZER} is missing")
    if not isinstance(described["about"], dict):
        raise TypeError("about is an object")
    CorpusReport.from_json(report)  # raises if it is none
    vocabulary, texts = _count(described["vocabulary"]), bool(described["texts"])
    return Manifest(shards, files, vocabulary, texts, report, described["about"])


def _files(described: JsonObject) -> dict[str, FileRecord]:
    records = {}
    for name, record in described.items():
        if _DIGEST.fullmatch(record["sha256"]) is None:
            raise ValueError(f"{record['sha256']!r} is not a SHA-256")
        records[_name(name)] = FileRecord(_count(record["bytes"]), record["sha256"])
    return records


def _name(name: object) -> str:
    """The name of a file or a folder; a path could lead out of the corpus."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not a name of a file")
    return name


def _count(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{number!r} is not a number of something")
    return number


def _digest_of(content: JsonObject) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _no_manifest(place: Place, got: str) -> DataError:
    return DataError(
        "this is not the manifest of a prepared corpus.",
        got=got,
        do="name the folder that `jumok prepare` wrote",
        place=place,
    )
