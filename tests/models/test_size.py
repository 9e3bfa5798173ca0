"""The counted parameters of blocks against those of built models."""

import pytest

from jumok.config.causal import CausalConfig
from jumok.config.transformer import TransformerConfig
from jumok.models.catalog import DataSizes, build
from jumok.models.size import numbers_in

PARTS = {
    "plain": {},
    "gates": {"process_output": ("head-gate", "element-gate"), "value_dim": 5},
    "experts": {"experts": 5, "feedforward_kind": "gated"},
    "differential": {"attention_kind": "differential", "kv_heads": 2},
    "linear": {"attention_kind": "linear", "kv_heads": 1, "value_residual": True},
    "bilinear": {"score": "bilinear", "kv_heads": 2},
    "additive, capped": {"score": "additive", "score_cap": 9.0, "logit_cap": 30.0},
    "vectors": {"sinks": True, "window": 4, "activation": "relu2", "kv_heads": 2},
    "latent": {"attention_kind": "latent", "latent_dim": 11, "rotary_dim": 6, "value_dim": 7},
    "latent, compressed": {"attention_kind": "latent", "query_latent_dim": 9, "positions": "none"},
}


@pytest.mark.parametrize("keys", PARTS.values(), ids=PARTS)
def test_matrices_are_counted_exactly(keys):
    """Biases, norms and single vectors are not counted."""
    sizes = {"dim": 40, "heads": 4, "layers": 3, "feedforward": 53, "bias": False}
    config = CausalConfig(**(sizes | keys))
    model = build(config, DataSizes(vocabulary=31))
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.ndim > 1)
    assert numbers_in(config, 31, 0) == matrices


@pytest.mark.parametrize("keys", PARTS.values(), ids=PARTS)
def test_matrices_of_decoders_are_counted_exactly(keys):
    """Attention to a Memory is that of usual heads, with the model's score and gates."""
    sizes = {"dim": 40, "heads": 4, "encoder_layers": 1, "decoder_layers": 2, "feedforward": 53}
    config = TransformerConfig(**(sizes | {"bias": False, "positions": "rotary"} | keys))
    model = build(config, DataSizes(vocabulary=31))
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.ndim > 1)
    assert numbers_in(config, 31, 0) == matrices
