"""Model folders of Hugging Face's transformers, which are recognised by their config."""

import json
from pathlib import Path
from typing import NamedTuple

from jumok.errors import BundleError, Place

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
"""A file that is in such a folder, but in no bundle of jumok's."""

READS = "of transformers' models jumok reads BERT: jumok look, explain and embed"


class Theirs(NamedTuple):
    """The model of such a folder: "bert", and "BertForMaskedLM"; "" where it is not given."""

    kind: str
    architecture: str

    @property
    def named(self) -> str:
        """The model in words."""
        of = f" ({self.architecture})" if self.architecture else ""
        return f"a {self.kind} model of transformers{of}".replace("a  model", "a model")


def theirs(folder: Path) -> Theirs | None:
    """The transformers model in this folder; None: there is none.

    Raises:
        BundleError: its config.json is damaged.
    """
    file = folder / CONFIG
    known = (folder / TOKENIZER).is_file()
    if not file.is_file():
        return Theirs("", "") if known else None
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BundleError(
            "this file cannot be read as JSON.", got=str(error), place=Place(file),
            do="get an undamaged copy of the folder",
        ) from error  # fmt: skip
    if not isinstance(config, dict) or not (known or "model_type" in config):
        return None
    named = config.get("architectures")
    first = named[0] if isinstance(named, list) and named else ""
    return Theirs(str(config.get("model_type", "")), str(first))


def refuse_other_kinds(folder: Path, kind: str) -> None:
    """Raises a BundleError where a folder of transformers contains an unsupported model."""
    found = theirs(folder)
    if found is not None and found.kind != kind and (folder / CONFIG).is_file():
        raise BundleError(
            f"this is {found.named}, which jumok does not read.",
            expected=f"model_type {kind!r} in {CONFIG}",
            got=f"model_type {found.kind!r}" if found.kind else "no model_type",
            do=READS,
            place=Place(folder),
        )
