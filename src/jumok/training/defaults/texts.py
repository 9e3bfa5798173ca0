"""A recipe for a language model of plain text, sized to the length of the text.

The sizes follow the recipes shakespeare-bpe and enko-ko-lm, whose numbers are measured. The
smallest texts overfit within minutes, so training stops when the validation loss rises.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.config.writing import toml_path
from jumok.data.files.formats import bare_name
from jumok.data.report import UTF8
from jumok.data.texts.corpus import Rule, TextCorpus, all_documents
from jumok.errors import DataError, Location
from jumok.training.defaults.pairs import read_as_keys

LEAST_CHARACTERS = 10_000
"""Characters of the shortest text that a recipe is made for."""
MOST_HELD_OUT = 120_000
"""Characters that are held out at most; every validation reads all of them."""
COVERAGE = 0.9995
"""The share of the characters of the text that get a subword of their own; others are bytes."""
WORD = re.compile(r"[^\W\d_]{2,}")
FIXED = 261
"""Subwords besides those of the text: four special tokens, the line break and 256 bytes."""


@dataclass(frozen=True)
class TextSize:
    """The settings for texts of up to `characters` characters; None: of any length.

    Attributes:
        subwords: besides single characters and bytes.
        context: tokens of a window.
        batch: tokens per step.
        average: the decay of the averaged weights.
        patience: validations without improvement after which training stops.
    """

    characters: int | None
    subwords: int
    dim: int
    heads: int
    layers: int
    context: int
    dropout: float
    batch: int
    learning_rate: float
    steps: int
    average: float
    validations: int
    patience: int


TEXT_SIZES = (
    TextSize(300_000, 300, 128, 4, 4, 64, 0.2, 1_024, 3e-3, 2_000, 0.99, 20, 3),
    # the recipe shakespeare-bpe
    TextSize(3_000_000, 700, 128, 4, 4, 64, 0.1, 1_024, 6e-3, 2_000, 0.99, 10, 3),
    # the recipe enko-ko-lm
    TextSize(30_000_000, 6_000, 256, 4, 4, 128, 0.1, 2_048, 6e-3, 4_000, 0.995, 10, 3),
    TextSize(300_000_000, 12_000, 384, 6, 6, 256, 0.1, 8_192, 4e-3, 20_000, 0.998, 20, 3),
    TextSize(None, 24_000, 512, 8, 8, 512, 0.0, 16_384, 3e-3, 60_000, 0.998, 20, 3),
)


@dataclass(frozen=True)
class TextLength:
    """What the sizes depend on.

    Attributes:
        alphabet: how many of the most frequent characters make up `COVERAGE` of the text.
        words: distinct words of two letters or more, as far as they matter.
    """

    characters: int
    documents: int
    alphabet: int
    words: int


def text_size_for(characters: int) -> TextSize:
    """The first of TEXT_SIZES that fits."""
    fits = (size for size in TEXT_SIZES if size.characters is None or characters <= size.characters)
    return next(fits)


def measure(corpora: Sequence[TextCorpus], rule: Rule) -> TextLength:
    """Reads the text once."""
    counts: Counter[str] = Counter()
    words: set[str] = set()
    documents = 0
    for document in all_documents(corpora, rule):
        counts.update(document)
        documents += 1
        if len(words) < TEXT_SIZES[-1].subwords:
            words.update(WORD.findall(document))
    characters = counts.total()
    if characters < LEAST_CHARACTERS:
        raise DataError(
            "the text is too short to train a language model on.",
            expected=f"at least {LEAST_CHARACTERS:,} characters; a book has 500,000",
            got=f"{characters:,} characters",
            do="give more text: --text FILE --text FILE",
            place=Location(corpora[0].file),
        )
    return TextLength(characters, documents, _alphabet(counts), len(words))


def _alphabet(counts: Counter[str]) -> int:
    missing, number = COVERAGE * counts.total(), 0
    for _, count in counts.most_common():
        if missing <= 0:
            break
        missing -= count
        number += 1
    return number


def recipe_for_text(
    files: Sequence[Path], name: str, rule: Rule = "file", encoding: str = UTF8
) -> str:
    """A complete recipe, as TOML for the user to edit.

    Args:
        rule: what a document is: a file, a line, or the lines between two blank ones.

    Raises:
        DataError: a file cannot be read, or the text is too short.
    """
    length = measure([TextCorpus(file, encoding=encoding) for file in files], rule)
    size = text_size_for(length.characters)
    held_out = max(0.001, min(0.1, round(MOST_HELD_OUT / length.characters, 3)))
    documents = "1 document" if length.documents == 1 else f"{length.documents:,} documents"
    text = json.dumps  # a JSON string is a TOML string
    return f"""\
# Made by jumok for {length.characters:,} characters in {documents}; edit it as needed and train
# from this file. All keys: jumok recipes show shakespeare
name = {text(name)}

[data]
documents = {text(rule)}  # a document is a "file", a "line" or a "blank-line" block
held_out = {held_out}  # share of the text at its end, for validation
language = {text(_common_language(files))}

{_corpora_sections(files, encoding)}
[tokenizer]
kind = "bpe"
size = {FIXED + length.alphabet + min(size.subwords, length.words)}
character_coverage = {COVERAGE}

[model]
kind = "causal-lm"
dim = {size.dim}
heads = {size.heads}
layers = {size.layers}
feedforward = {4 * size.dim}
max_length = {size.context}  # the context in tokens
dropout = {size.dropout}

[training]
steps = {size.steps}
tokens_per_batch = {size.batch}
tokens_per_micro_batch = {min(size.batch // 2, 2_048)}
optimizer = "muon"
learning_rate = {size.learning_rate}
weight_decay = 0.1
schedule = {{ warmup = {size.steps // 20} }}
average = {{ decay = {size.average} }}

[validation]
every = {size.steps // size.validations}
patience = {size.patience}  # stop after this many validations without improvement
"""


def _corpora_sections(files: Iterable[Path], encoding: str) -> str:
    keys = "".join(f"{key}\n" for key in read_as_keys(encoding, ""))
    return "\n".join(f"[[data.train]]\nfile = {toml_path(file)}\n{keys}" for file in files)


def _common_language(files: Sequence[Path]) -> str:
    """ "ko" of "news.ko" and "news.ko.txt.gz"; "" if the names do not agree on a code."""
    codes = {_language_code(file) for file in files}
    return codes.pop() if len(codes) == 1 else ""


def _language_code(file: Path) -> str:
    suffixes = [suffix.removeprefix(".") for suffix in Path(bare_name(file)).suffixes]
    codes = [
        suffix for suffix in suffixes if len(suffix) == 2 and suffix.isalpha() and suffix.islower()
    ]
    return codes[-1] if codes else ""
