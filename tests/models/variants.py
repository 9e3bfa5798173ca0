"""Every variant that a recipe can ask for, with a size of its own for every axis."""

import torch

from jumok.config import TransformerConfig
from jumok.models.encoder_decoder import Transformer
from tests.parity.torch_weights import roughen

VOCABULARY = 31
SIZES = {"dim": 15, "heads": 3, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 29}
VARIANTS = {
    "plain": {},
    "kernels": {"dim": 48, "feedforward": 64},
    "post-norm": {"norm": "post"},
    "post-norm kernels": {"norm": "post", "dim": 48, "feedforward": 64},
    "learned": {"positions": "learned", "max_length": 41},
    "rotary": {"positions": "rotary", "head_dim": 8},
    "rotary kernels": {"positions": "rotary", "dim": 48, "head_dim": 16, "norm": "post"},
    "alibi": {"positions": "alibi"},
    "relative": {"positions": "relative", "encoder_layers": 2},
    "embedding norm": {"embedding_norm": True, "norm": "post"},
    "alibi kernels": {"positions": "alibi", "dim": 48, "norm": "post"},
    "index": {"positions": "index"},
    "fraction": {"positions": "fraction", "max_length": 41},
    "binary": {"positions": "binary", "max_length": 41},
    "concatenated": {"positions_join": "concatenate"},
    "concatenated fraction": {"positions": "fraction", "positions_join": "concatenate"},
    "no positions": {"positions": "none"},
    "tied target": {"tied": "target"},
    "tied inputs": {"tied": "inputs"},
    "tied none": {"tied": "none", "norm": "post"},
    "own head sizes": {"head_dim": 7, "value_dim": 11},
    "full-size heads": {"head_dim": 15},
    "own head sizes kernels": {"head_dim": 16, "value_dim": 32, "norm": "post"},
    "gelu": {"activation": "gelu"},
    "output bias": {"output_bias": True, "embedding_scale": False, "activation": "gelu_tanh"},
    "table outgrown": {"max_length": 3},
    "grouped": {"kv_heads": 1},
    "grouped kernels": {
        "kv_heads": 2,
        "dim": 64,
        "heads": 4,
        "value_dim": 32,
        "positions": "alibi",
    },
    "rms": {"norm_kind": "rms", "norm": "post"},
    "gated": {"feedforward_kind": "gated", "activation": "gelu"},
    "no biases": {"bias": False},
    "no biases kernels": {"bias": False, "dim": 48, "feedforward": 64},
    "qk-norm": {"process_heads": ["qk-norm"], "positions": "rotary", "head_dim": 8},
    "head-scale": {"process_output": ["head-scale"]},
    "relu2, capped, sinks": {
        "activation": "relu2",
        "score_cap": 0.7,
        "logit_cap": 0.9,
        "sinks": True,
        "process_output": ["head-gate"],
    },
    "sinks kernels": {
        "sinks": True,
        "positions": "alibi",
        "dim": 48,
        "process_output": ["element-gate"],
    },
    "differential": {"attention_kind": "differential", "heads": 4, "kv_heads": 2, "dim": 16},
    "latent": {"attention_kind": "latent", "positions": "rotary", "head_dim": 8, "sinks": True},
    "latent, compressed queries": {
        "attention_kind": "latent",
        "positions": "alibi",
        "query_latent_dim": 7,
        "latent_dim": 11,
        "score_cap": 0.9,
    },
    "linear": {"attention_kind": "linear", "kv_heads": 1, "positions": "rotary", "head_dim": 8},
    "recurrence": {"decoder_attention_kind": "ssru", "positions": "sinusoidal-inclusive"},
    "value residual": {"value_residual": True, "encoder_layers": 2},
    "experts": {"experts": 5, "feedforward_kind": "gated", "activation": "silu"},
    "dot": {"score": "dot", "dim": 48, "feedforward": 64},
    "bilinear": {"score": "bilinear", "kv_heads": 1},
    "cosine": {"score": "cosine", "dim": 48, "feedforward": 64},
    "additive": {"score": "additive", "kv_heads": 1, "positions": "alibi"},
    "windows": {"window": 3, "window_layers": ["window", "whole"]},
    "windows kernels": {"window": 2, "dim": 48, "feedforward": 64, "positions": "alibi"},
    "windows, grouped kernels": {"window": 4, "kv_heads": 1, "dim": 48, "positions": "rotary"},
    "llama": {
        "norm_kind": "rms",
        "feedforward_kind": "gated",
        "activation": "silu",
        "bias": False,
        "kv_heads": 2,
        "heads": 4,
        "head_dim": 16,
        "positions": "rotary",
        "rotary_base": 500.0,
        "process_heads": ["qk-norm"],
    },
}


def config(variant: str, **more: object) -> TransformerConfig:
    """Dropout is set, and must not show."""
    dropped = dict.fromkeys(
        ("dropout", "attention_dropout", "feedforward_dropout", "word_dropout"), 0.5
    )
    return TransformerConfig.model_validate({**SIZES, **dropped, **VARIANTS[variant], **more})


def build(variant: str, **more: object) -> Transformer:
    """A rough model in evaluation mode."""
    torch.manual_seed(1)
    return roughen(Transformer(config(variant, **more), VOCABULARY)).eval()
