"""The tensors of models that write text, by their configs. Nothing is built, nor torch imported."""

from dataclasses import dataclass

from jumok.config.causal import CausalConfig
from jumok.config.recurrent import GATES, STATES, RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig, WriterConfig
from jumok.config.transformer import TransformerConfig
from jumok.engine.packing import OUTPUT_BIAS
from jumok.specs import AttentionSpec, Shapes, linear, under

TABLE_NAMES = "encoder.embedding.table", "decoder.embedding.table", "decoder.output.weight"
TIED = {
    "all": (TABLE_NAMES,),
    "target": (TABLE_NAMES[1:],),
    "inputs": (TABLE_NAMES[:2],),
    "none": (),
}
"""The names of one tensor, by `tied`."""

BIASES = "bias.table"
"""The parameter of relative positions in a self-attention."""
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
    shapes: Shapes = dict.fromkeys(TABLE_NAMES, (vocabulary, config.dim))
    shapes |= _output_bias(config, vocabulary)
    shapes |= _stack_tensors(config, "encoder", config.encoder_layers, cross=False)
    shapes |= _stack_tensors(config.decoder, "decoder", config.decoder_layers, cross=True)
    biases = _shared_biases(config, "encoder", config.encoder_layers)
    biases += _shared_biases(config.decoder, "decoder", config.decoder_layers)
    return Tensors(shapes, (*TIED[config.tied], *biases))


def causal_tensors_of(config: CausalConfig, vocabulary: int) -> Tensors | None:
    """The same of a causal language model."""
    if not is_described(config):
        return None
    shapes: Shapes = dict.fromkeys(TABLE_NAMES[1:], (vocabulary, config.dim))
    shapes |= _output_bias(config, vocabulary)
    shapes |= _stack_tensors(config, "decoder", config.layers, cross=False)
    biases = _shared_biases(config, "decoder", config.layers)
    return Tensors(shapes, (*TIED["target" if config.tied else "none"], *biases))


def _shared_biases(config: StackConfig, side: str, layers: int) -> tuple[tuple[str, ...], ...]:
    """The names of the table of biases that the blocks of a stack share."""
    names = (f"{side}.blocks.{layer}.self_attention.{BIASES}" for layer in range(layers))
    return (tuple(names),) if config.specs.positions.buckets else ()


def _output_bias(config: WriterConfig | RecurrentConfig, vocabulary: int) -> Shapes:
    return {OUTPUT_BIAS: (vocabulary,)} if config.output_bias else {}


def _stack_tensors(config: StackConfig, side: str, layers: int, *, cross: bool) -> Shapes:
    positions, shapes = config.specs.positions, Shapes()
    if positions.learned:
        shapes["embedding.positions.encoding.table"] = config.max_length, config.dim
    if config.positions_join == "concatenate":
        inputs = config.dim + positions.width(config.dim, config.max_length)
        shapes |= linear("embedding.positions.join", inputs, config.dim)
    if config.embedding_norm:
        shapes |= under("embedding.norm", config.specs.norm.tensors(config.dim))
    if config.norm == "pre":
        shapes |= under("first_norm", config.specs.norm.tensors(config.dim))
    for layer in range(layers):
        shapes |= under(f"blocks.{layer}", block(config, cross=cross, layer=layer))
    return under(side, shapes)


def block(config: StackConfig, *, cross: bool, layer: int = 0) -> Shapes:
    """One block; with attention to a Memory if `cross`."""
    norm = config.specs.norm.tensors(config.dim)
    shapes = under("self_attention", self_attention(config, layer)) | under("after_self.norm", norm)
    if cross:
        shapes |= under("cross_attention", cross_attention(config))
        shapes |= under("after_cross.norm", norm)
    return (
        shapes | under("feedforward", feedforward(config)) | under("after_feedforward.norm", norm)
    )


def self_attention(config: StackConfig, layer: int = 0) -> Shapes:
    """The self-attention of a layer."""
    shapes = config.specs.attention.tensors(config.sizes)
    if config.specs.attention.recurrent:
        return shapes
    shapes |= _parts_of_heads(config)
    if config.specs.positions.buckets:
        shapes[BIASES] = config.relative_buckets, config.heads
    if config.sinks:
        shapes["sink.score"] = (config.heads,)
    if config.value_residual and layer:  # the first layer has nothing to mix
        shapes["value_residual.mix"] = (2,)
    return shapes


def cross_attention(config: StackConfig) -> Shapes:
    """The attention to a Memory."""
    return HEADS.tensors(config.sizes) | _parts_of_heads(config)


def _parts_of_heads(config: StackConfig) -> Shapes:
    specs, sizes = config.specs, config.sizes
    score = "score" if config.score_cap is None else "score.score"
    shapes = under(score, specs.score.tensors(sizes.head_dim, sizes.heads))
    for number, process in enumerate(specs.head_processes):
        for what in ("queries", "keys"):
            shapes |= under(f"process_{what}.{number}", process.tensors(sizes.head_dim))
    for number, gate in enumerate(specs.output_processes):
        shapes |= under(f"process_output.{number}", gate.tensors(sizes))
    return shapes


def feedforward(config: StackConfig) -> Shapes:
    """The feed-forward layer, or the experts and their router."""
    one = config.specs.feedforward.tensors(config.dim, config.feedforward, config.bias)
    if config.experts is None:
        return one
    shapes = linear("router", config.dim, config.experts, bias=False)
    for number in range(config.experts):
        shapes |= under(f"experts.{number}", one)
    return shapes


def recurrent_tensors(config: RecurrentConfig, vocabulary: int) -> Tensors | None:
    """The same of an RNN."""
    if not is_described(config):
        return None
    shapes: Shapes = dict.fromkeys(TABLE_NAMES, (vocabulary, config.embedding))
    shapes |= _output_bias(config, vocabulary)
    return Tensors(shapes | readers(config) | writer(config), TIED[config.tied])


def readers(config: RecurrentConfig) -> Shapes:
    """The cells of an RNN's encoder."""
    ways, shapes = ("forwards", "backwards")[: 1 + config.bidirectional], Shapes()
    for layer in range(config.encoder_layers):
        inputs = config.dim if layer else config.embedding
        for way in ways:
            cell = _cell_tensors(config, inputs, config.dim // len(ways))
            shapes |= under(f"encoder.readers.{layer}.{way}", cell)
    return shapes


def writer(config: RecurrentConfig) -> Shapes:
    """The decoder of an RNN, without its tables."""
    shapes = Shapes()
    if config.readout:
        shapes |= linear("readout", sum(config.readout_inputs), config.embedding)
    if config.first_state != "copy":
        states = config.decoder_layers * STATES[config.cell] * config.dim
        shapes |= linear("first", config.dim, states)
    for layer in range(config.decoder_layers):
        widths = config.upper_inputs if layer else config.word_inputs
        shapes |= under(f"cells.cells.{layer}", _cell_tensors(config, sum(widths), config.dim))
    if config.gate:
        shapes |= linear("gate", config.dim, 1)
    if config.looks:
        shapes |= under("attention.score", config.score.tensors(config.dim, 1))
    if config.coverage:
        shapes["attention.score.coverage"] = (config.dim,)
    return under("decoder", shapes)


def _cell_tensors(config: RecurrentConfig, inputs: int, dim: int) -> Shapes:
    gates = GATES[config.cell] * dim
    return linear("input", inputs, gates) | linear("state", dim, gates)
