"""Reading a bundle up to its weights. Nothing here imports torch."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.header import StoredTensor, read_header
from jumok.bundle.quantised import check_header, scales_of
from jumok.bundle.theirs import READS, theirs
from jumok.errors import BundleError, Place
from jumok.plugins import require

FORMAT = 1
CONFIG, WEIGHTS, TOKENIZER, CARD, README = (
    "config.json",
    "model.safetensors",
    "tokenizer.model",
    "card.json",
    "README.md",
)
Typed = TypeVar("Typed")
Precision = Literal["fp32", "bf16", "int8"]
CONFIG_KEYS = frozenset(key.name for key in fields(BundleConfig))
PICKLE_SUFFIXES = frozenset({".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt", ".joblib"})
# A zip archive (how torch.save writes) and the protocols 2 to 5 of pickle itself.
PICKLE_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class Head(BaseModel):
    """The keys of config.json that identify the format; the others are BundleConfig's."""

    jumok: str
    tokenizer_sha256: str | None = None
    weights_sha256: str | None = None


@dataclass(frozen=True)
class Bundle:
    """A bundle that passed its checks: everything but the weights themselves.

    Attributes:
        tensors: the weights by their names; those that are stored as int8, too, without the scales.
        stored: the tensors of model.safetensors.
        digest: the SHA-256 of model.safetensors; None: the bundle does not name it.
    """

    folder: Path
    config: BundleConfig
    card: Card
    jumok: str
    stored: Mapping[str, StoredTensor] = field(repr=False)
    digest: str | None = None

    @property
    def tensors(self) -> dict[str, StoredTensor]:
        scales = scales_of(self.stored)
        return {name: tensor for name, tensor in self.stored.items() if name not in scales}

    @property
    def precision(self) -> Precision:
        """The number format of its matrices; of several, the one with the fewest bits."""
        found = {tensor.dtype for tensor in self.stored.values()}
        return "int8" if "I8" in found else "bf16" if "BF16" in found else "fp32"

    @property
    def parameters(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())


def read_bundle(folder: Path) -> Bundle:
    """Reads and checks everything but the weights' values; torch is not imported.

    Raises:
        BundleError: no such folder, a missing file, a pickle, a newer format, truncated weights,
            a tokenizer that is not the one the weights were trained with, or a plugin that has
            not been loaded.
    """
    folder = Path(folder)
    _check_files(folder)
    _refuse_pickles(folder)
    config = _read_json(folder / CONFIG)
    found = config.get("format")
    if found != FORMAT:
        newer = isinstance(found, int) and found > FORMAT
        raise BundleError(
            "this bundle was written by a newer jumok." if newer else "this is not a jumok bundle.",
            place=Place(folder / CONFIG),
            expected=f"format {FORMAT}",
            got=f"format {found!r}",
            do="pip install --upgrade jumok" if newer else "check the path",
        )
    head = _typed(Head, config, folder / CONFIG)
    known = {key: config[key] for key in CONFIG_KEYS & config.keys()}
    about = _typed(BundleConfig, known, folder / CONFIG)
    require(about.plugins, folder)
    card = _typed(Card, _read_json(folder / CARD), folder / CARD)
    tensors = read_header(folder / WEIGHTS)
    _check_tokenizer(folder, head.tokenizer_sha256, about)
    check_header(tensors, head.weights_sha256, folder / WEIGHTS)
    return Bundle(folder, about, card, head.jumok, tensors, head.weights_sha256)


def _typed(kind: type[Typed], values: Mapping[str, object], file: Path) -> Typed:
    """A file's JSON, with every key validated.

    Raises:
        BundleError: a key is missing, unknown or invalid; all of them are named.
    """
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise BundleError(
            "this file of the bundle is damaged, or of another jumok.",
            place=Place(file),
            got="; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if faults[5:] else ""),
            do="get an undamaged copy of the bundle",
        ) from error


def _check_files(folder: Path) -> None:
    if not folder.is_dir():
        aside = previous_folder(folder.absolute())
        raise BundleError(
            "there is no such bundle." if not folder.exists() else "a bundle is a folder.",
            place=Place(folder),
            do=f"a write was cut short: mv {aside} {folder}"
            if aside.is_dir()
            else "give the folder that training wrote, such as runs/NAME/model",
        )
    found = theirs(folder)
    if found is not None:
        raise BundleError(
            f"this is {found.named}, and no bundle of jumok's.", do=READS, place=Place(folder)
        )
    for name in (CONFIG, WEIGHTS, CARD):
        if not (folder / name).is_file():
            inner = folder / "model"
            raise BundleError(
                f"this bundle has no {name}.",
                place=Place(folder),
                expected=f"{CONFIG}, {WEIGHTS} and {CARD}",
                do=f"did you mean {inner}?"
                if (inner / CONFIG).is_file()
                else "copy the whole folder",
            )


def _check_tokenizer(folder: Path, wanted: str | None, config: BundleConfig) -> None:
    if not config.vocabulary_size:  # what reads no text has none
        return
    if not config.max_tokens or wanted is None:
        raise BundleError(
            "this file of the bundle is damaged, or of another jumok.",
            place=Place(folder / CONFIG),
            expected="max_tokens of 1 or more, and tokenizer_sha256, as it has a vocabulary",
            got=f"max_tokens {config.max_tokens}, tokenizer_sha256 {wanted}",
            do="get an undamaged copy of the bundle",
        )
    if not (folder / TOKENIZER).is_file():
        raise BundleError(
            f"this bundle has no {TOKENIZER}.", place=Place(folder), do="copy the whole folder"
        )
    found = sha256(folder / TOKENIZER)
    if wanted != found:
        raise BundleError(
            "the tokenizer is not the one these weights were trained with.",
            place=Place(folder / TOKENIZER),
            expected=f"SHA-256 {wanted}",
            got=f"SHA-256 {found}",
            do="put the bundle's own tokenizer.model back",
        )


def _refuse_pickles(folder: Path) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and (file.suffix in PICKLE_SUFFIXES or _starts_as_pickle(file)):
            raise BundleError(
                "this bundle holds what may be a Python pickle, which can run any code when read.",
                place=Place(file),
                expected="weights in model.safetensors only",
                do="remove the file if you know what it is; otherwise do not use this bundle",
            )


def _starts_as_pickle(file: Path) -> bool:
    with file.open("rb") as stream:
        start = stream.read(9)
    # A safetensors file with a certain header length starts the same way, but "{" follows.
    return start.startswith(PICKLE_STARTS) and start[8:] != b"{"


def previous_folder(folder: Path) -> Path:
    """The temporary name of the old bundle while it is being replaced."""
    return folder.with_name(f".{folder.name}.previous")


def _read_json(file: Path) -> dict[str, object]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise BundleError(
            "this file cannot be read as JSON.",
            place=Place(file),
            got=str(error),
            do="get an undamaged copy of the bundle",
        ) from error
    if not isinstance(value, dict):
        raise BundleError("this file holds no JSON object.", place=Place(file))
    return value


def sha256(file: Path) -> str:
    """The SHA-256 digest of a file, in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
