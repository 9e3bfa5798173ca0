"""An imported model beside the code that it comes from: the same ids, and the same numbers."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jumok.bundle.huggingface import TOKENIZER
from jumok.data.tokenizer import END, START
from jumok.errors import BundleError, Location
from jumok.interop.importing import Imported
from jumok.models.causal import CausalLanguageModel
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
            f"{self.inputs} inputs as in transformers: equal ids, and numbers up to "
            f"{self.size:.3g} that differ by {self.difference:.1e} at most"
        )


def has_transformers() -> bool:
    """Whether the original code is installed."""
    return importlib.util.find_spec("transformers") is not None


def compare_inputs(folder: Path, imported: Imported) -> ImportCheck:
    """Ten texts through both.

    Raises:
        BundleError: ids or numbers differ.
    """
    import transformers

    transformers.logging.disable_progress_bar()
    transformers.logging.set_verbosity_error()
    name = imported.family.theirs(imported.section)
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    theirs = getattr(transformers, name).from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, **options
    )
    file = folder / TOKENIZER
    tokenizer = (
        transformers.PreTrainedTokenizerFast(tokenizer_file=str(file))
        if file.is_file()
        else transformers.AutoTokenizer.from_pretrained(folder, **options)
    )
    difference = size = 0.0
    for text in TEXTS:
        ids = _check_ids(folder, imported, tokenizer, text)
        mine, other = numbers_on_both_sides(imported, theirs.eval(), ids)
        difference = max(difference, float((mine - other).abs().max()))
        size = max(size, float(other.abs().max()))
    if not difference <= LARGEST_DIFFERENCE * max(1.0, size):
        raise BundleError(
            "the imported model does not compute what the original does: nothing was written.",
            expected=f"differences of at most {LARGEST_DIFFERENCE * max(1.0, size):.1e}",
            got=f"{difference:.1e}",
            do="report it, with config.json",
            place=Location(folder),
        )
    return ImportCheck(len(TEXTS), difference, size)


def _check_ids(folder: Path, imported: Imported, tokenizer: Any, text: str) -> list[int]:
    """The ids of a text, which are the original's, as a target, too."""
    order, ours = imported.vocabulary.order, imported.tokenizer
    sides = {"text": ours.encode(text)}
    if ours.target is not ours:
        sides["text_target"] = ours.target.encode(text)
    for side, ids in sides.items():
        theirs = list(tokenizer(**{side: text}, add_special_tokens=False)["input_ids"])
        if [order[id] for id in ids] != theirs:
            raise BundleError(
                "the imported tokenizer cuts a text otherwise: nothing was written.",
                expected=str(theirs),
                got=f"{[order[id] for id in ids]}: {text}",
                do="report it, with the files of the tokenizer",
                place=Location(folder),
            )
    return sides["text"]


@torch.inference_mode()
def numbers_on_both_sides(imported: Imported, theirs: Any, ids: list[int]) -> tuple[Tensor, Tensor]:
    """What both compute for these ids: logits, or the last states of an encoder. A translator
    writes the same ids that it reads.
    """
    vocabulary, model = imported.vocabulary, imported.model
    ids = ids[: imported.family.longest(imported.settings) - 1]
    begun, ended, both = [START, *ids], [*ids, END], [START, *ids, END]

    def other(tokens: list[int]) -> Tensor:
        return torch.tensor([[vocabulary.order[id] for id in tokens]])

    if isinstance(model, CausalLanguageModel):
        mine = model.decoder.logits(model.hidden(torch.tensor([begun])))
        output = theirs(other(begun))
    elif isinstance(model, SequenceToSequence):
        mine = model.decoder(model.encode(torch.tensor([ended])), torch.tensor([begun]))
        output = theirs(other(ended), decoder_input_ids=other(begun))
    elif isinstance(model, MaskedLanguageModel) and isinstance(model.head, MissingHead):
        return model.encoder(torch.tensor([both])), theirs(other(both)).last_hidden_state
    else:
        mine, output = model(torch.tensor([both])), theirs(other(both))
    here = vocabulary.predicted()
    return mine[..., [here[row] for row in range(vocabulary.rows)]], output.logits
