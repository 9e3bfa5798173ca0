"""Llama and what is built like it: Mistral, Qwen2 and Qwen3.

Source: Touvron et al. 2023; Jiang et al. 2023 (windows); Qwen2 (2024, biases), Qwen3 (2025, norms
of queries and keys); names of transformers.
"""

from collections.abc import Callable, Collection, Iterator
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from jumok.config.causal import CausalConfig
from jumok.config.section import Count, Layers, Share
from jumok.interop.activations import ActivationName, activation_here
from jumok.interop.families.rotary import RopeParameters
from jumok.interop.family import causal_family
from jumok.interop.rows import (
    HeadsToTurns,
    OutputBias,
    Same,
    Table,
    TensorRow,
    Transform,
    VocabularyRows,
)
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import Marks, causal_vocabulary, described_value, read_tokenizer
from jumok.interop.vocabulary import Vocabulary

LAYER_TYPES = {"full_attention": "whole", "sliding_attention": "window"}
"""What a layer sees, and the names of that in `window_layers`."""


class DecoderSettings(Settings):
    """The keys of config.json that all of them have."""

    without_effect: ClassVar[frozenset[str]] = frozenset({"max_window_layers", "pretraining_tp"})

    hidden_size: Count
    intermediate_size: Count
    num_hidden_layers: Layers
    num_attention_heads: Count
    num_key_value_heads: Count | None = None
    head_dim: Count | None = None
    hidden_act: ActivationName = "silu"
    max_position_embeddings: Count
    rms_norm_eps: float = Field(1e-6, gt=0.0, lt=1.0)
    rope_parameters: RopeParameters | None = None
    rope_theta: float = Field(1e4, gt=1.0)
    rope_scaling: RopeParameters | None = None
    attention_dropout: Share = 0.0
    tie_word_embeddings: bool = False
    bos_token_id: int | None = None
    eos_token_id: int | list[int] | None = None
    pad_token_id: int | None = None

    @field_validator("rope_parameters", "rope_scaling")
    @classmethod
    def _whole_heads(cls, rope: RopeParameters | None) -> RopeParameters | None:
        if rope is not None and rope.partial_rotary_factor != 1.0:
            raise ValueError(f"partial_rotary_factor = {rope.partial_rotary_factor} is not 1.0")
        return rope

    @property
    def biases(self) -> tuple[bool, bool]:
        """Whether queries, keys and values have them, and whether the other layers."""
        return False, False

    @property
    def normed(self) -> bool:
        """Whether queries and keys have norms."""
        return False

    @property
    def windows(self) -> tuple[int | None, tuple[str, ...]]:
        """What the layers see: the keys window and window_layers of [model]."""
        return None, ("window",)

    @property
    def width(self) -> int:
        """That of a head."""
        return self.head_dim or self.hidden_size // self.num_attention_heads

    @property
    def rope(self) -> RopeParameters:
        """The rotary positions, from wherever they are."""
        return self.rope_parameters or self.rope_scaling or RopeParameters.model_validate({})


class LlamaSettings(DecoderSettings):
    """Llama and SmolLM."""

    attention_bias: bool = False
    mlp_bias: bool = False

    @property
    def biases(self) -> tuple[bool, bool]:
        return self.attention_bias, self.mlp_bias


class MistralSettings(DecoderSettings):
    """Mistral."""

    sliding_window: Count | None = 4096

    @property
    def windows(self) -> tuple[int | None, tuple[str, ...]]:
        return self.sliding_window, ("window",)


class Qwen2Settings(DecoderSettings):
    """Qwen2."""

    use_sliding_window: bool = False
    sliding_window: Count | None = 4096
    max_window_layers: int = 28
    layer_types: list[Literal["full_attention", "sliding_attention"]] | None = None

    @property
    def biases(self) -> tuple[bool, bool]:
        return True, False

    @property
    def windows(self) -> tuple[int | None, tuple[str, ...]]:
        """From layer_types, or all layers from max_window_layers on."""
        if not self.use_sliding_window:
            return None, ("window",)
        seen = [LAYER_TYPES[each] for each in self.layer_types or ()] or [
            "window" if layer >= self.max_window_layers else "whole"
            for layer in range(self.num_hidden_layers)
        ]
        return (self.sliding_window, tuple(seen)) if "window" in seen else (None, ("window",))


class Qwen3Settings(Qwen2Settings):
    """Qwen3."""

    attention_bias: Literal[False] = False

    @property
    def biases(self) -> tuple[bool, bool]:
        return False, False

    @property
    def normed(self) -> bool:
        return True


