"""An imported model beside the code that it comes from: the same ids, and the same numbers."""

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from jumok.bundle.huggingface import TOKENIZER
from jumok.config.captioner import CaptionerConfig
from jumok.config.causal import CausalConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.section import ModelSection
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.data.files.images import Pixels, resize
from jumok.data.pictures.batches import as_tensor
from jumok.data.pictures.corpus import Shape
from jumok.data.tokenizer import END, START
from jumok.errors import BundleError, Location
from jumok.interop.family import ModelFamily
from jumok.interop.importing import Imported, ImportPlan, plan_import, read_planned
from jumok.models.causal import CausalLanguageModel
from jumok.models.image_classifier import ImageClassifier
from jumok.models.masked import MaskedLanguageModel, MissingHead
from jumok.models.memory import SequenceToSequence

TEXTS = (
    "The cat sat on the mat.",
    "How many roads must a man walk down, before you can call him a man?",
    "In 2017 eight authors published a paper of 15 pages; it is cited often.",
    "attention",
    "We don't know what it's about - do you?",
    "Die Katze schläft auf dem Sofa.",
    "Où est la bibliothèque, s'il vous plaît ?",
    "고양이가 매트 위에 앉아 있다.",
    "x = [1, 2.5, -3e8]  # a list",
    "Two spaces  and a word of twenty-two letters: counterrevolutionaries",
)
LONGEST = 32
"""Tokens of a text that go through both: the logits of all ten are in memory at once."""
LARGEST_DIFFERENCE = 1e-4
"""The most that a number may differ, as a share of the largest one (at least 1)."""


@dataclass(frozen=True)
class ImportCheck:
    """What was compared.

    Attributes:
        inputs: their number.
        difference: the largest one between two numbers.
        size: the largest number.
    """

    inputs: int
    difference: float
    size: float

    def __str__(self) -> str:
        return (
            f"{self.inputs} inputs as the original: equal ids of texts, and numbers up to "
            f"{self.size:.3g} that differ by {self.difference:.1e} at most"
        )


def has_original(family: ModelFamily) -> bool:
    """Whether transformers reads models of the family, and it and what it needs are installed."""
    needed = ("transformers", *family.needs)
    return family.theirs is not None and all(map(importlib.util.find_spec, needed))


@dataclass(frozen=True)
class OriginalNumbers:
    """What the original code computes for a text, of our ids: those that are read, and those that a
    decoder is given; or for an image.
    """

    ids: list[int]
    written: list[int]
    numbers: Tensor
    image: Pixels | None = None


def read_compared(path: Path) -> Imported:
    """The model in a folder or file, compared with its original code where that is installed.

    Raises:
        BundleError: as `plan_import` and `read_planned`, or the two compute different numbers.
    """
    plan = plan_import(path)
    # The original first, so that never both models are in memory.
    original = numbers_in_transformers(plan) if has_original(plan.family) else None
    imported = read_planned(plan)
    compared = "" if original is None else str(compare_inputs(imported, original))
    return replace(imported, provenance=replace(imported.provenance, compared=compared))


def compare_inputs(imported: Imported, original: Iterable[OriginalNumbers]) -> ImportCheck:
    """Texts through both.

    Raises:
        BundleError: numbers differ.
    """
    difference, size, inputs = 0.0, 0.0, 0
    for each in original:
        mine = numbers_here(imported, each.ids, each.written, each.image)
        difference = max(difference, float((mine - each.numbers).abs().max()))
        size = max(size, float(each.numbers.abs().max()))
        inputs += 1
    if not difference <= LARGEST_DIFFERENCE * max(1.0, size):
        raise BundleError(
            "the imported model does not compute what the original does: nothing was written.",
            expected=f"differences of at most {LARGEST_DIFFERENCE * max(1.0, size):.1e}",
            got=f"{difference:.1e}",
            do="report it, with its settings",
            place=Location(imported.source.path),
        )
    return ImportCheck(inputs, difference, size)


def numbers_in_transformers(plan: ImportPlan) -> list[OriginalNumbers]:
    """What transformers computes for ten texts, or for ten images, and their captions.

    Raises:
        BundleError: it does not read the model, or the tokenizers give different ids.
    """
    import transformers

    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    folder, class_of = plan.source.folder, plan.family.theirs
    assert class_of is not None
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if plan.source.path.is_file():
        options["gguf_file"] = plan.source.path.name
    file = folder / TOKENIZER
    try:
        theirs = getattr(transformers, class_of(plan.section)).from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32, **options,
            **plan.family.untold(plan.settings),
        )  # fmt: skip
        tokenizer = images = None
        if plan.tokenizer is not None:
            tokenizer = (
                transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))
                if file.is_file()
                else transformers.AutoTokenizer.from_pretrained(folder, **options)
            )
        if isinstance(plan.section, ImageClassifierConfig | CaptionerConfig):
            images = transformers.AutoImageProcessor.from_pretrained(folder, **options)
    except Exception as error:  # of any kind, on files that it does not expect
        raise BundleError(
            "transformers cannot read this model, so that nothing tells whether it is imported "
            "rightly: nothing was written.",
            got=str(error).strip().split("\n")[0][:200],
            do="get an undamaged copy, or another transformers",
            place=Location(folder),
        ) from None
    theirs.eval()
    original = []
    for text, image in zip(TEXTS, random_images(len(TEXTS)), strict=True):
        ids = ([], []) if tokenizer is None else _check_ids(plan, tokenizer, text)
        given = None if images is None else image
        original.append(_original_numbers(plan, theirs, ids, images, given))
    return original


