"""The tensors of a Transformer by its config, without building it. Nothing here imports torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from jumok.config.transformer import TransformerConfig

Shape = tuple[int, ...]

KNOWN = {
    "score": ("dot", "scaled-dot"),
    "norm_kind": ("layer", "rms"),
    "feedforward_kind": ("plain", "gated"),
    "positions": ("sinusoidal", "learned", "rotary", "alibi", "none"),
    "process_heads": ((),),
    "process_output": ((),),
}
"""The parts whose tensors are known here."""

TABLES = "encoder.embedding.table", "decoder.embedding.table", "decoder.output.weight"
TIED = {"all": (TABLES,), "target": (TABLES[1:],), "none": ()}
"""The names of one tensor, by `tied`."""


@dataclass(frozen=True)
class Tensors:
    """The names and shapes of a model's `state_dict`.

    Attributes:
        tied: groups of names that are one tensor, of which a bundle needs only one.
    """

    shapes: dict[str, Shape]
    tied: tuple[tuple[str, ...], ...]


def tensors_of(config: TransformerConfig, vocabulary: int) -> Tensors | None:
    """The tensors of the model of this config; None if one of its parts is not known here."""
    values = config.model_dump()
    if any(values[key] not in known for key, known in KNOWN.items()):
        return None
    shapes: dict[str, Shape] = dict.fromkeys(TABLES, (vocabulary, config.dim))
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.positions == "learned":
            table = f"{side}.embedding.positions.encoding.table"
            shapes[table] = (config.max_length, config.dim)
        if config.positions_join == "concatenate":
            join = f"{side}.embedding.positions.join"
            shapes[f"{join}.weight"] = config.dim, 2 * config.dim
            shapes[f"{join}.bias"] = (config.dim,)
        if config.norm == "pre":
            shapes |= _norm(config, f"{side}.first_norm")
        for layer in range(layers):
            shapes |= _block(config, f"{side}.blocks.{layer}", side == "decoder")
    return Tensors(shapes, TIED[config.tied])


def _block(config: TransformerConfig, name: str, cross: bool) -> dict[str, Shape]:
    shapes = _attention(config, f"{name}.self_attention") | _norm(config, f"{name}.after_self.norm")
    if cross:
        shapes |= _attention(config, f"{name}.cross_attention")
        shapes |= _norm(config, f"{name}.after_cross.norm")
    inside = config.dim, config.feedforward
    for layer in ("inner", "gate") if config.feedforward_kind == "gated" else ("inner",):
        shapes |= _linear(config, f"{name}.feedforward.{layer}", *inside)
    shapes |= _linear(config, f"{name}.feedforward.outer", *reversed(inside))
    return shapes | _norm(config, f"{name}.after_feedforward.norm")


def _attention(config: TransformerConfig, name: str) -> dict[str, Shape]:
    head = config.head_dim or config.dim // config.heads
    value, shared = config.value_dim or head, config.kv_heads or config.heads
    return {
        **_linear(config, f"{name}.query", config.dim, config.heads * head),
        **_linear(config, f"{name}.key", config.dim, shared * head),
        **_linear(config, f"{name}.value", config.dim, shared * value),
        **_linear(config, f"{name}.output", config.heads * value, config.dim),
    }


def _linear(config: TransformerConfig, name: str, inputs: int, outputs: int) -> dict[str, Shape]:
    bias: dict[str, Shape] = {f"{name}.bias": (outputs,)} if config.bias else {}
    return {f"{name}.weight": (outputs, inputs)} | bias


def _norm(config: TransformerConfig, name: str) -> dict[str, Shape]:
    return {f"{name}.{key}": (config.dim,) for key in _norm_keys(config)}


def _norm_keys(config: TransformerConfig) -> Iterator[str]:
    yield "weight"
    if config.norm_kind == "layer":
        yield "bias"