def section(settings: DecoderSettings, _: Collection[str]) -> CausalConfig:
    """The same sizes as a section [model]."""
    (projections, others), rope = settings.biases, settings.rope
    window, window_layers = settings.windows
    return CausalConfig.model_validate(
        {
            "dim": settings.hidden_size,
            "heads": settings.num_attention_heads,
            "kv_heads": settings.num_key_value_heads,
            "head_dim": settings.width,
            "layers": settings.num_hidden_layers,
            "feedforward": settings.intermediate_size,
            "feedforward_kind": "gated",
            "activation": activation_here(settings.hidden_act),
            "bias": others,
            "projection_bias": projections,
            "norm_kind": "rms",
            "norm_epsilon": settings.rms_norm_eps,
            "process_heads": ("qk-norm",) if settings.normed else (),
            "positions": "rotary",
            "rotary_base": rope.rope_theta or settings.rope_theta,
            "rotary_scaling": rope.scaling(settings.max_position_embeddings),
            "max_length": settings.max_position_embeddings,
            "window": window,
            "window_layers": window_layers,
            "embedding_scale": False,
            "output_bias": True,
            "tied": settings.tie_word_embeddings,
            "dropout": 0.0,
            "attention_dropout": settings.attention_dropout,
        }
    )


def table(settings: DecoderSettings, _: Collection[str]) -> Table:
    """The tensors of a file with tensors of these names."""
    rows = decoder_rows(settings, HeadsToTurns(settings.width, settings.width))
    words = "model.embed_tokens.weight"
    tied = {words: ("lm_head.weight",)} if settings.tie_word_embeddings else {}
    layers = range(settings.num_hidden_layers)
    angles = [f"model.layers.{layer}.self_attn.rotary_emb.inv_freq" for layer in layers]
    return Table(tuple(rows), tied, tuple(angles))


def decoder_rows(
    settings: DecoderSettings,
    turned: Transform,
    named: Callable[[str], str] = lambda name: name,
    output_bias: bool = False,
) -> Iterator[TensorRow]:
    """The rows of the table.

    Args:
        turned: brings the rows of queries and keys into our order.
        named: gives what the file calls a tensor that transformers calls so.
        output_bias: whether the file has one.
    """
    layers, projections, others = settings.num_hidden_layers, *settings.biases

    def row(there: str, here: str, *how: Transform) -> TensorRow:
        number = layers if "{n}" in there else None
        return TensorRow((named(there),), (here,), how or (Same(),), number)

    yield row("model.embed_tokens.weight", "decoder.embedding.table", VocabularyRows())
    if not settings.tie_word_embeddings:
        yield row("lm_head.weight", "decoder.output.weight", VocabularyRows())
    bias = OutputBias((-1,) if output_bias else None)
    there = (named("lm_head.bias"),) if output_bias else ()
    yield TensorRow(there, ("decoder.output.bias",), (bias,))
    theirs, ours = "model.layers.{n}", "decoder.blocks.{n}"
    for name, here in LAYER.items():
        biased = projections if name.endswith(PROJECTIONS) else others
        how = (turned,) if name.endswith(PROJECTIONS[:2]) else ()
        for part in ("weight", "bias")[: 1 + biased]:
            yield row(f"{theirs}.{name}.{part}", f"{ours}.{here}.{part}", *how)
    if settings.normed:
        for name, what in (("q_norm", "queries"), ("k_norm", "keys")):
            here = f"{ours}.self_attention.process_{what}.0.weight"
            yield row(f"{theirs}.self_attn.{name}.weight", here, turned)
    # A norm there is before what reads it, and here after what is added before.
    yield row("model.layers.0.input_layernorm.weight", "decoder.first_norm.weight")
    yield row(f"{theirs}.post_attention_layernorm.weight", f"{ours}.after_self.norm.weight")
    after = "after_feedforward.norm.weight"
    follows = named("model.layers.{next}.input_layernorm.weight")
    yield TensorRow((follows,), (f"{ours}.{after}",), layers=layers - 1)
    yield row("model.norm.weight", f"decoder.blocks.{layers - 1}.{after}")


PROJECTIONS = "q_proj", "k_proj", "v_proj"
LAYER = {
    "self_attn.q_proj": "self_attention.query",
    "self_attn.k_proj": "self_attention.key",
    "self_attn.v_proj": "self_attention.value",
    "self_attn.o_proj": "self_attention.output",
    "mlp.gate_proj": "feedforward.gate",
    "mlp.up_proj": "feedforward.inner",
    "mlp.down_proj": "feedforward.outer",
}
"""The parts of a layer, and of a block."""


def vocabulary(source: Source, settings: DecoderSettings) -> Vocabulary:
    """The marks of a text's begin and end come first."""
    ends, described = settings.eos_token_id, read_tokenizer(source.folder, "BPE")
    if isinstance(ends, list):  # of a dialogue each turn has its own
        named = described_value(source.folder, "eos_token", "")
        known = {each["content"]: each["id"] for each in described["added_tokens"]}
        ends = known[named] if known.get(named) in ends else next(iter(ends), None)
    marks = Marks(settings.bos_token_id, ends, settings.pad_token_id)
    return causal_vocabulary(described, marks, settings.vocab_size, source.config_file)


LLAMAS = tuple(
    causal_family(name, kind, settings, section, table, vocabulary)
    for name, kind, settings in (
        ("Llama", "llama", LlamaSettings),
        ("Mistral", "mistral", MistralSettings),
        ("Qwen2", "qwen2", Qwen2Settings),
        ("Qwen3", "qwen3", Qwen3Settings),
    )
)
