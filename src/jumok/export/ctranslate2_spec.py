"""A model's weights in the classes of CTranslate2, which save them as its folder.

A norm is here named after the residual connection that it follows. There it belongs to the part
whose output it normalises (post-norm), or whose input (pre-norm), which is the next part.

Source: CTranslate2 4.8, ctranslate2/specs; src/layers/transformer.cc and attention.cc.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jumok.config.causal import CausalConfig
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.data.special_tokens import END, START, UNKNOWN
from jumok.engine.embedding import vectors_of
from jumok.engine.packing import OUTPUT_BIAS, OUTPUT_TABLES, Array
from jumok.export.format import Obstacle

if TYPE_CHECKING:
    from ctranslate2 import specs

READ = 1024
"""Tokens of an input that CTranslate2 reads unless max_input_length is given."""
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}

HELD: dict[str, tuple[object, ...]] = {
    "score": ("scaled-dot", "dot"),
    "score_cap": (None,),
    "sinks": (False,),
    "attention_kind": ("heads",),
    "decoder_attention_kind": (None,),
    "value_residual": (False,),
    "process_heads": ((),),
    "process_output": ((),),
    "feedforward_kind": ("plain", "gated"),
    "activation": tuple(ACTIVATIONS),
    "experts": (None,),
    "norm_kind": ("layer", "rms"),
    "positions": (
        *("sinusoidal", "sinusoidal-inclusive", "learned", "index", "binary", "none"),
        *("rotary", "relative"),
    ),
    "window": (None,),
}
"""The values of keys that the specification of encoder-decoders holds, that of the advice first."""
OF_LANGUAGE_MODELS: dict[str, tuple[object, ...]] = {
    "process_heads": ((), ("qk-norm",)),
    "positions": ("rotary", *HELD["positions"][:-2], "alibi"),
}
"""What that of language models holds otherwise."""


def lacking(config: StackConfig) -> Obstacle | None:
    """What of such a model CTranslate2 does not compute exactly."""
    held = HELD | (OF_LANGUAGE_MODELS if isinstance(config, CausalConfig) else {})
    keys = {
        key: values[0]
        for key, values in held.items()
        if key in type(config).model_fields and getattr(config, key) not in values
    }
    if config.value_dim not in (None, config.sizes.head_dim):
        keys["value_dim"] = config.sizes.head_dim
    if config.rotary_scaling is not None and config.rotary_scaling.kind != "linear":
        keys["rotary_scaling"] = None
    if not keys:
        return None
    parts = ", ".join(f"{key} = {getattr(config, key)!r}" for key in keys)
    return Obstacle(f"CTranslate2's Transformers have no {parts}", keys)


def specification(
    config: TransformerConfig | CausalConfig, weights: Mapping[str, Array], names: Sequence[str]
) -> "specs.ModelSpec":
    """The model in float32, not yet optimized.

    Args:
        weights: by their names in a bundle; tied ones under each of them.
        names: of the tokens, by their ids.
    """
    from ctranslate2 import specs

    filled = _Filled(config, weights)
    spec: Any
    if isinstance(config, CausalConfig):
        spec = specs.TransformerDecoderModelSpec(filled.decoder(config.layers, cross=False))
        spec.register_vocabulary(list(names))
    else:
        spec = specs.TransformerSpec(
            filled.encoder(config.encoder_layers), filled.decoder(config.decoder_layers, cross=True)
        )
        spec.register_source_vocabulary(list(names))
        spec.register_target_vocabulary(list(names))
        spec.config.add_source_eos = config.source_end
        spec.config.decoder_start_token = names[START]
    spec.config.unk_token, spec.config.bos_token, spec.config.eos_token = (
        names[id] for id in (UNKNOWN, START, END)
    )
    spec.config.layer_norm_epsilon = config.norm_epsilon
    spec.validate()
    return spec


class _Filled:
    """The two stacks of blocks."""

    def __init__(
        self, config: TransformerConfig | CausalConfig, weights: Mapping[str, Array]
    ) -> None:
        from ctranslate2.specs import common_spec

        self._config, self._weights = config, weights
        self._kinds = common_spec
        sizes = config.sizes
        self._options: dict[str, Any] = {
            "pre_norm": config.norm == "pre",
            "activation": getattr(common_spec.Activation, ACTIVATIONS[config.activation]),
            "layernorm_embedding": config.embedding_norm,
            "relative_attention_bias": config.positions == "relative",
            "ffn_glu": config.feedforward_kind == "gated",
            "rms_norm": config.norm_kind == "rms",
            "qk_norm": bool(config.process_heads),
        }
        if sizes.kv_heads != sizes.heads:
            self._options["num_heads_kv"] = sizes.kv_heads
        if sizes.head_dim * sizes.heads != config.dim:
            self._options["head_dim"] = sizes.head_dim
        if config.positions == "rotary":
            self._options["rotary_dim"] = sizes.rotary_dim
            self._options["rotary_base"] = config.rotary_base
            if config.rotary_scaling is not None:
                from ctranslate2.specs.attention_spec import RotaryScalingType

                self._options["rotary_scaling_type"] = RotaryScalingType.Linear
                self._options["rotary_scaling_factor"] = config.rotary_scaling.factor

    def encoder(self, layers: int) -> Any:
        """A TransformerEncoderSpec."""
        from ctranslate2.specs import transformer_spec

        spec = transformer_spec.TransformerEncoderSpec(layers, self._config.heads, **self._options)
        self._embed(spec, spec.embeddings[0], "encoder")
        self._stack(spec, "encoder")
        return spec

    def decoder(self, layers: int, *, cross: bool) -> Any:
        """A TransformerDecoderSpec."""
        from ctranslate2.specs import transformer_spec

        config, weights = self._config, self._weights
        spec = transformer_spec.TransformerDecoderSpec(
            layers,
            config.heads,
            with_encoder_attention=cross,
            alibi=config.positions == "alibi",
            alibi_use_positive_positions=True,
            parallel_residual=getattr(config, "parallel", False),
            **self._options,
        )
        if config.logit_cap is not None:
            spec.final_logit_softcapping = np.float32(config.logit_cap)
        self._embed(spec, spec.embeddings, "decoder")
        self._stack(spec, "decoder")
        spec.projection.weight = weights[next(name for name in OUTPUT_TABLES if name in weights)]
        if config.output_bias:
            spec.projection.bias = weights[OUTPUT_BIAS]
        return spec

    def _embed(self, spec: Any, embeddings: Any, side: str) -> None:
        """Words and positions. A layer that joins them is worked into the two tables."""
        config = self._config
        table = self._weights[f"{side}.embedding.table"]
        vectors = vectors_of(config, self._weights.__getitem__, side, table)
        joined = config.positions_join == "concatenate"
        embeddings.weight = vectors.words if joined else table
        spec.scale_embeddings = config.embedding_scale and not joined
        if config.positions == "none" or config.specs.positions.enters == "vectors":
            places = vectors.places
            longest = max(READ, config.max_length) + 2  # START or a language, and END
            if places is None:
                places = np.zeros((longest, config.dim), np.float32)
            spec.position_encodings.encodings = np.ascontiguousarray(places[:longest])
        if config.embedding_norm:
            self._norm(spec.layernorm_embedding, f"{side}.embedding.norm")

    def _stack(self, spec: Any, side: str) -> None:
        before, pre = f"{side}.first_norm", self._config.norm == "pre"
        parallel = getattr(self._config, "parallel", False)
        cross = side == "decoder" and isinstance(self._config, TransformerConfig)
        for number, layer in enumerate(spec.layer):
            block = f"{side}.blocks.{number}"
            parts = [("self_attention", layer.self_attention, "after_self")]
            if cross:
                parts.append(("cross_attention", layer.attention, "after_cross"))
            parts.append(("feedforward", layer.ffn, "after_feedforward"))
            if parallel:
                layer.input_layer_norm = self._new_norm(before)
                layer.post_attention_layer_norm = self._new_norm(f"{block}.after_self.norm")
            for part, of_part, after in parts:
                name = f"{block}.{part}"
                if part == "feedforward":
                    self._feedforward(of_part, name)
                else:
                    self._attention(of_part, name, own=part == "self_attention")
                follows = f"{block}.{after}.norm"
                if not parallel:
                    self._norm(of_part.layer_norm, before if pre else follows)
                before = follows
            if self._config.positions == "relative":
                attention = layer.self_attention
                first = f"{side}.blocks.0.self_attention.bias.table"
                attention.relative_attention_bias = self._weights[first]
                farthest = np.int32(self._config.relative_distance)
                attention.relative_attention_max_distance = farthest
        if pre:
            self._norm(spec.layer_norm, before)

    def _attention(self, spec: Any, name: str, *, own: bool) -> None:
        query, key, value = (f"{name}.{each}" for each in ("query", "key", "value"))
        if own:
            self._linear(spec.linear[0], query, key, value)
        else:
            self._linear(spec.linear[0], query)
            self._linear(spec.linear[1], key, value)
        self._linear(spec.linear[-1], f"{name}.output")
        if self._config.process_heads:
            self._norm(spec.q_norm, f"{name}.process_queries.0")
            self._norm(spec.k_norm, f"{name}.process_keys.0")
        if not self._config.specs.score.scaled:
            spec.queries_scale = np.float32(1.0)

    def _feedforward(self, spec: Any, name: str) -> None:
        inner = "inner"
        if self._config.feedforward_kind == "gated":
            self._linear(spec.linear_0_noact, f"{name}.inner")
            inner = "gate"
        self._linear(spec.linear_0, f"{name}.{inner}")
        self._linear(spec.linear_1, f"{name}.outer")

    def _linear(self, spec: Any, *names: str) -> None:
        """Layers side by side."""
        weights = self._weights
        spec.weight = np.concatenate([weights[f"{name}.weight"] for name in names])
        if f"{names[0]}.bias" in weights:
            spec.bias = np.concatenate([weights[f"{name}.bias"] for name in names])

    def _new_norm(self, name: str) -> Any:
        spec = self._kinds.LayerNormSpec(rms_norm=self._config.norm_kind == "rms")
        self._norm(spec, name)
        return spec

    def _norm(self, spec: Any, name: str) -> None:
        spec.gamma = self._weights[f"{name}.weight"]
        if f"{name}.bias" in self._weights:
            spec.beta = self._weights[f"{name}.bias"]
