"""Marian as transformers has it (OPUS-MT): a post-norm Transformer for translation.

Source: Junczys-Dowmunt et al. 2018; Tiedemann and Thottingal 2020; names of transformers.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import sentencepiece
from pydantic import ValidationInfo, field_validator

from jumok.bundle.card import LanguageTokens
from jumok.bundle.reading import read_json_object
from jumok.config.section import Count
from jumok.config.transformer import TransformerConfig
from jumok.data.pair_tokenizer import pair_file
from jumok.data.special_tokens import SPECIAL
from jumok.data.tokenizer import START, Tokenizer
from jumok.errors import BundleError, Location
from jumok.interop.families.fairseq import (
    STREAM_READERS,
    FairseqSettings,
    Token,
    equal_value,
    layer_pairs,
    section_of,
)
from jumok.interop.family import ModelFamily, PairTokens
from jumok.interop.rows import (
    HalvesToTurns,
    OutputBias,
    Same,
    Table,
    TensorRow,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.source import Source
from jumok.interop.tokenizers import VOCABULARY, described_value, known_id
from jumok.interop.vocabulary import Vocabulary

SOURCE, TARGET = "source.spm", "target.spm"
TARGET_VOCABULARY = "target_vocab.json"
SHARED = "model.shared.weight"
_TAG = re.compile(">>([^<>]+)<<")
"""What opens a source that is to be translated into this language."""


class MarianSettings(FairseqSettings):
    """The keys of a Marian's config.json."""

    without_effect: ClassVar[frozenset[str]] = FairseqSettings.without_effect | {
        "static_position_embeddings"
    }

    max_position_embeddings: Count = 1024
    share_encoder_decoder_embeddings: bool = True  # type: ignore[assignment]
    decoder_vocab_size: Count | None = None
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False
    pad_token_id: Token
    decoder_start_token_id: Token
    eos_token_id: Token = 0

    @field_validator("decoder_vocab_size")
    @classmethod
    def _of_one_vocabulary(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None or not info.data.get("share_encoder_decoder_embeddings", True):
            return value
        return equal_value(value, "vocab_size", info)


def section(settings: MarianSettings, _: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    tied = "all" if settings.share_encoder_decoder_embeddings else "target"
    return section_of(settings, norm="post", positions="sinusoidal", tied=tied)


def table(settings: MarianSettings, _: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    sides = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    tables = {SHARED: sides} if settings.share_encoder_decoder_embeddings else {sides[1]: ()}
    tied = {name: (*others, "lm_head.weight") for name, others in tables.items()}
    computed = "model.encoder.embed_positions.", "model.decoder.embed_positions."
    return Table(tuple(_rows(settings, sides)), tied, computed)


def _rows(settings: MarianSettings, sides: tuple[str, str]) -> Iterator[TensorRow]:
    here = "encoder.embedding.table", "decoder.embedding.table"
    if settings.share_encoder_decoder_embeddings:
        yield TensorRow((SHARED,), here[:1], (HalvesToTurns(), VocabularyRows()))
    else:
        yield TensorRow(sides[:1], here[:1], (HalvesToTurns(), VocabularyRows(of_source=True)))
        yield TensorRow(sides[1:], here[1:], (HalvesToTurns(), VocabularyRows()))
    yield TensorRow(("final_logits_bias",), ("decoder.output.bias",), (OutputBias((1, -1)),))
    layers = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    for there, ours, count in layer_pairs(layers, "post"):
        if there.endswith(STREAM_READERS):
            for part, how in (("weight", HalvesToTurns()), ("bias", Same())):
                yield from layer_rows(there, ours, how, layers=count, parts=(part,))
        else:
            yield from layer_rows(there, ours, HalvesToTurns((0,)), layers=count)


def vocabulary(source: Source, settings: MarianSettings) -> Vocabulary:
    """PAD, which usually also opens a target (START), UNKNOWN, END, and the others. Where sources
    and targets have a vocabulary each, these are those of both.
    """
    folder, pad, start = source.folder, settings.pad_token_id, settings.decoder_start_token_id
    rows, end = settings.vocab_size, settings.eos_token_id
    known = read_json_object(_existing_file(folder, VOCABULARY))
    own = known.get(SPECIAL[START]) == start != pad  # as jumok itself writes such folders
    if settings.share_encoder_decoder_embeddings:
        if not own and start != pad:
            raise BundleError(
                "targets open with a token that is neither that of padding nor <s>.",
                expected=f"pad_token_id = {pad}",
                got=f"decoder_start_token_id = {start}",
                place=Location(source.config_file),
            )
        read = written = _Side.of(folder, VOCABULARY, rows, pad, start, end)
    else:
        targets = settings.decoder_vocab_size or rows
        first = [(pad, start)] * 2 if own else [(pad, pad), (start, start)]
        read = _Side.of(folder, VOCABULARY, rows, *first[0], end)
        written = _Side.of(folder, TARGET_VOCABULARY, targets, *first[1], end)
    others = list(dict.fromkeys([*read.others, *written.others]))
    models = [_model(_existing_file(folder, name)) for name in (SOURCE, TARGET)]
    file = pair_file(models[0], models[1], [*SPECIAL, *others])
    made = written.vocabulary(others, file)
    return made if written is read else replace(made, source=read.vocabulary(others, file))


@dataclass(frozen=True)
class _Side:
    """The rows of one side.

    Attributes:
        special: the rows of PAD, UNKNOWN, START and END.
        others: those of other subwords.
    """

    rows: int
    special: tuple[int, int, int, int]
    others: Mapping[str, int]

    @classmethod
    def of(cls, folder: Path, name: str, rows: int, pad: int, start: int, end: int) -> "_Side":
        known = read_json_object(_existing_file(folder, name))
        ids = {piece: id for piece, id in known.items() if isinstance(id, int)}
        if (
            len(ids) != len(known)
            or sorted(ids.values()) != list(range(rows))
            or (max(pad, start, end) >= rows)
        ):
            raise BundleError(
                "the vocabulary is not this model's.",
                expected=f"a subword for each id from 0 to {rows - 1}, and pad_token_id among them",
                got=f"{len(known):,} subwords, {len(set(ids.values())):,} ids, "
                f"pad_token_id = {pad}",
                place=Location(folder / name),
            )
        special = pad, known_id(folder / name, ids, "<unk>"), start, end
        order = sorted(ids, key=ids.__getitem__)
        others = {piece: ids[piece] for piece in order if ids[piece] not in special}
        return cls(rows, special, others)

    def vocabulary(self, pieces: Sequence[str], tokenizer: bytes) -> Vocabulary:
        """These rows, in the order of the subwords of both sides."""
        pad, _, start, _ = self.special
        first = len(SPECIAL)
        order = (*self.special, *(self.others.get(piece, pad) for piece in pieces))
        lacking = tuple(
            id for id, piece in enumerate(pieces, start=first) if piece not in self.others
        )
        copies = (START,) if start == pad else ()
        return Vocabulary(order, (*copies, *lacking), self.rows, tokenizer, lacking)


def _existing_file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise BundleError(
            "a file of the tokenizer is missing.",
            expected=f"{SOURCE}, {TARGET} and {VOCABULARY}",
            got=f"no {name}",
            do="copy or download the whole folder again",
            place=Location(folder),
        )
    return folder / name


def _model(file: Path) -> bytes:
    model = file.read_bytes()
    try:
        sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise BundleError("this is not a SentencePiece model.", place=Location(file)) from None
    return model


def languages(source: Source) -> tuple[str, str]:
    """The codes that tokenizer_config.json names; "" where it does not."""
    named = (described_value(source.folder, key, "") for key in ("source_lang", "target_lang"))
    read, written = (code if isinstance(code, str) and len(code) <= 3 else "" for code in named)
    return read, written


def language_tokens(plan: Any) -> PairTokens:
    """The languages that the vocabulary has a tag of, into which a model translates."""
    tokenizer: Tokenizer = plan.tokenizer
    tags = map(_TAG.fullmatch, tokenizer.pieces(range(tokenizer.size)))
    asked = {tag[1]: LanguageTokens(asked=id) for id, tag in enumerate(tags) if tag}
    if not asked:
        return {}, ()
    source, _ = languages(plan.source)
    pairs = tuple((source, code) for code in asked if code != source)
    return asked | {source: asked.get(source, LanguageTokens())}, pairs


MARIAN = ModelFamily(
    name="Marian",
    kinds=("marian",),
    task="translation",
    settings=MarianSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: settings.max_position_embeddings - 1,
    languages=languages,
    language_tokens=language_tokens,
    theirs=lambda _: "AutoModelForSeq2SeqLM",
)
