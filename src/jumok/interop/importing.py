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
from torch.utils import swap_tensors

from jumok.bundle.card import BundleConfig, Card, Licence, Provenance
from jumok.bundle.huggingface import TOKENIZER
from jumok.bundle.reading import Bundle, read_bundle, sha256
from jumok.bundle.writing import write_bundle
from jumok.config.section import ModelSection
from jumok.data.tokenizer import Tokenizer
from jumok.errors import BundleError, Location, ModelError
from jumok.interop.catalog import family_of
from jumok.interop.containers import Container, TensorShape
from jumok.interop.family import ModelFamily, PairTokens
from jumok.interop.layouts.catalog import read_source
from jumok.interop.rows import Table
from jumok.interop.settings import Settings, read_settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import NO_TEXT, Vocabulary
from jumok.models.catalog import DataSizes, build
from jumok.models.size import numbers_in

LICENCES = "LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE"
_OF_README = re.compile(r"^license:[ \t]*(\S.{0,80})$", re.MULTILINE)
_KEY = re.compile(r"""["']?([\w.+-]+)["']?""")
OTHER = "other"
"""What hubs call a licence without an identifier."""
README_START = 20_000


@dataclass(frozen=True)
class ImportPlan:
    """All of a model of others but its weights.

    Attributes:
        tokenizer: None: the model has no texts.
        model: ours, whose parameters have shapes but no memory.
    """

    source: Source
    family: ModelFamily
    settings: Settings
    stored: Container
    section: ModelSection
    vocabulary: Vocabulary
    tokenizer: Tokenizer | None
    table: Table
    model: nn.Module


@dataclass(frozen=True)
class Imported(ImportPlan):
    """A model of others as one of ours, not written yet."""

    provenance: Provenance


def plan_import(path: Path) -> ImportPlan:
    """What the model in a folder or file becomes.

    Raises:
        BundleError: it is of no known family, is damaged or incomplete, or has a setting that is
            not supported.
    """
    source = read_source(path)
    family = family_of(source)
    settings = read_settings(source, family.settings)
    stored = source.weights()
    section = _section(family, settings, stored, source)
    _check_size(section, settings, stored, source)
    vocabulary = family.vocabulary(source, settings)
    tokenizer, size = None, 0
    if vocabulary is not NO_TEXT:
        tokenizer = family.tokenizer(vocabulary.tokenizer, Location(source.folder / TOKENIZER))
        size = tokenizer.size
    sizes = DataSizes(vocabulary=size, labels=len(family.labels(settings)))
    model = _unfilled(section, sizes, source)
    table = family.table(settings, stored.shapes)
    table.check(stored, vocabulary, shapes_of(model))
    return ImportPlan(
        source, family, settings, stored, section, vocabulary, tokenizer, table, model
    )


def read_planned(plan: ImportPlan) -> Imported:
    """The model with its weights, in evaluation mode; a BundleError if they cannot be read.

    It fills the model of the plan.
    """
    source, parameters = plan.source, dict(plan.model.named_parameters())
    for name, tensor in plan.table.read(plan.stored, plan.vocabulary):
        swap_tensors(parameters[name], nn.Parameter(tensor))
    changes = [f"left out: {name}" for name in plan.table.left_out(plan.stored)]
    provenance = Provenance(
        plan.family.name, source.path.resolve().name, file_digests(source, plan.stored),
        licence_of(source.folder), (*plan.family.changes, *changes),
    )  # fmt: skip
    return Imported(
        source, plan.family, plan.settings, plan.stored, plan.section, plan.vocabulary,
        plan.tokenizer, plan.table, plan.model, provenance,
    )  # fmt: skip


def read_model(path: Path) -> Imported:
    """The model in a folder or file; raises as `plan_import` and `read_planned`."""
    return read_planned(plan_import(path))


