"""What texts are cut by in folders of other trainers: SentencePiece models, BPE codes, spaces."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from jumok.data.json_tokenizer import UNFINISHED
from jumok.data.pair_tokenizer import pair_file
from jumok.data.tokenizer import SPACE
from jumok.errors import BundleError, Location
from jumok.interop.layouts.eole import Words
from jumok.interop.sentencepieces import read_model
from jumok.interop.settings import SettingsPart
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary, of_words

SUBWORDS = (
    "where there is no subword model, words are what spaces separate: texts are given, and "
    "written, segmented as for training"
)

_PARTS = re.compile(r"[._-]")

Transforms = Annotated[list[Literal["sentencepiece", "bpe"]], Field(max_length=1)]


class Subwords(SettingsPart):
    """Where the subword models were, and how they were sampled from."""

    without_effect = frozenset(
        {"src_subword_nbest", "tgt_subword_nbest", "src_subword_alpha", "tgt_subword_alpha"}
        | {"src_subword_vocab", "tgt_subword_vocab", "replace_newline_sentinel"}
    )

    src_subword_model: str
    tgt_subword_model: str | None = None
    src_vocab_threshold: Literal[0] = 0
    tgt_vocab_threshold: Literal[0] = 0


class Segmenters(BaseModel):
    """The settings of the transforms; those of others than are used do not matter."""

    sentencepiece: Subwords | None = None
    bpe: Subwords | None = None


def segmented(
    source: Source, words: Words, transforms: Sequence[str], segmenters: Segmenters
) -> Vocabulary:
    """The words of both sides, and the tokenizer that makes them.

    Raises:
        BundleError: a subword model is missing or damaged.
    """
    if not transforms:
        return cut_by(models_of(source.folder, ("src", "tgt")), words, source)
    used = getattr(segmenters, transforms[0])
    names = ["the subword model"] if used is None else [used.src_subword_model]
    if used is not None and used.tgt_subword_model is not None:
        names.append(used.tgt_subword_model)
    files = [model_file(source, name) for name in names]
    return with_codes(files, words) if transforms[0] == "bpe" else cut_by(files, words, source)


def cut_by(files: Sequence[Path], words: Words, source: Source) -> Vocabulary:
    """The words of both sides, and the tokenizer that makes them.

    Args:
        files: the SentencePiece model, or that of sources and that of targets; none: spaces.

    Raises:
        BundleError: there is none, and the words are those of one; or one is damaged.
    """
    codes = [file for file in map(source.folder.joinpath, CODES) if file.is_file()]
    if not files and codes:
        return with_codes(codes, words)
    if not files and any(word.startswith(SPACE) for word in words.target):
        raise _missing(source, "the SentencePiece model that has made these words")
    if not files:
        return of_words(words.source, words.target, words.special, word_file)
    models = [read_model(file) for file in files]
    first, last = models[0], models[-1]
    return of_words(
        words.source, words.target, words.special, lambda names: pair_file(first, last, names)
    )


CODES = "bpecodes", "bpe.codes", "codes", "code"
LONGEST_CODES = 1 << 24


def with_codes(files: Sequence[Path], words: Words) -> Vocabulary:
    """The words of both sides, which are subwords of a BPE; its codes have to be those of both.

    Source: Sennrich et al. 2016; subword-nmt, version 0.2 of its files.

    Raises:
        BundleError: they are not, or damaged, or of an older version.
    """
    contents = [file.read_bytes()[: LONGEST_CODES + 1] for file in files]
    if contents[0] != contents[-1]:
        raise _codes_fault(files[-1], f"other codes than {files[0].name}")
    merges = _merges(files[0], contents[0])
    parts = (part for a, b in merges for part in (a, b, a + b))
    others = [part.removesuffix(END_OF_WORD) if part.endswith(END_OF_WORD) else part + UNFINISHED
              for part in dict.fromkeys(parts)]  # fmt: skip
    return of_words(
        words.source, words.target, words.special, lambda names: code_file(names, merges), others
    )


END_OF_WORD = "</w>"


def _merges(file: Path, content: bytes) -> list[tuple[str, str]]:
    """The pairs of subwords that become one, in their order."""
    try:
        first, *lines = content.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        raise _codes_fault(file, "text that is not UTF-8") from None
    if len(content) > LONGEST_CODES or first.strip() != "#version: 0.2":
        raise _codes_fault(file, f"{first[:40]!r} in its first line")
    pairs = [tuple(line.strip("\r ").split(" ")) for line in lines]
    for number, pair in enumerate(pairs, start=2):
        if len(pair) != 2 or not all(pair):
            raise _codes_fault(file, f"line {number}: no pair of subwords")
    return [(first, second) for first, second in dict.fromkeys(pairs)]


def _codes_fault(file: Path, got: str) -> BundleError:
    return BundleError(
        "the codes of a BPE are not read.",
        expected="one file for both languages, that begins with #version: 0.2 (subword-nmt)",
        got=got,
        place=Location(file),
    )


def code_file(names: Sequence[str], merges: Sequence[tuple[str, str]]) -> bytes:
    """The file of a tokenizer that cuts words by these codes; what is not finished ends with @@."""
    ids = {
        f"{name} "
        if id < 4
        else name.removesuffix(UNFINISHED)
        if name.endswith(UNFINISHED)
        else name + END_OF_WORD: id
        for id, name in enumerate(names)
    }
    model: dict[str, object] = {
        "type": "BPE", "dropout": None, "unk_token": f"{names[1]} ", "fuse_unk": False,
        "continuing_subword_prefix": None, "end_of_word_suffix": END_OF_WORD,
        "byte_fallback": False, "ignore_merges": False, "vocab": ids,
        "merges": [list(pair) for pair in merges],
    }  # fmt: skip
    return _json_file(model, {"type": "BPEDecoder", "suffix": END_OF_WORD})


def models_of(folder: Path, languages: Sequence[str]) -> list[Path]:
    """The SentencePiece models in a folder whose settings name none: one, or one a language.

    Raises:
        BundleError: there are others.
    """
    files = sorted(folder.glob("*.model"))
    if len(files) < 2:
        return files
    of_each = [
        [file for file in files if language in _PARTS.split(file.name)] for language in languages
    ]
    if all(len(each) == 1 for each in of_each):
        return [file for each in of_each for file in each]
    raise BundleError(
        "it is not known which subword model is for which language.",
        expected=" and ".join(f"spm.{language}.model" for language in languages),
        got=", ".join(file.name for file in files[:5]),
        do="name them so, or leave one",
        place=Location(folder),
    )


def model_file(source: Source, named: str) -> Path:
    """The copy of a subword model that is made into the folder; a BundleError if it is missing."""
    file = source.folder / Path(named).name
    if file.is_file():
        return file
    expected = f"{file.name}, the subword model that {source.config_file.name} names"
    raise _missing(source, expected)


def _missing(source: Source, expected: str) -> BundleError:
    return BundleError(
        "the tokenizer is missing.",
        expected=expected,
        got=f"no such file in {source.folder}",
        do="copy it into the folder of the model",
        place=Location(source.folder),
    )


def word_file(names: Sequence[str]) -> bytes:
    """The file of a tokenizer whose words are what spaces separate, by their ids."""
    # What a special token is called cannot be in a text: no word has a space.
    ids = {f"{name} " if id < 4 else name: id for id, name in enumerate(names)}
    model: dict[str, object] = {"type": "WordLevel", "vocab": ids, "unk_token": f"{names[1]} "}
    return _json_file(model, None)


def _json_file(model: dict[str, object], decoder: dict[str, str] | None) -> bytes:
    whole: dict[str, object] = {
        "version": "1.0", "added_tokens": [], "normalizer": None, "truncation": None,
        "padding": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None,
        "decoder": decoder, "model": model,
    }  # fmt: skip
    return json.dumps(whole, ensure_ascii=False).encode()
