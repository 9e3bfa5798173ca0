"""Activations: how many numbers a forward pass keeps for its backward pass, for each target.

Counted from what autograd saves without kernels of our own (a test compares the two); a kernel that
recomputes needs less.

Source: the idea of the count: Korthikanti et al. 2022, "Reducing activation recomputation in large
Transformer models", section 4.1.
"""

from functools import singledispatch

from jumok.config import Config
from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.config.causal import CausalConfig
from jumok.config.eye import STAGES, EyeConfig
from jumok.config.families import CaptionConfig
from jumok.config.masked import EncoderConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import GATES, RecurrentConfig
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.models.tensors import HEADS
from jumok.planning.blocks import HEAD_MULTIPLE, fuses, keys_seen, multiplied
from jumok.planning.products import TextLengths

CELL_NUMBERS = {"rnn": 3, "gru": 9, "lstm": 10}
"""Vectors that one step of an RNN's cell keeps, of the width of its state, about."""


def kept_numbers(config: Config, lengths: TextLengths, fused: bool = True) -> float:
    """The numbers kept for each target of a micro-batch, without the logits.

    Args:
        fused: whether the attention weights are recomputed in the backward pass, where that is
            possible.
    """
    return _kept_by(config.model, config, lengths, fused)


@singledispatch
def _kept_by(model: object, config: Config, lengths: TextLengths, fused: bool) -> float:
    raise NotImplementedError


def _kept_by_self_attention(config: StackConfig, keys: float, fused: bool) -> float:
    """One self-attention and its residual connection, for each query."""
    sizes, specs = config.sizes, config.specs
    shared = _kv_heads(config)
    kept = specs.attention.kept_numbers(sizes, shared)
    if specs.attention.recurrent:
        return kept + _kept_by_residual(config)
    if config.sinks and multiplied(config):
        kept += (sizes.heads + shared) * (HEAD_MULTIPLE - sizes.head_dim % HEAD_MULTIPLE)
    if config.value_residual:
        kept += shared * sizes.value_dim
    return (
        kept
        + _kept_by_processes(config, 1.0)
        + _kept_by_scores(config, keys, fused)
        + _kept_by_residual(config)
    )


def _kv_heads(config: StackConfig, *, cross: bool = False) -> int:
    """The heads of keys and values that are kept: copies for each head where scores are drawn."""
    return config.sizes.kv_heads if multiplied(config, cross=cross) else config.heads


def _kept_by_cross_attention(config: StackConfig, keys: float, states: float, fused: bool) -> float:
    """As `_kept_by_self_attention`; `states` are the keys computed for each query."""
    sizes, shared = config.sizes, _kv_heads(config, cross=True)
    of_states = states * shared * (sizes.head_dim + sizes.value_dim)
    heads = HEADS.kept_numbers(sizes, 0) + of_states
    looked = _kept_by_scores(config, keys, fused, cross=True)
    return heads + _kept_by_processes(config, states) + looked + _kept_by_residual(config)


def _kept_by_processes(config: StackConfig, states: float) -> float:
    """The heads' vectors before they are processed, and the factors of outputs."""
    sizes, specs = config.sizes, config.specs
    keys = states * sizes.kv_heads
    kept = specs.score.kept + sum(process.kept for process in specs.head_processes)
    before = (sizes.heads + keys) * sizes.head_dim * kept
    if specs.score.product and "key" in specs.score.layers:
        before += keys * sizes.head_dim
    factors = sum(gate.gates(sizes) for gate in specs.output_processes)
    return before + factors + sizes.heads * sizes.value_dim * len(specs.output_processes)


def _kept_by_scores(config: StackConfig, keys: float, fused: bool, *, cross: bool = False) -> float:
    """The scores and weights of attention, for each query."""
    if fused and fuses(config, cross=cross):
        return 0.0
    kept = keys * (4 if config.attention_dropout else 2)
    if config.score_cap is not None:
        kept += keys
    if config.specs.score.hidden:
        kept += keys * config.sizes.head_dim
    return config.heads * kept


