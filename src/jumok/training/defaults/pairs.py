"""A recipe for parallel files, sized to the number of pairs.

Small corpora need a small, strongly regularised model (Sennrich and Zhang 2019); the paper's base
size is better from about half a million pairs on.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from jumok.config.writing import toml_path
from jumok.data.files.formats import bare_name
from jumok.data.pairs.corpus import Corpus, read_pairs
from jumok.data.report import UTF8


@dataclass(frozen=True)
class PairSize:
    """The settings for corpora of up to `pairs` pairs; None: of any size.

    Attributes:
        subwords: of the joint vocabulary; the smallest corpora use characters: then the maximum.
        batch: target tokens per step.
    """

    pairs: int | None
    kind: str
    subwords: int
    dim: int
    heads: int
    layers: int
    feedforward: int
    dropout: float
    batch: int
    optimizer: str
    learning_rate: float
    steps: int


PAIR_SIZES = (
    PairSize(2_000, "char", 4_000, 128, 4, 2, 512, 0.3, 1024, "adamw", 2e-3, 2_000),
    PairSize(10_000, "unigram", 4_000, 128, 4, 3, 512, 0.3, 2048, "adamw", 2e-3, 4_000),
    # the recipe multi30k-en-de, whose numbers are tuned
    PairSize(100_000, "bpe", 6_000, 128, 4, 4, 256, 0.3, 4096, "adamw", 5e-3, 5_000),
    PairSize(500_000, "unigram", 16_000, 256, 4, 4, 1024, 0.2, 4096, "adamw", 1.5e-3, 20_000),
    PairSize(3_000_000, "unigram", 32_000, 512, 8, 6, 2048, 0.1, 8192, "adamw", 1e-3, 60_000),
    PairSize(None, "unigram", 32_000, 512, 8, 6, 2048, 0.1, 16_384, "adamw", 1e-3, 150_000),
)


def pair_size_for(pairs: int) -> PairSize:
    """The first of PAIR_SIZES that fits."""
    return next(size for size in PAIR_SIZES if size.pairs is None or pairs <= size.pairs)


def recipe_for(
    corpus: Corpus, name: str, languages: tuple[str | None, str | None] = (None, None)
) -> str:
    """A complete recipe, as TOML for the user to edit.

    Args:
        languages: of source and target; None: the suffixes of the two files.

    Raises:
        DataError: the files cannot be read as pairs.
    """
    pairs = sum(1 for _ in read_pairs(corpus))
    size = pair_size_for(pairs)
    suffixes = [_suffix_language(path) for path in (corpus.source, corpus.target)]
    codes = [given_code or suffix for given_code, suffix in zip(languages, suffixes, strict=True)]
    text = json.dumps  # a JSON string is a TOML string
    return f"""\
# Made by jumok for {pairs:,} pairs; edit it as needed and train from this file.
# All keys: jumok recipes show multi30k-en-de
name = {text(name)}

[data]
source_language = {text(codes[0])}
target_language = {text(codes[1])}
validation_pairs = {min(500, max(1, pairs // 10))}  # held-out source sentences
skip_damaged = {text(corpus.skip_damaged)}  # true: leave out and count rows that cannot be read

[[data.train]]
{_corpus_keys(corpus)}

[tokenizer]
kind = {text(size.kind)}
size = {size.subwords}

[model]
dim = {size.dim}
heads = {size.heads}
encoder_layers = {size.layers}
decoder_layers = {size.layers}
feedforward = {size.feedforward}
dropout = {size.dropout}

[training]
steps = {size.steps}
tokens_per_batch = {size.batch}
optimizer = {text(size.optimizer)}
learning_rate = {size.learning_rate}

[training.schedule]
warmup = {size.steps // 10}

[validation]
every = {size.steps // 20}
patience = 6
"""


def _corpus_keys(corpus: Corpus) -> str:
    if corpus.file is None:
        sides = {"source": corpus.source, "target": corpus.target}
        keys = [f"{side} = {toml_path(path)}" for side, path in sides.items() if path]
    else:
        source, target = (json.dumps(each) for each in (corpus.source_column, corpus.target_column))
        keys = [f"file = {toml_path(corpus.file)}"]
        keys += [f"source_column = {source}", f"target_column = {target}"]
    return "\n".join(keys + read_as_keys(corpus.encoding, corpus.delimiter))


def read_as_keys(encoding: str, delimiter: str) -> list[str]:
    """The keys of a corpus that say how its text is read, where that is not the usual way."""
    keys = {"encoding": encoding if encoding != UTF8 else "", "delimiter": delimiter}
    return [f"{key} = {json.dumps(value)}" for key, value in keys.items() if value]


def _suffix_language(path: Path | None) -> str:
    """ "ko" of "a.ko" and of "train.ko.gz"; "" if the suffix is not a code."""
    suffix = "" if path is None else Path(bare_name(path)).suffix.removeprefix(".")
    return suffix if 2 <= len(suffix) <= 3 and suffix.isalpha() and suffix != "txt" else ""