def random_images(count: int) -> Iterator[Pixels]:
    """Images of any sizes; not of single pixels: two libraries may sum noise in another order."""
    random = np.random.default_rng(1)
    for _ in range(count):
        height, width = random.integers(16, 500, 2).tolist()
        small = random.integers(0, 256, (7, 5, 3), np.uint8)
        yield resize(small, height, width, "bicubic")


@torch.inference_mode()
def _original_numbers(
    plan: ImportPlan,
    theirs: Any,
    ids: tuple[list[int], list[int]],
    images: Any,
    image: Pixels | None,
) -> OriginalNumbers:
    most = max(min(LONGEST, plan.family.longest(plan.settings) - 1), 0)
    source, target = ids[0][:most], ids[1][:most]
    read, written = tokens_read(plan.section, source, target)
    if not getattr(plan.section, "source_end", True):
        read = read[:-1]  # ours, which the model does not read
    given = [torch.tensor([[plan.vocabulary.read.order[id] for id in read]])]
    if image is not None:
        given = [images(image, return_tensors="pt")["pixel_values"]]
    given += [torch.tensor([[plan.vocabulary.order[id] for id in written]])] if written else []
    output = theirs(given[0], **({"decoder_input_ids": given[1]} if written else {}))
    numbers = output.logits if "logits" in output else output.last_hidden_state
    return OriginalNumbers(source, target, numbers, image)


def _check_ids(plan: ImportPlan, tokenizer: Any, text: str) -> tuple[list[int], list[int]]:
    """The ids of a text, which are the original's, and those of the same text as a target."""
    ours = plan.tokenizer
    assert ours is not None
    sides = {"text": ours.encode(text)}
    if ours.target is not ours:
        sides["text_target"] = ours.target.encode(text)
    for side, ids in sides.items():
        order = (plan.vocabulary if side == "text_target" else plan.vocabulary.read).order
        theirs = list(tokenizer(**{side: text}, add_special_tokens=False)["input_ids"])
        if [order[id] for id in ids] != theirs:
            raise BundleError(
                "the imported tokenizer cuts a text otherwise: nothing was written.",
                expected=str(theirs),
                got=f"{[order[id] for id in ids]}: {text}",
                do="report it, with the files of the tokenizer",
                place=Location(plan.source.folder),
            )
    return sides["text"], sides.get("text_target", sides["text"])


def tokens_read(
    section: ModelSection, ids: list[int], target: list[int]
) -> tuple[list[int], list[int]]:
    """What a model reads for these ids, and what its decoder reads, as if it had written those of a
    target; of a model without a decoder beside it nothing.
    """
    match section:
        case CausalConfig():
            return [START, *ids], []
        case TransformerConfig():
            return [*ids, END], [START, *target]
        case CaptionerConfig():
            return [], [START, *target]
        case ImageClassifierConfig():
            return [], []
    return [START, *ids, END], []


@torch.inference_mode()
def numbers_here(
    imported: Imported, ids: list[int], target: list[int], image: Pixels | None = None
) -> Tensor:
    """What our model computes for these ids, or for an image, in the order of the rows there:
    logits, or the last states of an encoder.
    """
    vocabulary, model = imported.vocabulary, imported.model
    read, written = (torch.tensor([each]) for each in tokens_read(imported.section, ids, target))
    if image is not None:
        read = as_tensor(image_shape(imported.section).fit(image)[None])
    if isinstance(model, ImageClassifier):
        logits: Tensor = model(read)
        return logits
    if isinstance(model, CausalLanguageModel):
        logits = model.decoder.logits(model.hidden(read))
    elif isinstance(model, SequenceToSequence):
        logits = model.decoder(model.encode(read), written)
    elif isinstance(model, MaskedLanguageModel) and isinstance(model.head, MissingHead):
        return model.encoder(read)
    else:
        logits = model(read)
    here = vocabulary.predicted()
    return logits[..., [here[row] for row in range(vocabulary.rows)]]


def image_shape(section: ModelSection) -> Shape:
    """How a model reads images."""
    assert isinstance(section, ImageClassifierConfig | CaptionerConfig)
    encoder = section.encoder
    assert isinstance(encoder, VitConfig)
    return Shape(encoder.size, encoder.size, 3, encoder.resample, encoder.resized)
