"""Folders of Eole: config.json, vocab.json, and weights in one file of safetensors or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumok.bundle.reading import read_json_object
from jumok.errors import BundleError, Location
from jumok.interop.source import Source, SourceLayout

if TYPE_CHECKING:
    from jumok.interop.containers import Container

CONFIG, VOCABULARY, FIRST = "config.json", "vocab.json", "model.00.safetensors"
SPECIAL = {
    "pad_token": "<blank>",
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
}
"""The names of the special tokens, where the file does not say them."""

ONLY_TRAINING = {"filtertoolong", "filtertooshort", "clean", "switchout", "tokendrop", "tokenmask"}
"""Transforms that texts are not changed by when they are translated."""


@dataclass(frozen=True)
class Words:
    """The words of both sides by their ids, and which are special.

    Attributes:
        special: the rows of PAD, UNKNOWN, START and END among the words of targets.
    """

    source: list[str]
    target: list[str]
    special: tuple[int, int, int, int]


def read(folder: Path) -> Source:
    """The model in this folder.

    Raises:
        BundleError: a file is missing or damaged.
    """
    file = folder / CONFIG
    config, words = read_json_object(file), read_words(folder / VOCABULARY)
    model = config.get("model")
    if not isinstance(model, dict):
        raise damaged(file, "no model")
    settings = {
        **model,
        "training": config.get("training", {}),
        "transforms": transforms_of(config),
        "transforms_configs": config.get("transforms_configs", {}),
        "one_vocabulary": words.source == words.target,
        "vocab_size": len(words.target),
    }
    kind = str(model.get("architecture", "custom"))[:60]
    named = f"a model of Eole ({kind})"
    return Source(folder, f"eole {kind}", named, settings, file, lambda: _weights(folder))


def _weights(folder: Path) -> "Container":
    from jumok.interop.containers import of_safetensors

    return of_safetensors(folder, sorted(folder.glob("model.[0-9][0-9].safetensors")))


def transforms_of(config: Mapping[str, Any]) -> Any:
    """The names of those that change what is translated."""
    listed = config.get("transforms")
    if not isinstance(listed, list):
        return listed or []
    return [each for each in listed if not (isinstance(each, str) and each in ONLY_TRAINING)]


def read_words(file: Path) -> Words:
    """The vocabularies; a BundleError if they are missing or damaged."""
    values = read_json_object(file)
    special = values.get("specials")
    special = SPECIAL | (special if isinstance(special, dict) else {})
    return words_of(file, values, special, values.get("decoder_start_token"))


def words_of(
    file: Path, values: Mapping[str, Any], special: Mapping[str, Any], start: Any
) -> Words:
    """The words of "src" and "tgt".

    Args:
        start: what targets begin with.

    Raises:
        BundleError: they are no lists of different words, or lack a special token.
    """
    source, target = (_side(file, values.get(side)) for side in ("src", "tgt"))
    names = [special["pad_token"], special["unk_token"], start, special["eos_token"]]
    return Words(source, target, _rows(file, names, source, target))


def _side(file: Path, words: Any) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise damaged(file, "no words of src and tgt")
    if len(set(words)) < len(words):
        raise damaged(file, "a word that is there twice")
    return words


def _rows(
    file: Path, names: Sequence[Any], source: list[str], target: list[str]
) -> tuple[int, int, int, int]:
    known, here = {word: row for row, word in enumerate(target)}, set(source)
    pad, unknown, start, end = names
    for name in names:
        if not isinstance(name, str) or name not in known or (name not in here and name != start):
            raise damaged(file, f"no special token {str(name)[:60]}")
    if len({*names}) < len(names) - (start == end):
        raise damaged(file, f"one word for several special tokens: {', '.join(names)}")
    return known[pad], known[unknown], known[start], known[end]


def damaged(file: Path, what: str) -> BundleError:
    """The error for a file that lacks something."""
    return BundleError(
        "this model of Eole or OpenNMT-py is damaged.",
        got=what,
        do="copy the whole folder of the model again",
        place=Location(file),
    )


EOLE_FOLDER = SourceLayout(
    f"a model of Eole: {CONFIG}, {VOCABULARY}, {FIRST}",
    lambda path: (path / FIRST).is_file() and (path / CONFIG).is_file(),
    read,
)
