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
from jumok.narrowing import taking
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


def _attention(config: StackConfig, keys: float, states: float, fused: bool) -> float:
    """One attention and the residual connection after it, for each query.

    Args:
        keys: that each query attends to.
        states: the keys and values that are computed for each query: 1 in self-attention.
    """
    head_dim = config.head_dim or config.dim // config.heads
    value_dim = config.value_dim or head_dim
    queries, shared = config.heads, config.kv_heads or config.heads
    heads = queries * (head_dim + 2 * value_dim) + states * shared * (head_dim + value_dim)
    if config.attention_dropout or not fused:
        heads += queries * keys * (4 if config.attention_dropout else 2)
    return heads + _added(config)


def _added(config: StackConfig) -> float:
    """The stream and its norm after one sublayer, and the mask of its dropout."""
    vectors = 2 + (config.norm_kind == "rms") + (config.dropout > 0)
    return vectors * config.dim


def _feedforward(config: StackConfig) -> float:
    """The feed-forward layer and the residual connection after it, for each position."""
    inner = 4 if config.feedforward_kind == "gated" else 1 + (config.activation != "relu")
    inner += 2 * (config.feedforward_dropout > 0)
    return inner * config.feedforward + _added(config)


def _stack(config: StackConfig, layers: int, keys: float, fused: bool) -> float:
    return layers * (_attention(config, keys, 1.0, fused) + _feedforward(config))


def _embedded(config: StackConfig) -> float:
    """The embedding of a token, and its first norm."""
    return (1 + (config.dropout > 0)) * config.dim


def _transformer(model: TransformerConfig, _: Config, lengths: Lengths, fused: bool) -> float:
    encoder = _embedded(model) + _stack(model, model.encoder_layers, lengths.source, fused)
    decoder = _embedded(model) + _stack(model, model.decoder_layers, lengths.target, fused)
    cross = model.decoder_layers * _attention(model, lengths.source, lengths.ratio, fused)
    return lengths.ratio * encoder + decoder + cross


def _causal(model: CausalConfig, _: Config, lengths: Lengths, fused: bool) -> float:
    return _embedded(model) + _stack(model, model.layers, lengths.target, fused)


def _encoder(model: EncoderConfig, _: Config, lengths: Lengths, fused: bool) -> float:
    return _embedded(model) + _stack(model, model.layers, lengths.target, fused)


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
    if model.reader.layers:
        stack = model.reader.stack(decoder.dim)
        seen += cells * _stack(stack, model.reader.layers, cells, fused)
    keys = cells if model.memory == "grid" else 1
    if isinstance(decoder, RnnDecoderConfig):
        recurrent = decoder.recurrent(looks=model.memory == "grid")
        return images * seen + _writer(recurrent, keys)
    cross = decoder.layers * _attention(decoder, keys, images * keys, fused)
    own = _embedded(decoder) + _stack(decoder, decoder.layers, lengths.target, fused)
    return images * seen + own + cross


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
