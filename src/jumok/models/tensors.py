"""The tensors of a Transformer, or of a causal language model, by its config, without building it.

Nothing here imports torch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from jumok.config.causal import CausalConfig
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig

Shape = tuple[int, ...]

KNOWN = {
    "score": ("dot", "scaled-dot", "bilinear", "cosine"),
    "score_cap": (None,),
    "sinks": (False,),
    "attention_kind": ("heads",),
    "value_residual": (False,),
    "experts": (None,),
    "norm_kind": ("layer", "rms"),
    "feedforward_kind": ("plain", "gated"),
    "positions": (
        "index", "fraction", "binary", "sinusoidal", "learned", "rotary", "alibi", "none",
    ),
}  # fmt: skip
PROCESSES = {"process_heads": {"qk-norm"}, "process_output": {"head-scale"}}
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
    if not _known(config):
        return None
    shapes: dict[str, Shape] = dict.fromkeys(TABLES, (vocabulary, config.dim))
    shapes |= _stack(config, "encoder", config.encoder_layers, cross=False)
    shapes |= _stack(config, "decoder", config.decoder_layers, cross=True)
    return Tensors(shapes, TIED[config.tied])


def causal_tensors_of(config: CausalConfig, vocabulary: int) -> Tensors | None:
    """The same of a causal language model."""
    if not _known(config):
        return None
    shapes: dict[str, Shape] = dict.fromkeys(TABLES[1:], (vocabulary, config.dim))
    shapes |= _stack(config, "decoder", config.layers, cross=False)
    return Tensors(shapes, TIED["target" if config.tied else "none"])


def _known(config: StackConfig) -> bool:
    """Whether the tensors of all parts are known here."""
    values = config.model_dump()
    return all(values[key] in known for key, known in KNOWN.items()) and all(
        known.issuperset(values[key]) for key, known in PROCESSES.items()
    )


def _stack(config: StackConfig, side: str, layers: int, *, cross: bool) -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    if config.positions == "learned":
        shapes[f"{side}.embedding.positions.encoding.table"] = config.max_length, config.dim
    if config.positions_join == "concatenate":
        join = f"{side}.embedding.positions.join"
        shapes[f"{join}.weight"] = config.dim, config.dim + _place_width(config)
        shapes[f"{join}.bias"] = (config.dim,)
    if config.norm == "pre":
        shapes |= _norm(config, f"{side}.first_norm")
    for layer in range(layers):
        shapes |= _block(config, f"{side}.blocks.{layer}", cross)
    return shapes


def _block(config: StackConfig, name: str, cross: bool) -> dict[str, Shape]:
    shapes = _attention(config, f"{name}.self_attention") | _norm(config, f"{name}.after_self.norm")
    if cross:
        shapes |= _attention(config, f"{name}.cross_attention")
        shapes |= _norm(config, f"{name}.after_cross.norm")
    inside = config.dim, config.feedforward
    for layer in ("inner", "gate") if config.feedforward_kind == "gated" else ("inner",):
        shapes |= _linear(config, f"{name}.feedforward.{layer}", *inside)
    shapes |= _linear(config, f"{name}.feedforward.outer", *reversed(inside))
    return shapes | _norm(config, f"{name}.after_feedforward.norm")


def _attention(config: StackConfig, name: str) -> dict[str, Shape]:
    head = config.head_dim or config.dim // config.heads
    value, shared = config.value_dim or head, config.kv_heads or config.heads
    shapes: dict[str, Shape] = {
        **_linear(config, f"{name}.query", config.dim, config.heads * head),
        **_linear(config, f"{name}.key", config.dim, shared * head),
        **_linear(config, f"{name}.value", config.dim, shared * value),
        **_linear(config, f"{name}.output", config.heads * value, config.dim),
    }
    if config.score == "bilinear":
        shapes |= {f"{name}.score.key.weight": (head, head), f"{name}.score.key.bias": (head,)}
    elif config.score == "cosine":
        shapes[f"{name}.score.sharpness"] = (config.heads,)
    for number in range(len(config.process_heads)):
        for what in ("queries", "keys"):
            shapes[f"{name}.process_{what}.{number}.weight"] = (head,)
    for number in range(len(config.process_output)):
        shapes[f"{name}.process_output.{number}.gain"] = (config.heads,)
    return shapes


def _place_width(config: StackConfig) -> int:
    """The width of a place's vector."""
    if config.positions in ("index", "fraction"):
        return 1
    if config.positions == "binary":
        return max(1, (config.max_length - 1).bit_length())
    return config.dim


def _linear(config: StackConfig, name: str, inputs: int, outputs: int) -> dict[str, Shape]:
    bias: dict[str, Shape] = {f"{name}.bias": (outputs,)} if config.bias else {}
    return {f"{name}.weight": (outputs, inputs)} | bias


def _norm(config: StackConfig, name: str) -> dict[str, Shape]:
    return {f"{name}.{key}": (config.dim,) for key in _norm_keys(config)}


def _norm_keys(config: StackConfig) -> Iterator[str]:
    yield "weight"
    if config.norm_kind == "layer":
        yield "bias"
