"""The tensors of encoder-decoders that come from fairseq, as transformers names them."""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, ValidationInfo, field_validator
from torch import Tensor

from jumok.config.section import Count, Share
from jumok.config.transformer import TransformerConfig
from jumok.interop.activations import ActivationName, activation_here
from jumok.interop.families.blocks import LayerNames, LayerPair
from jumok.interop.settings import Settings

ATTENTION = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
SIDES = "encoder", "decoder"
STREAM_READERS = "q_proj", "k_proj", "v_proj", "fc1"
"""The layers whose columns are axes of the stream; the rows of the others are."""


def layer_names(side: str, prefix: str = "model.") -> LayerNames:
    """Those of one side.

    Args:
        prefix: before all names; fairseq itself has none.
    """
    parts = {"self_attn": "self"} | ({"encoder_attn": "cross"} if side == "decoder" else {})
    norms = *(f"{name}_layer_norm" for name in parts), "final_layer_norm"
    own = f"{prefix}{side}"
    return LayerNames(
        f"{own}.layers", parts, ATTENTION, "fc1", "fc2", norms, last=f"{own}.layer_norm"
    )


def layer_pairs(layers: dict[str, int], norm: str, prefix: str = "model.") -> Iterator[LayerPair]:
    """The linear layers and norms of both sides' blocks.

    Args:
        layers: of each side.
        norm: "pre" or "post".
        prefix: as `layer_names` has it.
    """
    for side in SIDES:
        yield from layer_names(side, prefix).pairs(side, layers[side], norm)


Token = Annotated[int, Field(ge=0)]
"""The id of a token."""
EQUAL_KEYS = {
    "decoder_attention_heads": "encoder_attention_heads",
    "decoder_ffn_dim": "encoder_ffn_dim",
}
"""What jumok has once for both sides."""


def equal_value(value: int, other: str, info: ValidationInfo) -> int:
    """The value, which has to be that of another key."""
    known = info.data.get(other)
    if known is not None and value != known:
        raise ValueError(f"it has to be {other} = {known}")
    return value


class FairseqSettings(Settings):
    """The keys of config.json that these models share."""

    without_effect: ClassVar[frozenset[str]] = frozenset(
        {"is_encoder_decoder", "num_hidden_layers", "classif_dropout", "extra_pos_embeddings"}
        | {"encoder_layerdrop", "decoder_layerdrop", "_num_labels", "num_layers"}
        | {"force_bos_token_to_be_generated", "output_past"}
    )

    share_encoder_decoder_embeddings: Literal[True] = True
    d_model: Count
    encoder_layers: Count
    decoder_layers: Count
    encoder_attention_heads: Count
    decoder_attention_heads: Count
    encoder_ffn_dim: Count
    decoder_ffn_dim: Count
    activation_function: ActivationName = "gelu"
    dropout: Share = 0.1
    attention_dropout: Share = 0.0
    activation_dropout: Share = 0.0
    max_position_embeddings: Count
    scale_embedding: bool = False
    tie_word_embeddings: Literal[True] = True
    add_bias_logits: Literal[False] = False
    pad_token_id: Token
    eos_token_id: Token
    decoder_start_token_id: Token | None = None

    @property
    def source_end(self) -> bool:
        """Whether a source ends with END."""
        return True

    @field_validator(*EQUAL_KEYS)
    @classmethod
    def _as_the_other(cls, value: int, info: ValidationInfo) -> int:
        return equal_value(value, EQUAL_KEYS[str(info.field_name)], info)


def section_of(settings: FairseqSettings, **others: object) -> TransformerConfig:
    """The same sizes as a section [model], with other keys of it."""
    sizes = {
        "dim": settings.d_model,
        "heads": settings.encoder_attention_heads,
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "feedforward": settings.encoder_ffn_dim,
        "activation": activation_here(settings.activation_function),
        "max_length": settings.max_position_embeddings,
        "embedding_scale": settings.scale_embedding,
        "output_bias": True,
        "tied": "all",
        "dropout": settings.dropout,
        "attention_dropout": settings.attention_dropout,
        "feedforward_dropout": settings.activation_dropout,
    }
    return TransformerConfig.model_validate({**sizes, **others})


def sinusoids(length: int, dim: int) -> Tensor:
    """Those of fairseq, from position 2 on: (length dim). Waves end at 2 pi 10,000, which those of
    Vaswani et al. 2017 do not quite reach; odd widths end with a zero.
    """
    half = dim // 2
    frequency = torch.exp(torch.arange(half).float() * -(math.log(1e4) / (half - 1)))
    angle = torch.arange(2, length + 2).float()[:, None] * frequency
    whole = torch.cat((angle.sin(), angle.cos()), 1)
    return F.pad(whole, (0, dim - 2 * half))
