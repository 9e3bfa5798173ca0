"""Reading a bundle up to its weights. Imports no torch."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from jumok.bundle.card import BundleConfig, Card
from jumok.bundle.huggingface import READS, detect_huggingface
from jumok.bundle.packing import is_packed, unpacked
from jumok.bundle.quantised import check_header, grouped, scales_of
from jumok.config.models import model_config
from jumok.config.section import ModelSection
from jumok.data.files.header import Entry, read_header
from jumok.data.special_tokens import END
from jumok.engine import Precision
from jumok.errors import BundleError, Location
from jumok.json_types import parsed_json
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
InputPrecision = Precision | Literal["int16"]
CONFIG_KEYS = frozenset(key.name for key in fields(BundleConfig))
PICKLE_SUFFIXES = frozenset({".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt", ".joblib"})
# A zip archive (how torch.save writes) and the protocols 2 to 5 of pickle itself.
PICKLE_STARTS = (b"PK\x03\x04", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


class ConfigHead(BaseModel):
    """The keys of config.json that identify the format; the others are BundleConfig's."""

    jumok: str
    tokenizer_sha256: str | None = None
    weights_sha256: str | None = None


@dataclass(frozen=True)
class Bundle:
    """A bundle that passed its checks: everything but the weights themselves.

    Attributes:
        stored: the tensors of model.safetensors, with the scales of int8 ones.
        digest: the SHA-256 of model.safetensors; None: an older jumok wrote the bundle without it.
    """

    folder: Path
    config: BundleConfig
    card: Card
    jumok: str
    stored: Mapping[str, Entry] = field(repr=False)
    digest: str | None = None

    @cached_property
    def tensors(self) -> dict[str, Entry]:
        scales = scales_of(self.stored)
        return {name: tensor for name, tensor in self.stored.items() if name not in scales}

    @cached_property
    def section(self) -> ModelSection:
        """The [model] section.

        Raises:
            BundleError: keys or values that this kind of model does not have.
        """
        try:
            return model_config(self.config.model)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
            raise BundleError(
                "the model's sizes in config.json cannot be followed.",
                place=Location(self.folder / CONFIG),
                got="; ".join(
                    f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in faults
                ),
                do="get an undamaged copy of the bundle",
            ) from error

    @property
    def precision(self) -> Precision:
        """The number format of its matrices; of several, the one with the fewest bits."""
        types = {tensor.dtype for tensor in self.stored.values()}
        return "int8" if "I8" in types else "bf16" if "BF16" in types else "fp32"

    @property
    def input_precision(self) -> InputPrecision:
        """The number format that inputs of its matrices are rounded to."""
        return "int16" if grouped(self.stored) else self.precision

    @property
    def parameters(self) -> int:
        return sum(math.prod(tensor.shape) for tensor in self.tensors.values())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())


def read_bundle(folder: Path) -> Bundle:
    """Reads and checks everything but the weights' values.

    Args:
        folder: or a packed one (`packing.py`), which is unpacked into the cache.

    Raises:
        BundleError: a file is missing, damaged, a pickle or of a newer format; the tokenizer is
            another one; or a plugin has not been loaded.
    """
    folder = unpacked(Path(folder)) if is_packed(Path(folder)) else Path(folder)
    _check_files(folder)
    _refuse_pickles(folder)
    config = read_json_object(folder / CONFIG)
    version = config.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and version > FORMAT
        raise BundleError(
            "this bundle was written by a newer jumok." if newer else "this is not a jumok bundle.",
            place=Location(folder / CONFIG),
            expected=f"format {FORMAT}",
            got=f"format {version!r}",
            do="pip install --upgrade jumok" if newer else "check the path",
        )
    head = _typed(ConfigHead, config, folder / CONFIG)
    values = {key: config[key] for key in CONFIG_KEYS & config.keys()}
    bundle_config = _typed(BundleConfig, values, folder / CONFIG)
    require(bundle_config.plugins, folder)
    card = _typed(Card, read_json_object(folder / CARD), folder / CARD)
    tensors = read_tensor_entries(folder / WEIGHTS)
    _check_tokenizer(folder, head.tokenizer_sha256, bundle_config)
    _check_languages(folder, bundle_config)
    check_header(tensors, head.weights_sha256, folder / WEIGHTS)
    return Bundle(folder, bundle_config, card, head.jumok, tensors, head.weights_sha256)


