"""Folders as `save_pretrained` of transformers writes them."""

from pathlib import Path
from typing import TYPE_CHECKING

from jumok.bundle.huggingface import CONFIG, detect_huggingface
from jumok.bundle.reading import read_json_object
from jumok.errors import BundleError, Location
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container


PREPROCESSOR = "preprocessor_config.json"
"""How images are read; a key of the settings, too."""


def read(folder: Path) -> Source:
    """The model in a folder; a BundleError if config.json is missing or names no kind."""
    model, file = detect_huggingface(folder), folder / CONFIG
    if model is None or not model.kind:
        raise BundleError(
            "this folder holds no model of transformers.",
            expected=f"{CONFIG} with a model_type",
            got="no model_type" if file.is_file() else f"no {CONFIG}",
            do="copy or download the whole folder again",
            place=Location(folder),
        )
    config = read_json_object(file)
    if (images := folder / PREPROCESSOR).is_file():
        config |= {PREPROCESSOR: read_json_object(images)}
    return Source(folder, model.kind, model.named, config, file, lambda: _weights(folder))


def _weights(folder: Path) -> "Container":
    from jumok.interop.containers import open_weights

    return open_weights(folder)


HUGGING_FACE = SourceLayout(
    f"{CONFIG} with a model_type, model.safetensors and the tokenizer",
    lambda path: path.is_dir() and detect_huggingface(path) is not None,
    read,
)
