"""Transformers that fairseq itself trained for translation (Ott et al. 2019)."""

from collections.abc import Collection, Iterator
from typing import Literal, Self

from pydantic import model_validator

from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.interop.families.fairseq import SIDES, layer_pairs, sinusoids
from jumok.interop.families.trainers.segmented import SUBWORDS, cut_by, models_of
from jumok.interop.families.trainers.tables import TIED, Aliases, WordTables
from jumok.interop.family import ModelFamily
from jumok.interop.folded import Computed
from jumok.interop.layouts.fairseq import KIND, read_words
from jumok.interop.rows import LaterRows, Table, TensorRow, layer_rows
from jumok.interop.settings import Settings, read_settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

ACTIVATIONS = {"gelu_accurate": "gelu_tanh", "gelu_fast": "gelu_tanh"}


class FairseqNmtSettings(Settings):
    """What is taken of a checkpoint's settings."""

    encoder_embed_dim: Count
    encoder_ffn_embed_dim: Count
    encoder_layers: Count
    encoder_attention_heads: Count
    encoder_normalize_before: bool = False
    encoder_learned_pos: bool = False
    decoder_embed_dim: Count
    decoder_ffn_embed_dim: Count
    decoder_layers: Count
    decoder_attention_heads: Count
    decoder_normalize_before: bool = False
    decoder_learned_pos: bool = False
    activation_fn: Literal["relu", "gelu", "gelu_accurate", "gelu_fast", "swish"] = "relu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    share_all_embeddings: bool = False
    share_decoder_input_output_embed: bool = False
    no_scale_embedding: bool = False
    layernorm_embedding: bool = False
    max_source_positions: Count = 1024
    max_target_positions: Count = 1024
    one_vocabulary: bool
    languages: tuple[str, str]

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        keys = ["embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before", "learned_pos"]
        for key in keys:
            one, other = (getattr(self, f"{side}_{key}") for side in SIDES)
            if one != other:
                raise ValueError(f"encoder_{key} = {one} and decoder_{key} = {other}")
        if self.encoder_learned_pos and self.max_source_positions != self.max_target_positions:
            raise ValueError("max_source_positions has to be max_target_positions")
        if self.share_all_embeddings and not self.one_vocabulary:
            raise ValueError("share_all_embeddings needs the same words of both languages")
        return self

    @property
    def positions(self) -> int:
        return max(self.max_source_positions, self.max_target_positions)

    @property
    def norm(self) -> Literal["pre", "post"]:
        return "pre" if self.encoder_normalize_before else "post"

    @property
    def aliases(self) -> Aliases:
        """The names of tables that are one."""
        whole = self.share_all_embeddings
        aliases = TABLES.aliases(whole, whole or self.share_decoder_input_output_embed)
        return aliases or {TABLES.output: ("decoder.embed_out",)}  # its name before 2020


TABLES = WordTables(
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.output_projection.weight",
)
UNUSED = (
    *(f"{side}.version" for side in SIDES),
    *(f"{side}.embed_positions._float_tensor" for side in SIDES),
)


def section(settings: FairseqNmtSettings, _: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]."""
    whole = settings.share_all_embeddings
    activation = ACTIVATIONS.get(settings.activation_fn, settings.activation_fn)
    return TransformerConfig.model_validate(
        {
            "dim": settings.encoder_embed_dim,
            "heads": settings.encoder_attention_heads,
            "encoder_layers": settings.encoder_layers,
            "decoder_layers": settings.decoder_layers,
            "feedforward": settings.encoder_ffn_embed_dim,
            "activation": "silu" if activation == "swish" else activation,
            "norm": settings.norm,
            "positions": "learned",
            "max_length": settings.positions,
            "embedding_scale": not settings.no_scale_embedding,
            "embedding_norm": settings.layernorm_embedding,
            "output_bias": True,
            "tied": TIED[whole, whole or settings.share_decoder_input_output_embed],
            "dropout": settings.dropout,
            "attention_dropout": settings.attention_dropout,
            "feedforward_dropout": settings.activation_dropout,
        }
    )


def table(settings: FairseqNmtSettings, _: Collection[str]) -> Table:
    """The tensors of a checkpoint with tensors of these names."""
    copies = (
        f"encoder.layers.{layer}.{name}_"  # of the layers, for faster reading
        for layer in range(settings.encoder_layers)
        for name in ("in_proj", "out_proj", "fc1", "fc2")
    )
    return Table(tuple(_rows(settings)), settings.aliases, (*UNUSED, *copies))


def _rows(settings: FairseqNmtSettings) -> Iterator[TensorRow]:
    yield from TABLES.rows(settings.aliases, stored=False, biased=True)
    for side in SIDES:
        ours = (f"{side}.embedding.positions.encoding.table",)
        if settings.encoder_learned_pos:
            theirs = (f"{side}.embed_positions.weight",)
            yield TensorRow(theirs, ours, (LaterRows(2),))
        else:
            positions = sinusoids(settings.positions, settings.encoder_embed_dim)
            yield TensorRow((), ours, (Computed(positions),))
        if settings.layernorm_embedding:
            yield from layer_rows(f"{side}.layernorm_embedding", f"{side}.embedding.norm")
    layers = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    for there, here, count in layer_pairs(layers, settings.norm, prefix=""):
        yield from layer_rows(there, here, layers=count)


def vocabulary(source: Source, settings: FairseqNmtSettings) -> Vocabulary:
    """The words of both languages, and the SentencePiece models that lie beside."""
    words = read_words(source.folder, settings.languages)
    return cut_by(models_of(source.folder, settings.languages), words, source)


FAIRSEQ = ModelFamily(
    name="fairseq",
    kinds=(KIND,),
    task="translation",
    settings=FairseqNmtSettings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda settings: min(settings.max_source_positions, settings.max_target_positions) - 1,
    languages=lambda source: read_settings(source, FairseqNmtSettings).languages,
    theirs=None,
    changes=("positions, which are computed there, are a table here", SUBWORDS),
)
