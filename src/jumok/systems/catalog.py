"""Every system by the task that its bundle names: a loaded bundle as a callable object."""

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from jumok.bundle.reading import read_bundle
from jumok.bundle.theirs import READS, TOKENIZER, theirs
from jumok.errors import BundleError, Place
from jumok.systems.device import PrecisionName


class SystemEntry(NamedTuple):
    """The module and class of a task, and its verb; nothing is imported before it is used."""

    module: str
    name: str
    verb: str


SYSTEMS = {
    "translation": SystemEntry("jumok.systems.translation.translator", "Translator", "translate"),
    "captioning": SystemEntry("jumok.systems.captioner", "Captioner", "caption"),
    "image-classification": SystemEntry(
        "jumok.systems.image_classifier", "ImageClassification", "classify"
    ),
    "language-model": SystemEntry("jumok.systems.language_model", "LanguageModel", "generate"),
    "text-classification": SystemEntry(
        "jumok.systems.text_classifier", "TextClassification", "classify"
    ),
    "masked-lm": SystemEntry("jumok.systems.masked_model", "MaskedModel", "fill"),
    "bert": SystemEntry("jumok.systems.bert", "Bert", "look"),
}


def load(*folders: Path | str, device: str = "auto", precision: PrecisionName = "fp32") -> Any:
    """The trained model in this folder as its system; several become an ensemble if they can.

    The folder may also hold a pretrained BERT in Hugging Face's format (`jumok.systems.bert`).

    Raises:
        BundleError: a bundle is missing, damaged or unsafe, or its task is not known.
        ConfigError: the device does not exist.
    """
    if not folders:
        raise BundleError("there is no model to load.", do="give the folder of a bundle")
    system = system_of(Path(folders[0]))
    kind = getattr(import_module(system.module), system.name)
    return kind.load(*folders, device=device, precision=precision)


def system_of(folder: Path) -> SystemEntry:
    """The system for this bundle; that of a BERT if the folder is in Hugging Face's format."""
    task = "bert" if (folder / TOKENIZER).is_file() else read_bundle(folder).config.task
    if task not in SYSTEMS:
        raise BundleError(
            "this jumok does not know what the bundle is for.",
            place=Place(folder),
            expected=", ".join(SYSTEMS),
            got=task,
            do="pip install --upgrade jumok",
        )
    return SYSTEMS[task]


def check_verb(folder: Path, verb: str) -> None:
    """Checks that the bundle is for this verb.

    Raises:
        BundleError: the bundle is for something else.
    """
    system = system_of(folder)
    found = theirs(folder)
    if found is not None and system.verb != verb:
        raise BundleError(
            f"jumok cannot {verb} with {found.named}: only its encoder is read.",
            do=READS,
            place=Place(folder),
        )
    if system.verb != verb:
        raise BundleError(
            f"this model cannot {verb}.",
            place=Place(folder),
            do=f"it was trained for something else: jumok {system.verb} {folder}",
        )