def _kept_by_residual(config: StackConfig) -> float:
    """The stream and its norm after one sublayer, and the dropout mask."""
    return (1 + config.specs.norm.kept + (config.dropout > 0)) * config.dim


def _kept_by_feedforward(config: StackConfig) -> float:
    """The feed-forward layer and its residual connection, for each position."""
    inner = config.specs.feedforward.kept + (config.activation != "relu")
    inner += 2 * (config.feedforward_dropout > 0)
    kept = inner * config.feedforward
    if config.experts is not None:  # what each one reads and writes, and the router's choices
        kept = config.experts_used * (kept + 3 * config.dim + 8) + 2 * config.experts
    return kept + _kept_by_residual(config)


def _kept_by_blocks(
    config: StackConfig,
    layers: int,
    length: float,
    fused: bool,
    *,
    causal: bool,
    memory: tuple[float, float] | None = None,
) -> list[float]:
    """What each block keeps for each of its positions.

    Args:
        memory: the keys of a Memory, and how many of them are computed for each position; None: no
            cross-attention.
    """
    each = _kept_by_feedforward(config) + (
        0.0 if memory is None else _kept_by_cross_attention(config, *memory, fused)
    )
    seen = keys_seen(config, layers, length, causal=causal)
    return [each + _kept_by_self_attention(config, keys, fused) for keys in seen]


def _kept_by_stacks(config: Config, *stacks: tuple[float, StackConfig, list[float]]) -> float:
    """What stacks of blocks keep for each target: (positions for each target, model, its blocks).

    Recomputed blocks keep their inputs only, and the one that is being computed everything.
    """
    if not config.training.recompute:
        return sum(positions * sum(blocks) for positions, _, blocks in stacks)
    inputs = sum(2 * positions * len(blocks) * model.dim for positions, model, blocks in stacks)
    largest = max((positions * max(blocks, default=0.0) for positions, _, blocks in stacks))
    return inputs + largest


def _kept_by_embedding(config: StackConfig) -> float:
    return (1 + (config.dropout > 0)) * config.dim


@_kept_by.register
def _kept_by_transformer(
    model: TransformerConfig, config: Config, lengths: TextLengths, fused: bool
) -> float:
    encoder = _kept_by_blocks(model, model.encoder_layers, lengths.source, fused, causal=False)
    memory = lengths.source, lengths.ratio
    layers = model.decoder_layers
    decoder = _kept_by_blocks(
        model.decoder, layers, lengths.target, fused, causal=True, memory=memory
    )
    embedded = (lengths.ratio + 1.0) * _kept_by_embedding(model)
    return embedded + _kept_by_stacks(
        config, (lengths.ratio, model, encoder), (1.0, model, decoder)
    )


@_kept_by.register
def _kept_by_causal(
    model: CausalConfig, config: Config, lengths: TextLengths, fused: bool
) -> float:
    blocks = _kept_by_blocks(model, model.layers, lengths.target, fused, causal=True)
    return _kept_by_embedding(model) + _kept_by_stacks(config, (1.0, model, blocks))


@_kept_by.register
def _kept_by_encoder(
    model: EncoderConfig, config: Config, lengths: TextLengths, fused: bool
) -> float:
    blocks = _kept_by_blocks(model, model.layers, lengths.target, fused, causal=False)
    return _kept_by_embedding(model) + _kept_by_stacks(config, (1.0, model, blocks))


@_kept_by.register
def _kept_by_recurrent(model: RecurrentConfig, _: Config, lengths: TextLengths, __: bool) -> float:
    encoder = CELL_NUMBERS[model.cell] * model.dim * model.encoder_layers
    return lengths.ratio * encoder + _kept_by_rnn_decoder(model, lengths.source)


def _kept_by_rnn_decoder(model: RecurrentConfig, keys: float) -> float:
    """The cells of a decoder, its words and its attention, for each target."""
    cells = CELL_NUMBERS[model.cell] * model.dim * model.decoder_layers
    words = 5 * model.embedding
    if not model.looks:
        return cells + words
    looks = 4 * model.dim + keys * (model.dim if model.score.hidden else 2)
    # Attention before the cell's step: the steps are computed one by one, gate by gate.
    apart = GATES[model.cell] * model.dim if model.order == "bahdanau" else 0
    return cells + words + looks + apart