def write_imported(imported: Imported, folder: Path) -> Path:
    """Writes the bundle; a BundleError if that is not possible."""
    source, target = imported.family.languages(imported.source)
    alignment = imported.family.alignment(imported.settings)
    named: PairTokens = ({}, ())
    if imported.tokenizer is not None:
        named = imported.family.language_tokens(imported)
    tokens, pairs = named
    config = BundleConfig(
        task=imported.family.task,
        model=imported.section.model_dump(mode="json"),
        vocabulary_size=0 if imported.tokenizer is None else imported.tokenizer.size,
        labels=imported.family.labels(imported.settings),
        max_tokens=imported.family.longest(imported.settings),
        documents=imported.family.documents,
        chat=imported.family.chat(imported),
        source_language=source,
        target_language="" if tokens else target,
        languages=tokens,
        pairs=pairs,
        alignment_layer=alignment.layer if alignment else None,
        alignment_head=alignment.head if alignment else None,
    )
    card = Card(imported.provenance.name, provenance=imported.provenance)
    weights = imported.model.state_dict()
    return write_bundle(folder, weights, config, imported.tokenizer, card)


def imported_bundle(path: Path) -> Bundle:
    """A bundle of the model in a folder or file, which is removed when this process ends; raises as
    `read_model`.
    """
    room = Path(tempfile.mkdtemp(prefix="jumok-"))
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    return read_bundle(write_imported(read_model(path), room / path.resolve().name))


def shapes_of(model: nn.Module) -> dict[str, TensorShape]:
    """The shapes of its parameters; of tied ones once."""
    return {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}


def _unfilled(section: ModelSection, sizes: DataSizes, source: Source) -> nn.Module:
    """The model in evaluation mode, whose parameters have no memory; tied ones are one."""
    try:
        with torch.device("meta"):
            return build(section, sizes).eval()
    except ModelError as error:
        raise BundleError(
            error.what, expected=error.expected, got=error.got, place=Location(source.path)
        ) from None


def _section(
    family: ModelFamily, settings: Settings, stored: Container, source: Source
) -> ModelSection:
    try:
        return family.section(settings, stored.shapes)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        raise BundleError(
            "the model's sizes do not fit together.",
            got="; ".join(each["msg"] for each in faults),
            place=Location(source.config_file),
        ) from None


def _check_size(
    section: ModelSection, settings: Settings, stored: Container, source: Source
) -> None:
    """Raises a BundleError if the weights cannot be those of a model of these sizes."""
    numbers = sum(torch.Size(shape).numel() for shape in stored.shapes.values())
    needed = numbers_in(section, settings.vocab_size, 0)
    if needed > 2 * numbers + ROOM:
        raise BundleError(
            "the model's settings are not those of its weights.",
            expected=f"a model of about {numbers:,} numbers",
            got=f"about {needed:,}",
            do="get an undamaged copy: settings and weights belong together",
            place=Location(source.config_file),
        )


ROOM = 1 << 22
"""Numbers of tables that are computed, not stored: those of positions."""


def file_digests(source: Source, stored: Container) -> dict[str, str]:
    """The SHA-256 of the files of settings and of weights."""
    files = dict.fromkeys([source.config_file, *sorted(set(stored.files.values()))])
    return {file.name: sha256(file) for file in files}


def licence_of(folder: Path) -> Licence | None:
    """The licence that the folder names, if any."""
    readme = folder / "README.md"
    if readme.is_file():
        with readme.open(encoding="utf-8", errors="replace") as stream:
            named = _OF_README.search(stream.read(README_START))
        if named is not None:
            words = named[1].strip()
            key = _KEY.fullmatch(words)
            if key is not None:
                return Licence(key[1].lower(), readme.name)
            return Licence(OTHER, f"{readme.name}: {words}")
    for name in LICENCES:
        if (folder / name).is_file():
            with (folder / name).open(encoding="utf-8", errors="replace") as stream:
                lines = stream.read(README_START).split("\n")
            first = next((line.strip() for line in lines if line.strip()), "")
            return Licence(OTHER, f"{name}: {first[:80]}")
    return None
