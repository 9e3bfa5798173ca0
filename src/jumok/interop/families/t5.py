"""T5 (versions 1.0 and 1.1), Flan-T5 and mT5: encoder-decoders with relative positions.

Source: Raffel et al. 2020; Shazeer 2020 (version 1.1); Xue et al. 2021; names of transformers.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.interop.family import ModelFamily
from jumok.interop.folded import Scaled
from jumok.interop.rows import (
    OutputBias,
    Table,
    TensorRow,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.sentencepieces import text_vocabulary
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.vocabulary import Vocabulary

SHARED, OUTPUT = "shared.weight", "lm_head.weight"
LONGEST = 512
"""Tokens of a text in training; the positions have no limit."""


class T5Settings(Settings):
    """The keys of a T5's config.json."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"n_positions", "output_past", "initializer_factor", "dense_act_fn"}
        | {"is_gated_act", "num_hidden_layers", "max_new_tokens"}
    )

    model_type: Literal["t5", "mt5"]
    d_model: Count
    d_kv: Count
    d_ff: Count
    num_layers: Count
    num_decoder_layers: Count | None = None
    num_heads: Count
    relative_attention_num_buckets: int = Field(32, ge=4, le=4096)
    relative_attention_max_distance: int = Field(128, ge=2, le=65536)
    dropout_rate: Share = 0.1
    layer_norm_epsilon: float = Field(1e-6, gt=0.0, lt=1.0)
    feed_forward_proj: Literal["relu", "gated-gelu", "gated-silu"] = "relu"
    is_encoder_decoder: Literal[True] = True
    tie_word_embeddings: bool = True
    scale_decoder_outputs: bool | None = None
    pad_token_id: int = Field(0, ge=0)
    eos_token_id: int = Field(1, ge=0)
    decoder_start_token_id: int = Field(0, ge=0)

    @property
    def decoder_layers(self) -> int:
        """By default as many as the encoder has."""
        return self.num_decoder_layers or self.num_layers

    @property
    def scaled(self) -> bool:
        """Whether logits are divided by the root of the width: in version 1.0."""
        if self.model_type == "mt5":
            return False
        known = self.scale_decoder_outputs
        return self.tie_word_embeddings if known is None else known

    def tied(self, names: Collection[str]) -> bool:
        """Whether logits are made with the embeddings' table, in a file with tensors of these
        names: transformers 5 does so in every version, unless there is another table.
        """
        return self.tie_word_embeddings and (self.scaled or OUTPUT not in names)


def section(settings: T5Settings, names: Collection[str]) -> TransformerConfig:
    """The same sizes as a section [model]. Version 1.0 divides logits by the root of the width;
    here the table is divided, and the embeddings, which share it, are multiplied.
    """
    gated, _, activation = settings.feed_forward_proj.rpartition("-")
    return TransformerConfig.model_validate(
        {
            "dim": settings.d_model,
            "heads": settings.num_heads,
            "head_dim": settings.d_kv,
            "score": "dot",
            "encoder_layers": settings.num_layers,
            "decoder_layers": settings.decoder_layers,
            "feedforward": settings.d_ff,
            "feedforward_kind": "gated" if gated else "plain",
            # "gelu" of gated layers is the approximation in this family
            "activation": {"gelu": "gelu_tanh"}.get(activation, activation),
            "bias": False,
            "norm": "pre",
            "norm_kind": "rms",
            "norm_epsilon": settings.layer_norm_epsilon,
            "positions": "relative",
            "relative_buckets": settings.relative_attention_num_buckets,
            "relative_distance": settings.relative_attention_max_distance,
            "embedding_scale": settings.scaled,
            "output_bias": True,
            "tied": "all" if settings.tied(names) else "inputs",
            "dropout": settings.dropout_rate,
            "attention_dropout": settings.dropout_rate,
            "feedforward_dropout": settings.dropout_rate,
        }
    )


def table(settings: T5Settings, names: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    same = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    unused = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.",)
    tied = settings.tied(names)
    aliases = {SHARED: (*same, OUTPUT) if tied else same}
    return Table(tuple(_rows(settings, tied)), aliases, unused)


def _rows(settings: T5Settings, tied: bool) -> Iterator[TensorRow]:
    scale = [Scaled(settings.d_model**-0.5)] if settings.scaled else []
    yield TensorRow((SHARED,), ("encoder.embedding.table",), (*scale, VocabularyRows()))
    if not tied:
        yield TensorRow((OUTPUT,), ("decoder.output.weight",), (*scale, VocabularyRows()))
    yield TensorRow((), ("decoder.output.bias",), (OutputBias(None),))
    for side, layers in (("encoder", settings.num_layers), ("decoder", settings.decoder_layers)):
        first = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield TensorRow((first,), (f"{side}.blocks.0.self_attention.bias.table",))
        for there, here, count in _layers(side, layers, settings.feed_forward_proj != "relu"):
            yield from layer_rows(there, here, layers=count, parts=("weight",))


def _layers(side: str, layers: int, gated: bool) -> Iterator[tuple[str, str, int | None]]:
    """The name of a linear layer or of a norm there, its name here, and how many layers it is for.
    A norm there is before what reads it, and here after what is added before.
    """
    there, here = f"{side}.block.{{n}}.layer", f"{side}.blocks.{{n}}"
    attentions = {"SelfAttention": "self", "EncDecAttention": "cross"}
    parts = list(attentions.items())[: 1 + (side == "decoder")]
    for number, (theirs, ours) in enumerate(parts):
        for letter, name in zip("qkvo", ("query", "key", "value", "output"), strict=True):
            own = f"{here}.{ours}_attention.{name}"
            yield f"{there}.{number}.{theirs}.{letter}", own, layers
        yield f"{there}.{number + 1}.layer_norm", f"{here}.after_{ours}.norm", layers
    dense = f"{there}.{len(parts)}.DenseReluDense"
    inner = {"wi_0": "gate", "wi_1": "inner"} if gated else {"wi": "inner"}
    for theirs, ours in {**inner, "wo": "outer"}.items():
        yield f"{dense}.{theirs}", f"{here}.feedforward.{ours}", layers
    after = "after_feedforward.norm"
    yield f"{side}.block.0.layer.0.layer_norm", f"{side}.first_norm", None
    yield f"{side}.block.{{next}}.layer.0.layer_norm", f"{here}.{after}", layers - 1
    yield f"{side}.final_layer_norm", f"{side}.blocks.{layers - 1}.{after}", None


def vocabulary(source: Source, settings: T5Settings) -> Vocabulary:
    """PAD, which also opens a target (START), UNKNOWN, END, and the others."""
    special = settings.pad_token_id, settings.decoder_start_token_id, settings.eos_token_id
    return text_vocabulary(source, settings.vocab_size, special, _names)


def _names(folder: Path, subwords: Sequence[str]) -> Mapping[int, str]:  # noqa: ARG001
    """The subwords, then <extra_id_99> to <extra_id_0>; mT5's are among its subwords."""
    extra = [f"<extra_id_{n}>" for n in reversed(range(100))]
    return dict(enumerate([*subwords, *(each for each in extra if each not in subwords)]))


T5 = ModelFamily(
    name="T5",
    kinds=("t5", "mt5"),
    task="translation",
    settings=T5Settings,
    section=section,
    table=table,
    vocabulary=vocabulary,
    longest=lambda _: LONGEST - 1,
    theirs=lambda _: "AutoModelForSeq2SeqLM",
    changes=("a task is named in the text, as in training: translate English to German: ...",),
)
