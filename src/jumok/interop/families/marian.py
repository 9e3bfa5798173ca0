"""Marian as transformers has it (OPUS-MT): a post-norm Transformer for translation.

Source: Junczys-Dowmunt et al. 2018; Tiedemann and Thottingal 2020; names of transformers.
"""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import ClassVar, Literal

import sentencepiece
from pydantic import ValidationInfo, field_validator

from jumok.bundle.reading import read_json_object
from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.data.pair_tokenizer import PairTokenizer, pair_file
from jumok.errors import BundleError, Location
from jumok.interop.family import ModelFamily
from jumok.interop.rows import (
    HalvesToTurns,
    OutputBias,
    Table,
    TensorRow,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.settings import Settings
from jumok.interop.tokenizers import VOCABULARY, described_value, known_id
from jumok.interop.vocabulary import Vocabulary

ACTIVATIONS = {"swish": "silu", "gelu_new": "gelu_tanh"}
"""The names there that are others here."""
SPECIAL = "<pad>", "<unk>", "<s>", "</s>"
SOURCE, TARGET = "source.spm", "target.spm"
_TAG = re.compile(">>[^<>]+<<")


class MarianSettings(Settings):
    """The keys of a Marian's config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"is_encoder_decoder", "num_hidden_layers", "classif_dropout", "extra_pos_embeddings"}
        | {"encoder_layerdrop", "decoder_layerdrop", "_num_labels", "static_position_embeddings"}
    )

    d_model: Count
    encoder_layers: Count
    decoder_layers: Count
    encoder_attention_heads: Count
    decoder_attention_heads: Count
    encoder_ffn_dim: Count
    decoder_ffn_dim: Count
    activation_function: Literal["relu", "gelu", "gelu_new", "silu", "swish"] = "gelu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    max_position_embeddings: Count = 1024
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: Literal[True] = True
    decoder_vocab_size: Count | None = None
    tie_word_embeddings: Literal[True] = True
    normalize_before: Literal[False] = False
    normalize_embedding: Literal[False] = False
    add_final_layer_norm: Literal[False] = False
    add_bias_logits: Literal[False] = False
    pad_token_id: Count
    decoder_start_token_id: Count
    eos_token_id: Literal[0] = 0

    @field_validator(
        "decoder_attention_heads", "decoder_ffn_dim", "decoder_vocab_size", "decoder_start_token_id"
    )
    @classmethod
    def _as_the_other(cls, value: int | None, info: ValidationInfo) -> int | None:
        """What jumok has once for both sides."""
        other = EQUAL_KEYS[str(info.field_name)]
        known = info.data.get(other)
        if value is not None and known is not None and value != known:
            raise ValueError(f"it has to be {other} = {known}")
        return value


EQUAL_KEYS = {
    "decoder_attention_heads": "encoder_attention_heads",
    "decoder_ffn_dim": "encoder_ffn_dim",
    "decoder_vocab_size": "vocab_size",
    "decoder_start_token_id": "pad_token_id",
}


def section(settings: MarianSettings, _: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    activation = settings.activation_function
    return TransformerConfig.model_validate(
        {
            "dim": settings.d_model,
            "heads": settings.encoder_attention_heads,
            "encoder_layers": settings.encoder_layers,
            "decoder_layers": settings.decoder_layers,
            "feedforward": settings.encoder_ffn_dim,
            "activation": ACTIVATIONS.get(activation, activation),
            "norm": "post",
            "positions": "sinusoidal",
            "max_length": settings.max_position_embeddings,
            "embedding_scale": settings.scale_embedding,
            "output_bias": True,
            "tied": "all",
            "dropout": settings.dropout,
            "attention_dropout": settings.attention_dropout,
            "feedforward_dropout": settings.activation_dropout,
        }
    )


def table(settings: MarianSettings, _: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    shared = "model.shared.weight"
    tied = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
    computed = "model.encoder.embed_positions.", "model.decoder.embed_positions."
    return Table(tuple(_rows(settings, shared)), {shared: (*tied, "lm_head.weight")}, computed)


def _rows(settings: MarianSettings, shared: str) -> Iterator[TensorRow]:
    yield TensorRow((shared,), ("encoder.embedding.table",), (HalvesToTurns(), VocabularyRows()))
    yield TensorRow(("final_logits_bias",), ("decoder.output.bias",), (OutputBias((1, -1)),))
    for side, layers, parts in (
        ("encoder", settings.encoder_layers, ENCODER),
        ("decoder", settings.decoder_layers, DECODER),
    ):
        theirs, ours = f"model.{side}.layers.{{n}}", f"{side}.blocks.{{n}}"
        for name, here in parts.items():
            reads = name.endswith(READERS)
            if not reads:  # its rows are axes of the stream
                yield from layer_rows(
                    f"{theirs}.{name}", f"{ours}.{here}", HalvesToTurns((0,)), layers=layers
                )
                continue
            weight, bias = ((f"{theirs}.{name}.{part}",) for part in ("weight", "bias"))
            yield TensorRow(weight, (f"{ours}.{here}.weight",), (HalvesToTurns(),), layers)
            yield TensorRow(bias, (f"{ours}.{here}.bias",), layers=layers)


READERS = "q_proj", "k_proj", "v_proj", "fc1"
ENCODER = {
    "self_attn.q_proj": "self_attention.query",
    "self_attn.k_proj": "self_attention.key",
    "self_attn.v_proj": "self_attention.value",
    "self_attn.out_proj": "self_attention.output",
    "self_attn_layer_norm": "after_self.norm",
    "fc1": "feedforward.inner",
    "fc2": "feedforward.outer",
    "final_layer_norm": "after_feedforward.norm",
}
"""The parts of a layer, and of a block."""
DECODER = ENCODER | {
    "encoder_attn.q_proj": "cross_attention.query",
    "encoder_attn.k_proj": "cross_attention.key",
    "encoder_attn.v_proj": "cross_attention.value",
    "encoder_attn.out_proj": "cross_attention.output",
    "encoder_attn_layer_norm": "after_cross.norm",
}


def vocabulary(folder: Path, settings: MarianSettings) -> Vocabulary:
    """PAD, which also opens a target (START), UNKNOWN, END, and the others."""
    known = read_json_object(_existing_file(folder, VOCABULARY))
    ids = {piece: id for piece, id in known.items() if isinstance(id, int)}
    names = {id: piece for piece, id in ids.items()}
    rows, pad = settings.vocab_size, settings.pad_token_id
    if len(names) != len(known) or sorted(names) != list(range(rows)) or pad >= rows:
        raise BundleError(
            "the vocabulary is not this model's.",
            expected=f"a subword for each id from 0 to {rows - 1}, and pad_token_id among them",
            got=f"{len(known):,} subwords, {len(names):,} ids, pad_token_id = {pad}",
            place=Location(folder / VOCABULARY),
        )
    if tags := [piece for piece in known if _TAG.fullmatch(piece)]:
        raise BundleError(
            "this model writes several languages, and a jumok translator writes one.",
            expected="a vocabulary without names of languages",
            got=", ".join(tags[:5]),
            do="import a model of one pair of languages",
            place=Location(folder / VOCABULARY),
        )
    unknown = known_id(folder / VOCABULARY, ids, "<unk>")
    first = pad, unknown, pad, settings.eos_token_id
    order = (*first, *(id for id in range(rows) if id not in first))
    models = [_model(_existing_file(folder, name)) for name in (SOURCE, TARGET)]
    pieces = [*SPECIAL, *(names[id] for id in order[len(first) :])]
    return Vocabulary(order, (2,), rows, pair_file(models[0], models[1], pieces))


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


def languages(folder: Path) -> tuple[str, str]:
    """The codes that tokenizer_config.json names; "" where it does not."""
    codes = (described_value(folder, key, "") for key in ("source_lang", "target_lang"))
    source, target = (code if isinstance(code, str) and len(code) <= 3 else "" for code in codes)
    return source, target


MARIAN = ModelFamily(
    name="Marian",
    model_type="marian",
    task="translation",
    settings=MarianSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: settings.max_position_embeddings - 1,
    tokenizer=PairTokenizer,
    languages=languages,
    theirs=lambda _: "AutoModelForSeq2SeqLM",
)
