"""Llama and what is built like it in GGUF files, with their quantised numbers made float32.

Queries and keys of the architecture "llama" are stored as jumok turns them, those of others as
transformers does.

Source: gguf-py/gguf/constants.py (llama.cpp).
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator

from jumok.config.causal import CausalConfig
from jumok.config.section import Count, Layers
from jumok.config.stack import Llama3Scaling
from jumok.interop.families.llama import (
    DecoderSettings,
    LlamaSettings,
    Qwen2Settings,
    Qwen3Settings,
    decoder_rows,
    section,
)
from jumok.interop.family import ModelFamily, causal_family
from jumok.interop.gguf_tokenizer import GGML, described_tokenizer
from jumok.interop.layouts.gguf import FACTORS
from jumok.interop.rows import HeadsToTurns, Same, Table
from jumok.interop.settings import Settings
from jumok.interop.source import Source
from jumok.interop.tokenizers import Marks, causal_vocabulary
from jumok.interop.vocabulary import Vocabulary
from jumok.positions.tables import rotations


class GgufSettings(Settings):
    """The keys of a GGUF file's header, without the architecture's name before them."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {
            *("tokenizer.chat_template", "rope.scaling.finetuned"),
            *(f"{GGML}{key}" for key in ("model", "pre", "tokens", "scores", "token_type")),
            *(f"{GGML}{key}" for key in ("merges", "unknown_token_id", "add_space_prefix")),
            *(f"{GGML}add_{mark}_token" for mark in ("bos", "eos", "sep")),
            *(f"{GGML}{mark}_token_id" for mark in ("seperator", "cls", "mask", "eot", "eom")),
            *(f"quantize.imatrix.{key}" for key in ("file", "dataset")),
            *(f"quantize.imatrix.{key}_count" for key in ("entries", "chunks")),
        }
    )

    block_count: Layers
    context_length: Count
    embedding_length: Count
    feed_forward_length: Count
    heads: Count = Field(alias="attention.head_count")
    kv_heads: Count | None = Field(None, alias="attention.head_count_kv")
    key_length: Count | None = Field(None, alias="attention.key_length")
    value_length: Count | None = Field(None, alias="attention.value_length")
    epsilon: float = Field(alias="attention.layer_norm_rms_epsilon", gt=0.0, lt=1.0)
    base: float = Field(1e4, alias="rope.freq_base", gt=1.0)
    turned: Count | None = Field(None, alias="rope.dimension_count")
    scaling: Literal["none", "linear", "yarn"] = Field("none", alias="rope.scaling.type")
    factor: float = Field(1.0, alias="rope.scaling.factor", ge=1.0)
    original: Count | None = Field(None, alias="rope.scaling.original_context_length")
    factors: list[float] | None = Field(None, validation_alias=FACTORS)
    start: int | None = Field(None, alias="tokenizer.ggml.bos_token_id")
    end: int | None = Field(None, alias="tokenizer.ggml.eos_token_id")
    pad: int | None = Field(None, alias="tokenizer.ggml.padding_token_id")

    @field_validator("factors")
    @classmethod
    def _of_llama3(cls, factors: list[float] | None, info: ValidationInfo) -> list[float] | None:
        """They are those of the only kind of scaling that files have in this form."""
        read = info.data
        if factors is None or not {"heads", "embedding_length", "base", "scaling"} <= read.keys():
            return factors
        width = read.get("key_length") or read["embedding_length"] // read["heads"]
        if read["scaling"] == "none" and 2 * len(factors) == width and 1 <= max(factors) <= 1e6:
            plain, _ = rotations(width, read["base"])
            scaled, _ = rotations(width, read["base"], llama3_of(factors))
            if np.allclose(factors, plain / scaled, rtol=1e-6, atol=0.0):
                return factors
        raise ValueError("not the scaled rotary positions of Llama 3")

    @property
    def width(self) -> int:
        """That of a head."""
        return self.key_length or self.embedding_length // self.heads

    @property
    def rope(self) -> dict[str, Any]:
        """The rotary positions, as transformers names them."""
        rope: dict[str, Any] = {"rope_theta": self.base}
        if self.turned not in (None, self.width):
            rope["partial_rotary_factor"] = self.turned / self.width
        if self.factors is not None:
            scaling = llama3_of(self.factors)
            rope |= {"rope_type": "llama3", "factor": scaling.factor}
            rope |= {"low_freq_factor": scaling.slow, "high_freq_factor": scaling.fast}
            rope["original_max_position_embeddings"] = scaling.original_length
        elif self.scaling != "none":
            rope |= {"rope_type": self.scaling, "factor": self.factor}
            rope["original_max_position_embeddings"] = self.original
        return rope


