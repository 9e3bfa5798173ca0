"""The size of a model by arithmetic, before its memory is allocated.

Sizes from a file may be anything, and an allocation that is too large is not always refused: most
systems overcommit memory, and kill the process when it is used. Biases and norms are not counted.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.config.causal import CausalConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.errors import ModelError
from jumok.narrowing import taking

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
TABLES = {"all": 1, "target": 2, "none": 3}
MATRICES = {"gated": 3}
"""The number of matrices of a feed-forward layer; others have two."""
SCORES = {"bilinear": 1, "additive": 2}
"""The number of matrices of a score; others have none."""
BYTES = 4
"""The size of a float32 number."""


def numbers_in(config: ModelSection, vocabulary: int, labels: int) -> int:
    """The approximate number of the model's parameters and of its computed position tables."""
    counted = _COUNTED.get(type(config))  # a plugin's model has no entry
    return 0 if counted is None else counted(config, vocabulary, labels)


def check_memory(
    config: ModelSection, vocabulary: int, labels: int, most: int | None = None
) -> None:
    """Checks that there is room for a model.

    Args:
        most: the memory limit in bytes; None: the machine's memory.

    Raises:
        ModelError: the model would need more.
    """
    most = memory() if most is None else min(most, memory())
    needed = BYTES * numbers_in(config, vocabulary, labels)
    if needed > most:
        raise ModelError(
            "a model of these sizes needs more memory than is available.",
            expected=f"at most {most / 1e9:,.1f} GB",
            got=f"about {needed / 1e9:,.1f} GB for its weights and tables",
            do="choose smaller sizes in [model]",
        )


def memory() -> int:
    """The machine's memory in bytes; a terabyte where the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 1 << 40


@dataclass(frozen=True)
class BlockNumbers:
    """The weights in the matrices of a block, part by part.

    Attributes:
        attention: of the self-attention, without its gates and its score.
        cross: of the attention to a Memory, without its gates and its score.
        gates: of either of them.
        score: of either of them: matrices that the heads share.
        router: of the mixture of experts; 0 without one.
        expert: of one feed-forward layer.
        experts: their number; 1 without a mixture.
    """

    attention: int
    cross: int
    gates: int
    score: int
    router: int
    expert: int
    experts: int

    @property
    def own(self) -> int:
        """All of the self-attention."""
        return self.attention + self.gates + self.score

    @property
    def looking(self) -> int:
        """All of the attention to a Memory."""
        return self.cross + self.gates + self.score

    @property
    def feedforward(self) -> int:
        """All experts and their router."""
        return self.router + self.experts * self.expert


def block_weights(config: StackConfig) -> BlockNumbers:
    """The weights of one block."""
    head_dim, value_dim = head_dims(config)
    cross = config.dim * (config.heads + (config.kv_heads or config.heads)) * (head_dim + value_dim)
    gates = {"head-gate": config.heads, "element-gate": config.heads * value_dim}
    experts = config.experts or 1
    return BlockNumbers(
        _latent(config, head_dim, value_dim) if config.attention_kind == "latent" else cross,
        cross,
        config.dim * sum(gates.get(name, 0) for name in config.process_output),
        SCORES.get(config.score, 0) * head_dim**2,
        config.dim * experts if config.experts is not None else 0,
        MATRICES.get(config.feedforward_kind, 2) * config.dim * config.feedforward,
        experts,
    )


def head_dims(config: StackConfig) -> tuple[int, int]:
    """The widths of a head's query and key, and of its value."""
    head_dim = config.head_dim or config.dim // config.heads
    return head_dim, config.value_dim or head_dim


def _block(config: StackConfig, cross: bool = False) -> int:
    weights = block_weights(config)
    return weights.own + weights.looking * cross + weights.feedforward


