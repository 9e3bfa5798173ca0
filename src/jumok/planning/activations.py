"""The numbers that a forward pass keeps for its backward pass, for each target.

Counted from what autograd saves on the path without kernels of our own; a test compares the two. A
kernel that recomputes instead of saving needs less, so a plan is rather too high than too low.

Source: the idea of the count: Korthikanti et al. 2022, "Reducing activation recomputation in large
Transformer models", section 4.1.
"""

from collections.abc import Callable

from jumok.config import Config
from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.config.captions import CaptionDataConfig
from jumok.config.causal import CausalConfig
from jumok.config.families import CaptionConfig
from jumok.config.masked import EncoderConfig, MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import GATES, RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.models.size import head_dims
from jumok.narrowing import taking
from jumok.planning.blocks import LANES, fuses, keys_seen, multiplied
from jumok.planning.products import Lengths

CELL_NUMBERS = {"rnn": 3, "gru": 9, "lstm": 10}
"""Vectors that one step of an RNN's cell keeps, of the width of its state, about."""


def kept_numbers(config: Config, lengths: Lengths, fused: bool = True) -> float:
    """The numbers kept for each target of a micro-batch, without the logits.

    Args:
        fused: whether the attention weights are recomputed in the backward pass, as fused kernels
            do if none of the weights are dropped.
    """
    return _KEPT[type(config.model)](config.model, config, lengths, fused)


def _attention(config: StackConfig, keys: float, fused: bool) -> float:
    """One self-attention and the residual connection after it, for each query.

    Args:
        keys: that each query attends to.
    """
    head_dim, value_dim = head_dims(config)
    heads, shared = config.heads, _shared(config)
    queries, states = heads * (head_dim + 2 * value_dim), shared * (head_dim + value_dim)
    if config.attention_kind == "latent":
        compressed = 3 * (config.query_latent_dim or 0)
        made = 3 * (config.latent_dim or 2 * head_dim) + config.turned_dim
        states = heads * (head_dim + value_dim) + compressed + made
    elif config.attention_kind == "differential":  # values of pairs, their norm and difference
        queries, states = heads * (head_dim + 6 * value_dim), shared * (head_dim + 2 * value_dim)
    elif config.attention_kind == "linear":  # features, of which an exponential is kept
        queries, states = queries + heads * head_dim, states + shared * head_dim
    if config.sinks and multiplied(config):
        wider = LANES - head_dim % LANES
        queries, states = queries + heads * wider, states + shared * wider
    if config.value_residual:
        states += shared * value_dim
    looked = _scores(config, keys, fused)
    return queries + states + _processed(config, 1.0) + looked + _added(config)


def _shared(config: StackConfig, *, cross: bool = False) -> int:
    """The heads of keys and values that are kept: copies for each head where scores are drawn."""
    if multiplied(config, cross=cross):
        return config.kv_heads or config.heads
    return config.heads


def _cross(config: StackConfig, keys: float, states: float, fused: bool) -> float:
    """One attention to a Memory and the residual connection after it, for each query.

    Args:
        states: the keys and values that are computed for each query.
    """
    head_dim, value_dim = head_dims(config)
    shared = _shared(config, cross=True)
    heads = config.heads * (head_dim + 2 * value_dim) + states * shared * (head_dim + value_dim)
    looked = _scores(config, keys, fused, cross=True)
    return heads + _processed(config, states) + looked + _added(config)


def _processed(config: StackConfig, states: float) -> float:
    """The heads' vectors before they are processed, and the factors of outputs."""
    (head_dim, value_dim), heads = head_dims(config), config.heads
    vectors = (heads + states * (config.kv_heads or heads)) * head_dim
    before = 2 * vectors * (len(config.process_heads) + (config.score == "cosine"))
    if config.score == "bilinear":
        before += states * (config.kv_heads or heads) * head_dim
    outputs = config.process_output
    factors = heads * outputs.count("head-gate")
    factors += heads * value_dim * outputs.count("element-gate")
    return before + factors + heads * value_dim * len(outputs)


def _scores(config: StackConfig, keys: float, fused: bool, *, cross: bool = False) -> float:
    """The scores and weights of attention that are kept for each query, and what they are of."""
    if fused and fuses(config, cross=cross):
        return 0.0
    kept = keys * (4 if config.attention_dropout else 2)
    if config.score_cap is not None:
        kept += keys
    if config.score == "additive":  # a hidden layer for each pair
        kept += keys * head_dims(config)[0]
    return config.heads * kept


def _added(config: StackConfig) -> float:
    """The stream and its norm after one sublayer, and the mask of its dropout."""
    vectors = 2 + (config.norm_kind == "rms") + (config.dropout > 0)
    return vectors * config.dim


def _feedforward(config: StackConfig) -> float:
    """The feed-forward layer and the residual connection after it, for each position."""
    inner = (3 if config.feedforward_kind == "gated" else 1) + (config.activation != "relu")
    inner += 2 * (config.feedforward_dropout > 0)
    kept = inner * config.feedforward
    if config.experts is not None:  # what each one reads and writes, and the router's choices
        kept = config.experts_used * (kept + 3 * config.dim + 8) + 2 * config.experts
    return kept + _added(config)


