"""The families that jumok imports, and which one a folder holds."""

from pathlib import Path

from jumok.bundle.huggingface import CONFIG, detect_huggingface
from jumok.errors import BundleError, Location
from jumok.interop.families.bert import BERT
from jumok.interop.families.gpt2 import GPT2
from jumok.interop.families.marian import MARIAN
from jumok.interop.family import ModelFamily

FAMILIES: dict[str, ModelFamily] = {family.model_type: family for family in (BERT, GPT2, MARIAN)}
"""By the model_type of config.json."""

SUPPORTED = ", ".join(f"{family.name} ({family.model_type})" for family in FAMILIES.values())


def family_in(folder: Path) -> ModelFamily:
    """The family of the model in a folder.

    Raises:
        BundleError: there is no model of transformers, or one of another family.
    """
    if not folder.is_dir():
        raise BundleError(
            "a model is imported as a folder." if folder.exists() else "there is no such folder.",
            do="give the folder with config.json, model.safetensors and the tokenizer",
            place=Location(folder),
        )
    model = detect_huggingface(folder)
    if model is None or not model.kind:
        raise BundleError(
            "this folder holds no model of transformers.",
            expected=f"{CONFIG} with a model_type: {SUPPORTED}",
            got=f"no {CONFIG}" if not (folder / CONFIG).is_file() else "no model_type",
            do="give the folder with config.json, model.safetensors and the tokenizer",
            place=Location(folder),
        )
    if model.kind not in FAMILIES:
        raise BundleError(
            f"this is {model.named}, a family that jumok does not import.",
            expected=f"model_type {SUPPORTED}",
            got=model.kind,
            do="jumok.from_transformers(model, tokenizer, text) shows the attention of any model "
            "of transformers",
            place=Location(folder / CONFIG),
        )
    return FAMILIES[model.kind]