def _typed(kind: type[Typed], values: Mapping[str, object], file: Path) -> Typed:
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise BundleError(
            "this file of the bundle is damaged, or of another jumok.",
            place=Location(file),
            got="; ".join(faults[:5]) + (f"; and {len(faults) - 5} more" if faults[5:] else ""),
            do="get an undamaged copy of the bundle",
        ) from error


def _check_files(folder: Path) -> None:
    if not folder.is_dir():
        aside = previous_folder(folder.absolute())
        raise BundleError(
            "there is no such bundle." if not folder.exists() else "a bundle is a folder.",
            place=Location(folder),
            do=f"a write was cut short: mv {aside} {folder}"
            if aside.is_dir()
            else "give a bundle (the model folder of a training run), such as runs/NAME/model; "
            "jumok demo writes demo/smallworld-en-ko/model",
        )
    model = detect_huggingface(folder)
    if model is not None:
        raise BundleError(
            f"this is {model.named}, and no bundle of jumok's.", do=READS, place=Location(folder)
        )
    for name in (CONFIG, WEIGHTS, CARD):
        if not (folder / name).is_file():
            inner = folder / "model"
            raise BundleError(
                f"this bundle has no {name}.",
                place=Location(folder),
                expected=f"{CONFIG}, {WEIGHTS} and {CARD}",
                do=f"did you mean {inner}?"
                if (inner / CONFIG).is_file()
                else "copy the whole folder",
            )


def _check_tokenizer(folder: Path, expected: str | None, config: BundleConfig) -> None:
    if not config.vocabulary_size:  # what reads no text has none
        return
    if not config.max_tokens or expected is None:
        raise BundleError(
            "this file of the bundle is damaged, or of another jumok.",
            place=Location(folder / CONFIG),
            expected="max_tokens of 1 or more, and tokenizer_sha256, as it has a vocabulary",
            got=f"max_tokens {config.max_tokens}, tokenizer_sha256 {expected}",
            do="get an undamaged copy of the bundle",
        )
    if not (folder / TOKENIZER).is_file():
        raise BundleError(
            f"this bundle has no {TOKENIZER}.", place=Location(folder), do="copy the whole folder"
        )
    actual = sha256(folder / TOKENIZER)
    if expected != actual:
        raise BundleError(
            "the tokenizer is not the one these weights were trained with.",
            place=Location(folder / TOKENIZER),
            expected=f"SHA-256 {expected}",
            got=f"SHA-256 {actual}",
            do="put the bundle's own tokenizer.model back",
        )


def _check_languages(folder: Path, config: BundleConfig) -> None:
    tokens = {id for each in config.languages.values() for id in astuple(each) if id is not None}
    faults = [f"token {id}" for id in tokens if not END < id < config.vocabulary_size]
    named = {code for pair in config.pairs for code in pair}
    faults += [f"a pair of {code!r}" for code in named if code not in config.languages]
    if faults:
        raise BundleError(
            "the languages in config.json do not fit the bundle.",
            place=Location(folder / CONFIG),
            expected=f"tokens from {END + 1} to {config.vocabulary_size - 1}, and pairs of "
            f"{', '.join(config.languages) or 'no languages'}",
            got=", ".join(sorted(faults)[:5]),
            do="get an undamaged copy of the bundle",
        )


def _refuse_pickles(folder: Path) -> None:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and (file.suffix in PICKLE_SUFFIXES or _starts_as_pickle(file)):
            raise BundleError(
                "this bundle holds what may be a Python pickle, which can run any code when read.",
                place=Location(file),
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


def read_json_object(file: Path) -> dict[str, object]:
    """The object in a JSON file.

    Raises:
        BundleError: it cannot be read, or holds something else.
    """
    try:
        value = parsed_json(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise BundleError(
            "this file cannot be read as JSON.",
            place=Location(file),
            got=str(error),
            do="get an undamaged copy of the bundle",
        ) from error
    if not isinstance(value, dict):
        raise BundleError("this file holds no JSON object.", place=Location(file))
    return value


def sha256(file: Path) -> str:
    """In hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_tensor_entries(file: Path) -> Mapping[str, Entry]:
    """The tensors of a safetensors file by their names, from its header alone.

    Raises:
        BundleError: not safetensors, truncated, or not there.
    """
    try:
        return read_header(file).entries
    except (ValueError, OSError) as error:
        raise BundleError(
            "the weights cannot be read.",
            got=str(error),
            do="copy or download the bundle again",
            place=Location(file),
        ) from error
