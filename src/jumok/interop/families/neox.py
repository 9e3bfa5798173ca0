"""GPT-NeoX (Pythia): a language model whose layers attend and feed forward in parallel, with rotary
positions in a part of each head.

Source: Black et al. 2022; Biderman et al. 2023; names of transformers.
"""

from collections.abc import Collection, Iterator
from typing import Literal

from pydantic import Field

from jumok.config.causal import CausalConfig
from jumok.config.section import Count, Layers, Share
from jumok.interop.activations import ActivationName, activation_here
from jumok.interop.families.rotary import RopeParameters
from jumok.interop.family import causal_family
from jumok.interop.rows import (
    HeadsToTurns,
    OutputBias,
    SplitHeads,
    Table,
    TensorRow,
    VocabularyRows,
    layer_rows,
)
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import Marks, causal_vocabulary, read_tokenizer
from jumok.interop.vocabulary import Vocabulary


class NeoxSettings(Settings):
    """The keys of a GPT-NeoX's config.json."""

    hidden_size: Count
    intermediate_size: Count
    num_hidden_layers: Layers
    num_attention_heads: Count
    hidden_act: ActivationName = "gelu"
    max_position_embeddings: Count = 2048
    layer_norm_eps: float = Field(1e-5, gt=0.0, lt=1.0)
    rope_parameters: RopeParameters | None = None
    rope_scaling: RopeParameters | None = None
    rotary_emb_base: float = Field(1e4, gt=1.0)
    rotary_pct: Share | Literal[1] = 0.25
    use_parallel_residual: bool = True
    attention_bias: Literal[True] = True
    attention_dropout: Share = 0.0
    hidden_dropout: Share = 0.0
    tie_word_embeddings: bool = False
    bos_token_id: int | None = 0
    eos_token_id: int = 0
    pad_token_id: int | None = None

    @property
    def width(self) -> int:
        """That of a head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def turned(self) -> int:
        """How much of it positions turn."""
        given = self.rope_parameters
        if given is not None and "partial_rotary_factor" in given.model_fields_set:
            return int(self.width * given.partial_rotary_factor)
        return int(self.width * self.rotary_pct)


def section(settings: NeoxSettings, _: Collection[str]) -> CausalConfig:
    """The same sizes as a section [model]."""
    rope = settings.rope_parameters or settings.rope_scaling or RopeParameters.model_validate({})
    return CausalConfig.model_validate(
        {
            "dim": settings.hidden_size,
            "heads": settings.num_attention_heads,
            "layers": settings.num_hidden_layers,
            "feedforward": settings.intermediate_size,
            "activation": activation_here(settings.hidden_act),
            "parallel": settings.use_parallel_residual,
            "norm_epsilon": settings.layer_norm_eps,
            "positions": "rotary",
            "rotary_base": rope.rope_theta or settings.rotary_emb_base,
            "rotary_dim": settings.turned if settings.turned < settings.width else None,
            "rotary_scaling": rope.scaling(settings.max_position_embeddings),
            "max_length": settings.max_position_embeddings,
            "embedding_scale": False,
            "output_bias": True,
            "tied": settings.tie_word_embeddings,
            "dropout": settings.hidden_dropout,
            "attention_dropout": settings.attention_dropout,
        }
    )


def table(settings: NeoxSettings, _: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    words, output = "gpt_neox.embed_in.weight", ("embed_out.weight", "lm_head.weight")
    tied = {words: output} if settings.tie_word_embeddings else {output[0]: output[1:]}
    layers = range(settings.num_hidden_layers)
    computed = [
        f"gpt_neox.layers.{layer}.attention.{what}"
        for layer in layers
        for what in ("bias", "masked_bias", "rotary_emb.inv_freq")
    ]
    return Table(tuple(_rows(settings)), tied, tuple(computed))


def _rows(settings: NeoxSettings) -> Iterator[TensorRow]:
    layers, theirs, block = settings.num_hidden_layers, "gpt_neox.layers", "decoder.blocks"
    words = ("decoder.embedding.table",), (VocabularyRows(),)
    yield TensorRow(("gpt_neox.embed_in.weight",), *words)
    if not settings.tie_word_embeddings:
        yield TensorRow(("embed_out.weight",), ("decoder.output.weight",), (VocabularyRows(),))
    yield TensorRow((), ("decoder.output.bias",), (OutputBias(None),))
    split = SplitHeads(settings.num_attention_heads, 3)
    turned = HeadsToTurns(settings.width, settings.turned, tensors=2)
    for part in ("weight", "bias"):
        fused = f"{theirs}.{{n}}.attention.query_key_value.{part}"
        names = [f"{block}.{{n}}.self_attention.{what}" for what in ("query", "key", "value")]
        ours = tuple(f"{name}.{part}" for name in names)
        yield TensorRow((fused,), ours, (split, turned), layers)
    for name, here in LAYER.items():
        yield from layer_rows(f"{theirs}.{{n}}.{name}", f"{block}.{{n}}.{here}", layers=layers)
    # A norm there is before what reads it, and here after what is added before.
    after = "after_feedforward.norm"
    yield from layer_rows(f"{theirs}.0.input_layernorm", "decoder.first_norm")
    follows = f"{theirs}.{{next}}.input_layernorm"
    yield from layer_rows(follows, f"{block}.{{n}}.{after}", layers=layers - 1)
    yield from layer_rows("gpt_neox.final_layer_norm", f"{block}.{layers - 1}.{after}")


LAYER = {
    "attention.dense": "self_attention.output",
    "mlp.dense_h_to_4h": "feedforward.inner",
    "mlp.dense_4h_to_h": "feedforward.outer",
    "post_attention_layernorm": "after_self.norm",
}
"""The parts of a layer, and of a block."""


def vocabulary(source: Source, settings: NeoxSettings) -> Vocabulary:
    """The marks of a text's begin and end come first."""
    marks = Marks(settings.bos_token_id, settings.eos_token_id, settings.pad_token_id)
    described = read_tokenizer(source.folder, "BPE")
    return causal_vocabulary(described, marks, settings.vocab_size, source.config_file)


NEOX = causal_family("GPT-NeoX", "gpt_neox", NeoxSettings, section, table, vocabulary)