def llama3_of(factors: Sequence[float]) -> Llama3Scaling:
    """The scaling of Llama 3.1 whose longest waves are longer by the largest factor."""
    return Llama3Scaling(factor=max(factors), original_length=8192)


def gguf_family(name: str, kind: type[DecoderSettings], *, in_pairs: bool = False) -> ModelFamily:
    """Files of the architecture of this name.

    Args:
        kind: the same settings in config.json.
        in_pairs: whether what is turned together lies together.
    """

    def theirs(settings: GgufSettings, tensors: Collection[str]) -> DecoderSettings:
        return kind.model_validate(
            {
                "vocab_size": settings.vocab_size,
                "hidden_size": settings.embedding_length,
                "intermediate_size": settings.feed_forward_length,
                "num_hidden_layers": settings.block_count,
                "num_attention_heads": settings.heads,
                "num_key_value_heads": settings.kv_heads,
                "head_dim": settings.width,
                "max_position_embeddings": settings.context_length,
                "rms_norm_eps": settings.epsilon,
                "rope_parameters": settings.rope,
                "tie_word_embeddings": "output.weight" not in tensors,
            }
        )

    def sizes(settings: GgufSettings, tensors: Collection[str]) -> CausalConfig:
        return section(theirs(settings, tensors), tensors)

    def table(settings: GgufSettings, tensors: Collection[str]) -> Table:
        same = theirs(settings, tensors)
        turned = Same() if in_pairs else HeadsToTurns(same.width, same.width)
        biased = "output.bias" in tensors
        return Table(tuple(decoder_rows(same, turned, name_of, biased)))

    family = causal_family(
        f"{name.capitalize()} in GGUF",
        f"gguf {name}",
        GgufSettings,
        sizes,
        table,
        vocabulary,
        lambda settings: settings.context_length,
        ("the quantised numbers as float32",),
        ("gguf", "accelerate"),
    )
    return replace(
        family,
        untold=lambda settings: {"rope_parameters": settings.rope} if settings.factors else {},
    )


def settings_of(section: CausalConfig, rows: int) -> GgufSettings:
    """The header of a file with a model of our sizes, as far as it has keys for them.

    Args:
        rows: of the vocabulary.
    """
    sizes, scaling = section.sizes, section.rotary_scaling
    rope: dict[str, Any] = {}
    if scaling is not None and scaling.kind != "llama3":
        rope = {"rope.scaling.type": scaling.kind, "rope.scaling.factor": scaling.factor}
    if scaling is not None and scaling.kind == "yarn":
        rope["rope.scaling.original_context_length"] = scaling.original_length
    return GgufSettings.model_validate(
        {
            "vocab_size": rows,
            "block_count": section.layers,
            "context_length": section.max_length,
            "embedding_length": section.dim,
            "feed_forward_length": section.feedforward,
            "attention.head_count": section.heads,
            "attention.head_count_kv": sizes.kv_heads,
            "attention.key_length": sizes.head_dim,
            "attention.value_length": sizes.head_dim,
            "attention.layer_norm_rms_epsilon": section.norm_epsilon,
            "rope.freq_base": section.rotary_base,
            "rope.dimension_count": sizes.head_dim,
            **rope,
        }
    )


NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers": "blk",
    "post_attention_layernorm": "ffn_norm",
    "input_layernorm": "attn_norm",
    "self_attn.o_proj": "attn_output",
    "self_attn.": "attn_",
    "mlp.": "ffn_",
    "_proj": "",
}
"""Parts of names of transformers, and what they are here."""


def name_of(name: str) -> str:
    """What a file calls the tensor that transformers calls so."""
    for there, here in NAMES.items():
        name = name.replace(there, here)
    return name


def vocabulary(source: Source, settings: GgufSettings) -> Vocabulary:
    """The marks of a text's begin and end come first."""
    marks = Marks(settings.start, settings.end, settings.pad)
    described = described_tokenizer(source)
    return causal_vocabulary(described, marks, settings.vocab_size, source.config_file)


GGUF_QWEN2 = gguf_family("qwen2", Qwen2Settings)
GGUF_LLAMAS = (
    gguf_family("llama", LlamaSettings, in_pairs=True),
    GGUF_QWEN2,
    gguf_family("qwen3", Qwen3Settings),
)
