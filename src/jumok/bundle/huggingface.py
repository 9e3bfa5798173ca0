"""Model folders of Hugging Face's transformers, which are recognised by their config."""

import json
from pathlib import Path
from typing import NamedTuple

from jumok.errors import BundleError, Location

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
"""A file that is in such a folder, but in no bundle of jumok's."""

READS = "jumok import FOLDER --output MODEL makes a bundle of it, or says why it cannot"


class HuggingFaceModel(NamedTuple):
    """The model of such a folder: "bert", and "BertForMaskedLM"; "" where it is not given."""

    kind: str
    architecture: str

    @property
    def named(self) -> str:
        kind = f"{self.kind} " * bool(self.kind)
        of = f" ({self.architecture})" if self.architecture else ""
        return f"a {kind}model of transformers{of}"


def detect_huggingface(folder: Path) -> HuggingFaceModel | None:
    """The transformers model in this folder; None: there is none.

    Raises:
        BundleError: its config.json is damaged.
    """
    file = folder / CONFIG
    has_tokenizer = (folder / TOKENIZER).is_file()
    if not file.is_file():
        return HuggingFaceModel("", "") if has_tokenizer else None
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(
            "this file cannot be read as JSON.", got=str(error), place=Location(file),
            do="get an undamaged copy of the folder",
        ) from error  # fmt: skip
    if not isinstance(config, dict) or not (has_tokenizer or "model_type" in config):
        return None
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    return HuggingFaceModel(str(config.get("model_type", "")), str(first))