@_kept_by.register
def _kept_by_captioner(
    model: CaptionerConfig, config: Config, lengths: TextLengths, fused: bool
) -> float:
    assert isinstance(config, CaptionConfig)
    encoder, decoder = model.encoder, model.decoder
    images = 1.0 / (lengths.target * config.data.captions_per_picture)
    cells = encoder.grid[0] * encoder.grid[1]
    seen = float(cells * (encoder.width + 2 * decoder.dim))
    if isinstance(encoder, CnnConfig):
        side = encoder.size // encoder.patch
        seen += _kept_by_convolutions(encoder.channels, encoder.blocks, encoder.dropout, side, side)
    elif isinstance(encoder, EyeConfig | VitConfig):
        seen += _kept_by_encoder_of_images(encoder, fused)
    reader = model.reader.stack(decoder.dim) if model.reader.layers else None
    stacks = []
    if reader is not None:
        read = _kept_by_blocks(reader, model.reader.layers, cells, fused, causal=False)
        stacks.append((images * cells, reader, read))
    keys = cells if model.memory == "grid" else 1
    if isinstance(decoder, RnnDecoderConfig):
        recurrent = decoder.recurrent(looks=model.memory == "grid")
        kept = _kept_by_stacks(config, *stacks) if stacks else 0.0
        return images * seen + kept + _kept_by_rnn_decoder(recurrent, keys)
    memory = float(keys), images * keys
    layers, length = decoder.layers, lengths.target
    blocks = _kept_by_blocks(decoder, layers, length, fused, causal=True, memory=memory)
    return (
        images * seen
        + _kept_by_embedding(decoder)
        + _kept_by_stacks(config, *stacks, (1.0, decoder, blocks))
    )


def _kept_by_encoder_of_images(encoder: EyeConfig | VitConfig, fused: bool) -> float:
    """The layers that are trained, over one image."""
    if isinstance(encoder, VitConfig):
        kept = _kept_by_blocks(encoder, encoder.layers, encoder.states, fused, causal=False)
        return encoder.states * sum(kept)
    if not encoder.tuned_stages:
        return 0.0
    channels, rows, columns = encoder.frozen_shape
    stages = STAGES[-encoder.tuned_stages :]
    wide = sum(3 * stage.blocks * stage.expansion * stage.channels for stage in stages)
    return float(rows * columns * (channels + wide + 2 * encoder.width))


def _kept_by_convolutions(
    channels: tuple[int, ...], blocks: int, dropout: float, rows: int, columns: int
) -> float:
    """The convolutions of one image."""
    kept = rows * columns * (channels[0] + 3.0)
    for number, width in enumerate(channels):
        if number:
            kept += 2 * rows * columns * channels[number - 1]
            rows, columns = -(-rows // 2), -(-columns // 2)
        kept += blocks * (4 + 2 * (dropout > 0)) * rows * columns * width
    return kept + 2 * rows * columns * channels[-1]


@_kept_by.register
def _kept_by_image_classifier(
    model: ImageClassifierConfig, _: Config, __: TextLengths, fused: bool
) -> float:
    if model.encoder is not None:
        return _kept_by_encoder_of_images(model.encoder, fused)
    rows, columns = -(-model.height // model.patch), -(-model.width // model.patch)
    kept = _kept_by_convolutions(model.channels, model.blocks, model.dropout, rows, columns)
    for stage, width in enumerate(model.channels, 1):
        cells = rows * columns
        if stage in model.attention_after:
            whole = 0 if fused and not model.attention_dropout else model.attention_heads * cells
            kept += cells * (6 * width + whole)
        if stage in model.mixing_after:
            kept += cells * 4 * width
        rows, columns = -(-rows // 2), -(-columns // 2)
    return kept
