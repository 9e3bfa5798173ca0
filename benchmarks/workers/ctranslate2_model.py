"""A Transformer of jumok as CTranslate2 has it: the same weights under its names."""

from typing import TypeAlias

import numpy as np
from ctranslate2.converters.utils import fuse_linear
from ctranslate2.specs import TransformerSpec, attention_spec, common_spec, transformer_spec

SPECIALS = ["<pad>", "<unk>", "<s>", "</s>"]

Weights = dict[str, np.ndarray]
Shape = dict[str, int | str]
Layer: TypeAlias = (
    transformer_spec.TransformerEncoderLayerSpec | transformer_spec.TransformerDecoderLayerSpec
)


def vocabulary(size: int) -> list[str]:
    """A name for each token of a model whose tokens are numbers."""
    return SPECIALS + [str(number) for number in range(len(SPECIALS), size)]


def specification(
    shape: Shape, weights: Weights, names: list[str], quantization: str | None = None
) -> TransformerSpec:
    """The model, ready to be saved.

    Args:
        shape: layers, heads, and norm: where it is, "pre" or "post" (the default).
        names: the tokens of the vocabulary, the same on both sides.
        quantization: of the saved weights; None: float32.
    """
    is_pre = shape.get("norm") == "pre"
    spec = TransformerSpec.from_config(shape["layers"], shape["heads"], pre_norm=is_pre)
    spec.config.layer_norm_epsilon = 1e-5
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = SPECIALS[1:]
    spec.config.decoder_start_token = SPECIALS[2]
    table = weights["decoder.embedding.table"]
    spec.encoder.embeddings[0].weight = table
    spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    for side, name in ((spec.encoder, "encoder"), (spec.decoder, "decoder")):
        side.position_encodings.encodings = weights["positions"]
        before = f"{name}.first_norm"
        for number, layer in enumerate(side.layer):
            before = _set_block(layer, weights, f"{name}.blocks.{number}", before, is_pre)
        if is_pre:
            set_norm(side.layer_norm, weights, before)
    spec.validate()
    spec.optimize(quantization=quantization)
    return spec


def _set_block(layer: Layer, weights: Weights, block: str, before: str, is_pre: bool) -> str:
    """Sets the weights of a block; returns the name of its last norm.

    jumok names a norm after the residual connection that it follows. CTranslate2 has it with the
    part whose output is normalised (post), or whose input is (pre): there it is the next part.
    """
    parts = [("self_attention", layer.self_attention, _set_self_attention, "after_self")]
    if hasattr(layer, "attention"):
        parts.append(("cross_attention", layer.attention, _set_cross_attention, "after_cross"))
    parts.append(("feedforward", layer.ffn, _set_feed_forward, "after_feedforward"))
    for name, spec, set_part, norm in parts:
        set_part(spec, weights, f"{block}.{name}")
        after = f"{block}.{norm}.norm"
        set_norm(spec.layer_norm, weights, before if is_pre else after)
        before = after
    return before


def _set_self_attention(
    spec: attention_spec.MultiHeadAttentionSpec, weights: Weights, name: str
) -> None:
    inputs = [linear(weights, f"{name}.{part}") for part in ("query", "key", "value")]
    fuse_linear(spec.linear[0], inputs)
    set_linear(spec.linear[1], weights, f"{name}.output")


def _set_cross_attention(
    spec: attention_spec.MultiHeadAttentionSpec, weights: Weights, name: str
) -> None:
    set_linear(spec.linear[0], weights, f"{name}.query")
    fuse_linear(spec.linear[1], [linear(weights, f"{name}.{part}") for part in ("key", "value")])
    set_linear(spec.linear[2], weights, f"{name}.output")


def _set_feed_forward(spec: transformer_spec.FeedForwardSpec, weights: Weights, name: str) -> None:
    set_linear(spec.linear_0, weights, f"{name}.inner")
    set_linear(spec.linear_1, weights, f"{name}.outer")


def linear(weights: Weights, name: str) -> common_spec.LinearSpec:
    """The layer of this name."""
    spec = common_spec.LinearSpec()
    set_linear(spec, weights, name)
    return spec


def set_linear(spec: common_spec.LinearSpec, weights: Weights, name: str) -> None:
    """Gives a layer the weights of this name."""
    spec.weight = weights[f"{name}.weight"]
    spec.bias = weights[f"{name}.bias"]


def set_norm(spec: common_spec.LayerNormSpec, weights: Weights, name: str) -> None:
    """Gives a norm the weights of this name."""
    spec.gamma = weights[f"{name}.weight"]
    spec.beta = weights[f"{name}.bias"]
