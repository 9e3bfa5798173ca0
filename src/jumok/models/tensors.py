"""The tensors of models that write text, by their configs, without building them.

Nothing here imports torch.
"""

from dataclasses import dataclass

from jumok.config.causal import CausalConfig
from jumok.config.recurrent import GATES, PARTS, RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.specs import AttentionSpec, Shapes, linear

TABLES = "encoder.embedding.table", "decoder.embedding.table", "decoder.output.weight"
TIED = {"all": (TABLES,), "target": (TABLES[1:],), "none": ()}
"""The names of one tensor, by `tied`."""

HEADS = AttentionSpec()
"""Usual heads, which attend to a Memory in every model."""


@dataclass(frozen=True)
class Tensors:
    """The names and shapes of a model's `state_dict`.

    Attributes:
        tied: groups of names that are one tensor, of which a bundle needs only one.
    """

    shapes: Shapes
    tied: tuple[tuple[str, ...], ...]


def is_described(config: ModelSection) -> bool:
    """Whether all parts of the model say what they are."""
    return all(spec is not None for _, _, spec in config.parts())


def tensors_of(config: TransformerConfig, vocabulary: int) -> Tensors | None:
    """The tensors of the model of this config; None if one of its parts does not say them."""
    if not is_described(config):
        return None
    shapes: Shapes = dict.fromkeys(TABLES, (vocabulary, config.dim))
    shapes |= _stack(config, "encoder", config.encoder_layers, cross=False)
    shapes |= _stack(config, "decoder", config.decoder_layers, cross=True)
    return Tensors(shapes, TIED[config.tied])


def causal_tensors_of(config: CausalConfig, vocabulary: int) -> Tensors | None:
    """The same of a causal language model."""
    if not is_described(config):
        return None
    shapes: Shapes = dict.fromkeys(TABLES[1:], (vocabulary, config.dim))
    shapes |= _stack(config, "decoder", config.layers, cross=False)
    return Tensors(shapes, TIED["target" if config.tied else "none"])


def _stack(config: StackConfig, side: str, layers: int, *, cross: bool) -> Shapes:
    positions, shapes = config.specs.positions, Shapes()
    norm = config.specs.norm
    if positions.learned:
        shapes[f"{side}.embedding.positions.encoding.table"] = config.max_length, config.dim
    if config.positions_join == "concatenate":
        inputs = config.dim + positions.width(config.dim, config.max_length)
        shapes |= linear(f"{side}.embedding.positions.join", inputs, config.dim)
    if config.norm == "pre":
        shapes |= norm.tensors(f"{side}.first_norm", config.dim)
    for layer in range(layers):
        name = f"{side}.blocks.{layer}"
        shapes |= _attention(config, f"{name}.self_attention", config.specs.attention, layer)
        shapes |= norm.tensors(f"{name}.after_self.norm", config.dim)
        if cross:
            shapes |= _attention(config, f"{name}.cross_attention", HEADS)
            shapes |= norm.tensors(f"{name}.after_cross.norm", config.dim)
        shapes |= _feedforward(config, f"{name}.feedforward")
        shapes |= norm.tensors(f"{name}.after_feedforward.norm", config.dim)
    return shapes


def _feedforward(config: StackConfig, name: str) -> Shapes:
    one, sizes = config.specs.feedforward, (config.dim, config.feedforward, config.bias)
    if config.experts is None:
        return one.tensors(name, *sizes)
    shapes = linear(f"{name}.router", config.dim, config.experts, bias=False)
    for number in range(config.experts):
        shapes |= one.tensors(f"{name}.experts.{number}", *sizes)
    return shapes


def _attention(
    config: StackConfig, name: str, kind: AttentionSpec, layer: int | None = None
) -> Shapes:
    """One attention; `layer` is that of a self-attention."""
    specs, sizes = config.specs, config.sizes
    score = f"{name}.score" if config.score_cap is None else f"{name}.score.score"
    shapes = kind.tensors(name, sizes)
    shapes |= specs.score.tensors(score, sizes.head_dim, sizes.heads)
    for number, process in enumerate(specs.head_processes):
        for what in ("queries", "keys"):
            shapes |= process.tensors(f"{name}.process_{what}.{number}", sizes.head_dim)
    for number, gate in enumerate(specs.output_processes):
        shapes |= gate.tensors(f"{name}.process_output.{number}", sizes)
    if layer is not None and config.sinks:
        shapes[f"{name}.sink.score"] = (sizes.heads,)
    if layer and config.value_residual:  # the first layer has nothing to mix
        shapes[f"{name}.value_residual.mix"] = (2,)
    return shapes


def recurrent_tensors(config: RecurrentConfig, vocabulary: int) -> Tensors | None:
    """The same of an RNN."""
    if not is_described(config):
        return None
    shapes: Shapes = dict.fromkeys(TABLES, (vocabulary, config.embedding))
    ways = ("forwards", "backwards")[: 1 + config.bidirectional]
    for layer in range(config.encoder_layers):
        inputs = config.dim if layer else config.embedding
        for way in ways:
            name = f"encoder.readers.{layer}.{way}"
            shapes |= _cell(config, name, inputs, config.dim // len(ways))
    for layer in range(config.decoder_layers):
        widths = config.upper_inputs if layer else config.word_inputs
        shapes |= _cell(config, f"decoder.cells.cells.{layer}", sum(widths), config.dim)
    states = config.decoder_layers * PARTS[config.cell] * config.dim
    shapes |= linear("decoder.first", config.dim, states)
    shapes |= linear("decoder.readout", sum(config.readout_inputs), config.embedding)
    if config.gate:
        shapes |= linear("decoder.gate", config.dim, 1)
    if config.score is not None:
        shapes |= config.score.tensors("decoder.attention.score", config.dim, 1)
    if config.coverage:
        shapes["decoder.attention.score.coverage"] = (config.dim,)
    return Tensors(shapes, TIED[config.tied])


def _cell(config: RecurrentConfig, name: str, inputs: int, dim: int) -> Shapes:
    gates = GATES[config.cell] * dim
    return linear(f"{name}.input", inputs, gates) | linear(f"{name}.state", dim, gates)