def _stack(
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
        length: of the text, in tokens.
        memory: the keys of a Memory, and how many of them are computed for each position; None:
            there is no cross-attention.
    """
    each = _feedforward(config) + (0.0 if memory is None else _cross(config, *memory, fused))
    seen = keys_seen(config, layers, length, causal=causal)
    return [each + _attention(config, keys, fused) for keys in seen]


def _kept(config: Config, *stacks: tuple[float, StackConfig, list[float]]) -> float:
    """What stacks of blocks keep for each target.

    If blocks are computed again, they keep their inputs, the stream and its norm; and the one
    that is computed at the moment keeps everything.

    Args:
        stacks: for each the positions for each target, and what its blocks keep.
    """
    if not config.training.recompute:
        return sum(positions * sum(blocks) for positions, _, blocks in stacks)
    inputs = sum(2 * positions * len(blocks) * model.dim for positions, model, blocks in stacks)
    largest = max((positions * max(blocks, default=0.0) for positions, _, blocks in stacks))
    return inputs + largest


def _embedded(config: StackConfig) -> float:
    """The embedding of a token, and its first norm."""
    return (1 + (config.dropout > 0)) * config.dim


def _transformer(model: TransformerConfig, config: Config, lengths: Lengths, fused: bool) -> float:
    encoder = _stack(model, model.encoder_layers, lengths.source, fused, causal=False)
    memory = lengths.source, lengths.ratio
    layers = model.decoder_layers
    decoder = _stack(model, layers, lengths.target, fused, causal=True, memory=memory)
    embedded = (lengths.ratio + 1.0) * _embedded(model)
    return embedded + _kept(config, (lengths.ratio, model, encoder), (1.0, model, decoder))


def _causal(model: CausalConfig, config: Config, lengths: Lengths, fused: bool) -> float:
    blocks = _stack(model, model.layers, lengths.target, fused, causal=True)
    return _embedded(model) + _kept(config, (1.0, model, blocks))


def _encoder(model: EncoderConfig, config: Config, lengths: Lengths, fused: bool) -> float:
    blocks = _stack(model, model.layers, lengths.target, fused, causal=False)
    return _embedded(model) + _kept(config, (1.0, model, blocks))


def _recurrent(model: RecurrentConfig, _: Config, lengths: Lengths, __: bool) -> float:
    encoder = CELL_NUMBERS[model.cell] * model.dim * model.encoder_layers
    return lengths.ratio * encoder + _writer(model, lengths.source)


def _writer(model: RecurrentConfig, keys: float) -> float:
    """The cells of a decoder, its words and its attention, for each target."""
    cells = CELL_NUMBERS[model.cell] * model.dim * model.decoder_layers
    words = 5 * model.embedding
    if not model.looks:
        return cells + words
    additive = model.attention == "additive" or model.coverage
    looks = 4 * model.dim + keys * (model.dim if additive else 2)
    # Attention before the cell's step: the steps are computed one by one, gate by gate.
    apart = GATES[model.cell] * model.dim if model.order == "bahdanau" else 0
    return cells + words + looks + apart


def _captioner(model: CaptionerConfig, config: Config, lengths: Lengths, fused: bool) -> float:
    assert isinstance(config, CaptionConfig)
    encoder, decoder = model.encoder, model.decoder
    images = 1.0 / (lengths.target * _captions(config.data))
    cells = encoder.grid[0] * encoder.grid[1]
    seen = float(cells * (encoder.width + 2 * decoder.dim))
    if isinstance(encoder, CnnConfig):
        side = encoder.size // encoder.patch
        seen += _convolutions(encoder.channels, encoder.blocks, encoder.dropout, side, side)
    reader = model.reader.stack(decoder.dim) if model.reader.layers else None
    stacks = []
    if reader is not None:
        read = _stack(reader, model.reader.layers, cells, fused, causal=False)
        stacks.append((images * cells, reader, read))
    keys = cells if model.memory == "grid" else 1
    if isinstance(decoder, RnnDecoderConfig):
        recurrent = decoder.recurrent(looks=model.memory == "grid")
        kept = _kept(config, *stacks) if stacks else 0.0
        return images * seen + kept + _writer(recurrent, keys)
    memory = float(keys), images * keys
    layers, length = decoder.layers, lengths.target
    blocks = _stack(decoder, layers, length, fused, causal=True, memory=memory)
    return images * seen + _embedded(decoder) + _kept(config, *stacks, (1.0, decoder, blocks))


def _captions(data: CaptionDataConfig) -> int:
    return data.captions_per_picture


def _convolutions(
    channels: tuple[int, ...], blocks: int, dropout: float, rows: int, columns: int
) -> float:
    """The convolutions of one image, of which the first stage has these rows and columns."""
    kept = rows * columns * (channels[0] + 3.0)
    for number, width in enumerate(channels):
        if number:
            kept += 2 * rows * columns * channels[number - 1]
            rows, columns = -(-rows // 2), -(-columns // 2)
        kept += blocks * (4 + 2 * (dropout > 0)) * rows * columns * width
    return kept + 2 * rows * columns * channels[-1]


def _image(model: ImageClassifierConfig, _: Config, __: Lengths, fused: bool) -> float:
    rows, columns = -(-model.height // model.patch), -(-model.width // model.patch)
    kept = _convolutions(model.channels, model.blocks, model.dropout, rows, columns)
    for stage, width in enumerate(model.channels, 1):
        cells = rows * columns
        if stage in model.attention_after:
            whole = 0 if fused and not model.attention_dropout else model.attention_heads * cells
            kept += cells * (6 * width + whole)
        if stage in model.mixing_after:
            kept += cells * 4 * width
        rows, columns = -(-rows // 2), -(-columns // 2)
    return kept


_KEPT: dict[type[ModelSection], Callable[[ModelSection, Config, Lengths, bool], float]] = {
    TransformerConfig: taking(TransformerConfig, _transformer),
    RecurrentConfig: taking(RecurrentConfig, _recurrent),
    CaptionerConfig: taking(CaptionerConfig, _captioner),
    CausalConfig: taking(CausalConfig, _causal),
    MaskedConfig: taking(MaskedConfig, _encoder),
    TextClassifierConfig: taking(TextClassifierConfig, _encoder),
    ImageClassifierConfig: taking(ImageClassifierConfig, _image),
}
