"""Folders of JoeyNMT: config.yaml, a checkpoint and the vocabularies of both sides."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jumok.documents.trees import shallow_yaml
from jumok.errors import BundleError, Location
from jumok.interop.layouts.checkpoints import chosen
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

KIND, RECURRENT = "joeynmt transformer", "joeynmt recurrent"
CONFIG, SUFFIX = "config.yaml", ".ckpt"
CHECKPOINTS = "best.ckpt", "latest.ckpt"
VOCABULARIES = {"src": "src_vocab.txt", "trg": "trg_vocab.txt"}
LONGEST_SETTINGS, MOST_SETTINGS = 1 << 17, 10_000
WITHOUT_EFFECT = "train", "dev", "test", "sample_train_subset", "sample_dev_subset", "dataset_type"
"""Settings of the data that say which texts the model was trained with."""


def read(path: Path) -> Source:
    """The model in this folder, or this checkpoint of one.

    Raises:
        BundleError: a file is missing or damaged.
    """
    folder = path if path.is_dir() else path.parent
    file, checkpoint = folder / CONFIG, chosen(path, SUFFIX, CHECKPOINTS)
    values = _settings(file)
    model, data = values.get("model"), values.get("data")
    if not isinstance(model, dict) or not isinstance(data, dict):
        raise _damaged(file, "no settings of model and data")
    kept = {key: value for key, value in data.items() if key not in WITHOUT_EFFECT}
    source, target = (read_words(folder, side) for side in VOCABULARIES)
    one = {"one_vocabulary": source == target, "vocab_size": len(target)}
    config = {**model, "data": kept, **one}
    kind = f"joeynmt {_type_of(model)}"
    named = f"a model of JoeyNMT ({_type_of(model)})"
    return Source(path, kind, named, config, file, lambda: _weights(checkpoint))


def _weights(file: Path) -> "Container":
    from jumok.interop.containers import of_tensors, read_pickle

    stored = read_pickle(file)
    return of_tensors(file, stored.get("model_state") if isinstance(stored, dict) else None)


def _type_of(model: Mapping[str, object]) -> str:
    """Recurrent encoders are the default of theirs."""
    encoder = model.get("encoder")
    return str(encoder.get("type", "recurrent") if isinstance(encoder, dict) else "")


def read_words(folder: Path, side: str) -> list[str]:
    """The subwords of a side by their ids; a BundleError if they are missing or twice there."""
    file = folder / VOCABULARIES[side]
    try:
        words = file.read_bytes().decode().removesuffix("\n").split("\n")
    except OSError:
        raise BundleError(
            "a vocabulary is missing.",
            expected=" and ".join(VOCABULARIES.values()),
            do="copy the whole folder of the model",
            place=Location(file),
        ) from None
    except UnicodeDecodeError:
        raise _damaged(file, "text that is not UTF-8") from None
    if len(set(words)) < len(words):
        raise _damaged(file, "a subword that is there twice")
    return words


def _settings(file: Path) -> dict[str, object]:
    content = file.read_bytes()
    if len(content) > LONGEST_SETTINGS:
        raise _damaged(file, f"more than {LONGEST_SETTINGS:,} bytes")
    yaml, fault = shallow_yaml()
    try:
        values = yaml.load(content.decode())
    except (fault, ValueError, RecursionError) as error:
        raise _damaged(file, f"no YAML: {str(error)[:200]}") from None
    if not isinstance(values, dict):
        raise _damaged(file, "no names and values")
    waiting: list[object] = [values]
    for _ in range(MOST_SETTINGS):  # aliases may lead to one value many times, or round in a circle
        if not waiting:
            return values
        each = waiting.pop()
        waiting += (
            each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
        )
    raise _damaged(file, f"more than {MOST_SETTINGS:,} settings, or some that contain themselves")


def _damaged(file: Path, what: str) -> BundleError:
    return BundleError(
        "this model of JoeyNMT is damaged.",
        got=what,
        do="copy the whole folder of the model again",
        place=Location(file),
    )


def detects(path: Path) -> bool:
    """Whether this is a folder with a checkpoint, or a checkpoint."""
    if path.is_file():
        return path.suffix == SUFFIX and (path.parent / CONFIG).is_file()
    return (path / CONFIG).is_file() and any(path.glob(f"*{SUFFIX}"))


JOEYNMT_FOLDER = SourceLayout(
    f"a model of JoeyNMT: {CONFIG}, best.ckpt, {' and '.join(VOCABULARIES.values())}",
    detects,
    read,
)