def _latent(config: StackConfig, head_dim: int, value_dim: int) -> int:
    latent, turned = config.latent_dim or 2 * head_dim, config.turned_dim
    asked = config.query_latent_dim or 0
    query = (config.dim * asked + asked * config.heads * head_dim) if asked else 0
    query = query or config.dim * config.heads * head_dim
    made = config.dim * (latent + turned) + latent * config.heads * (head_dim - turned + value_dim)
    return query + made + config.heads * value_dim * config.dim


def _places(config: StackConfig) -> int:
    counted = config.positions in ("sinusoidal", "learned")
    joined = config.dim * config.dim if config.positions_join == "concatenate" else 0
    return config.max_length * config.dim * counted + joined


def _transformer(config: TransformerConfig, vocabulary: int, _: int) -> int:
    blocks = config.encoder_layers * _block(config)
    blocks += config.decoder_layers * _block(config, cross=True)
    return blocks + TABLES[config.tied] * vocabulary * config.dim + 2 * _places(config)


def _encoder(config: MaskedConfig | TextClassifierConfig, vocabulary: int, labels: int) -> int:
    tables = (vocabulary + labels) * config.dim + _places(config)
    return config.layers * _block(config) + tables


def _causal(config: CausalConfig, vocabulary: int, _: int) -> int:
    tables = (1 if config.tied else 2) * vocabulary * config.dim + _places(config)
    return config.layers * _block(config) + tables


def _recurrent(config: RecurrentConfig, vocabulary: int, _: int) -> int:
    reads = config.embedding + (config.encoder_layers - 1) * config.dim
    each = config.dim // (1 + config.bidirectional)
    encoder = GATES[config.cell] * config.dim * (reads + config.encoder_layers * each)
    tables = TABLES[config.tied] * vocabulary * config.embedding
    return encoder + _writer(config) + tables


def _writer(config: RecurrentConfig) -> int:
    reads = config.embedding + (2 * config.decoder_layers - 1) * config.dim
    shown = (2 * config.dim + config.embedding) * config.embedding
    return GATES[config.cell] * config.dim * reads + shown


def _convolutions(config: CnnConfig | ImageClassifierConfig) -> int:
    stem = 3 * (2 * config.patch + 1) ** 2 * config.channels[0]
    halving = sum(9 * a * b for a, b in zip(config.channels, config.channels[1:], strict=False))
    return stem + halving + sum(config.blocks * 18 * channels**2 for channels in config.channels)


def _captioner(config: CaptionerConfig, vocabulary: int, _: int) -> int:
    encoder, decoder = config.encoder, config.decoder
    cells, dim = encoder.grid[0] * encoder.grid[1], decoder.dim
    grid = config.memory == "grid"
    joined = cells * dim if grid else cells * (dim // 4) * dim
    seen = (_convolutions(encoder) if isinstance(encoder, CnnConfig) else 0) + encoder.width * dim
    read = config.reader.layers and config.reader.layers * _block(config.reader.stack(dim))
    if isinstance(decoder, RnnDecoderConfig):
        written = _writer(decoder.recurrent(looks=grid)) + vocabulary * decoder.embedding
    else:
        written = decoder.layers * _block(decoder, cross=True) + vocabulary * dim + _places(decoder)
    return joined + seen + read + written


def _picture(config: ImageClassifierConfig, _: int, labels: int) -> int:
    looked = (*config.attention_after, *config.mixing_after)
    among = sum(4 * config.channels[stage - 1] ** 2 for stage in looked)
    return _convolutions(config) + among + labels * config.channels[-1]


_COUNTED: dict[type[ModelSection], Callable[[ModelSection, int, int], int]] = {
    TransformerConfig: taking(TransformerConfig, _transformer),
    RecurrentConfig: taking(RecurrentConfig, _recurrent),
    CaptionerConfig: taking(CaptionerConfig, _captioner),
    CausalConfig: taking(CausalConfig, _causal),
    MaskedConfig: taking(MaskedConfig, _encoder),
    TextClassifierConfig: taking(TextClassifierConfig, _encoder),
    ImageClassifierConfig: taking(ImageClassifierConfig, _picture),
}
