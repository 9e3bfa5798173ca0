"""What a family of models is: its table, and what its config and its tokenizer are here."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumok.config.section import ModelSection
from jumok.data.json_tokenizer import JsonTokenizer
from jumok.data.tokenizer import Tokenizer
from jumok.errors import Location
from jumok.interop.rows import Table
from jumok.interop.settings import Settings
from jumok.interop.vocabulary import Vocabulary


@dataclass(frozen=True)
class ModelFamily:
    """Models whose folders are read.

    Attributes:
        name: as people call it.
        model_type: in config.json.
        task: of the bundle (`jumok/kinds.py`).
        settings: the keys of config.json.
        section: (settings, names of tensors) -> our section [model].
        table: (settings, names of tensors) -> the tensors.
        vocabulary: (folder, settings) -> the rows of tables, and the tokenizer.
        longest: (settings) -> the most tokens of a text.
        theirs: (section) -> the class of transformers that computes the same.
        documents: of a language model, what one document is (`BundleConfig`).
        changes: what the bundle does otherwise than the folder, in words.
        languages: of source and target; "" where not known.
        tokenizer: reads the tokenizer.
    """

    name: str
    model_type: str
    task: str
    settings: type[Settings]
    section: Callable[[Any, Collection[str]], ModelSection]
    table: Callable[[Any, Collection[str]], Table]
    vocabulary: Callable[[Path, Any], Vocabulary]
    longest: Callable[[Any], int]
    theirs: Callable[[Any], str]
    documents: str = ""
    changes: tuple[str, ...] = ()
    languages: Callable[[Path], tuple[str, str]] = lambda _: ("", "")
    tokenizer: Callable[[bytes, Location], Tokenizer] = JsonTokenizer
