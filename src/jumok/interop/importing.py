"""From a folder of others to a bundle."""

import atexit
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from torch import nn

from jumok.bundle.card import BundleConfig, Card, Provenance
from jumok.bundle.huggingface import CONFIG, TOKENIZER
from jumok.bundle.reading import Bundle, read_bundle, sha256
from jumok.bundle.weights import copy_weights
from jumok.bundle.writing import write_bundle
from jumok.config.section import ModelSection
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError, Location, ModelError
from jumok.interop.catalog import family_in
from jumok.interop.containers import Container, TensorShape, open_weights
from jumok.interop.family import ModelFamily
from jumok.interop.settings import Settings, read_settings
from jumok.interop.vocabulary import Vocabulary
from jumok.models.catalog import DataSizes, build
from jumok.models.size import numbers_in

LICENCES = "LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"
_OF_README = re.compile(r"^license:[ \t]*(\S.{0,80})$", re.MULTILINE)
README_START = 20_000


@dataclass(frozen=True)
class Imported:
    """A model of others as one of ours, not written yet."""

    family: ModelFamily
    section: ModelSection
    settings: Settings
    vocabulary: Vocabulary
    tokenizer: Tokenizer
    model: nn.Module
    languages: tuple[str, str]
    provenance: Provenance


def read_model_folder(folder: Path) -> Imported:
    """The model in a folder, in evaluation mode.

    Raises:
        BundleError: it is of no known family, is damaged or incomplete, or has a setting that is
            not supported.
    """
    family = family_in(folder)
    settings = read_settings(folder, family.settings)
    stored = open_weights(folder)
    section = _section(family, settings, stored, folder)
    _check_size(section, settings, stored)
    vocabulary = family.vocabulary(folder, settings)
    tokenizer = family.tokenizer(vocabulary.tokenizer, Location(folder / TOKENIZER))
    sizes = DataSizes(vocabulary=tokenizer.size)
    table = family.table(settings, stored.shapes)
    weights, unused = table.read(stored, vocabulary, expected_shapes(section, sizes))
    try:
        model = build(section, sizes).eval()
    except ModelError as error:
        raise BundleError(
            error.what, expected=error.expected, got=error.got, place=Location(folder)
        ) from None
    copy_weights(model, weights)
    changes = [f"left out: {name}" for name in unused]
    provenance = Provenance(
        family.name, folder.resolve().name, file_digests(folder, stored), licence_of(folder),
        (*family.changes, *changes),
    )  # fmt: skip
    languages = family.languages(folder)
    return Imported(family, section, settings, vocabulary, tokenizer, model, languages, provenance)


def write_imported(imported: Imported, folder: Path) -> Path:
    """Writes the bundle; a BundleError if that is not possible."""
    config = BundleConfig(
        task=imported.family.task,
        model=imported.section.model_dump(),
        vocabulary_size=imported.tokenizer.size,
        max_tokens=imported.family.longest(imported.settings),
        documents=imported.family.documents,
        source_language=imported.languages[0],
        target_language=imported.languages[1],
    )
    card = Card(imported.provenance.name, provenance=imported.provenance)
    weights = imported.model.state_dict()
    return write_bundle(folder, weights, config, imported.tokenizer, card)


def imported_bundle(folder: Path) -> Bundle:
    """A bundle of the model in a folder, which is removed when this process ends; raises as
    `read_model_folder`.
    """
    room = Path(tempfile.mkdtemp(prefix="jumok-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    return read_bundle(write_imported(read_model_folder(folder), room / folder.resolve().name))


def expected_shapes(section: ModelSection, sizes: DataSizes) -> dict[str, TensorShape]:
    """Our tensors, tied ones once, without their memory."""
    with torch.device("meta"):
        model = build(section, sizes)
    return {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}


def _section(
    family: ModelFamily, settings: Settings, stored: Container, folder: Path
) -> ModelSection:
    try:
        return family.section(settings, stored.shapes)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleError(
            "the sizes in config.json do not fit together.",
            got="; ".join(each["msg"] for each in faults),
            place=Location(folder / CONFIG),
        ) from None


def _check_size(section: ModelSection, settings: Settings, stored: Container) -> None:
    """Raises a BundleError if the weights cannot be those of a model of these sizes."""
    numbers = sum(torch.Size(shape).numel() for shape in stored.shapes.values())
    needed = numbers_in(section, settings.vocab_size, 0)
    if needed > 2 * numbers + ROOM:
        raise BundleError(
            "the sizes in config.json are not those of the weights.",
            expected=f"a model of about {numbers:,} numbers",
            got=f"about {needed:,}",
            do="get an undamaged copy: config.json and the weights belong together",
            place=Location(stored.folder / CONFIG),
        )


ROOM = 1 << 22
"""Numbers of tables that are computed, not stored: those of positions."""


def file_digests(folder: Path, stored: Container) -> dict[str, str]:
    """The SHA-256 of config.json and of the files of weights."""
    files = [folder / CONFIG, *sorted(set(stored.files.values()))]
    return {file.name: sha256(file) for file in files}


def licence_of(folder: Path) -> str:
    """The licence that the folder names; "" if it names none."""
    readme = folder / "README.md"
    if readme.is_file():
        with readme.open(encoding="utf-8", errors="replace") as stream:
            named = _OF_README.search(stream.read(README_START))
        if named is not None:
            return f"{named[1].strip()} (README.md)"
    for name in LICENCES:
        if (folder / name).is_file():
            with (folder / name).open(encoding="utf-8", errors="replace") as stream:
                lines = stream.read(README_START).split("\n")
            return f"{next((line.strip() for line in lines if line.strip()), '')[:80]} ({name})"
    return ""
