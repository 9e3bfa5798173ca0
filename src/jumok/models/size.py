"""The size of a model by arithmetic, before its memory is allocated.

An allocation that is too large is not always refused: most systems overcommit memory, and kill the
process when it is used. Biases and norms are not counted.
"""

import os
from functools import singledispatch

from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.config.causal import CausalConfig
from jumok.config.eye import EyeConfig
from jumok.config.masked import MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.transformer import TransformerConfig
from jumok.config.vit import VitConfig
from jumok.errors import ModelError
from jumok.models.tensors import block, readers, writer
from jumok.specs import matrices

TABLES = {"all": 1, "target": 2, "inputs": 2, "none": 3}
BYTES = 4
"""The size of a float32 number."""


@singledispatch
def numbers_in(config: ModelSection, vocabulary: int, labels: int, /) -> int:  # noqa: ARG001
    """The approximate number of the model's parameters and of its computed position tables; 0 of a
    kind of model from a plugin.
    """
    return 0


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


def _block_size(config: StackConfig, cross: bool = False) -> int:
    return matrices(block(config, cross=cross))


def _table_size(config: StackConfig) -> int:
    positions, dim = config.specs.positions, config.dim
    table = positions.limited and positions.width(dim, config.max_length) == dim
    joined = dim * dim if config.positions_join == "concatenate" else 0
    return config.max_length * dim * table + joined


@numbers_in.register
def _transformer_size(config: TransformerConfig, vocabulary: int, _: int) -> int:
    blocks = config.encoder_layers * _block_size(config)
    blocks += config.decoder_layers * _block_size(config.decoder, cross=True)
    return blocks + TABLES[config.tied] * vocabulary * config.dim + 2 * _table_size(config)


@numbers_in.register
def _encoder_size(config: MaskedConfig | TextClassifierConfig, vocabulary: int, labels: int) -> int:
    tables = (vocabulary + labels) * config.dim + _table_size(config)
    return config.layers * _block_size(config) + tables


@numbers_in.register
def _causal_size(config: CausalConfig, vocabulary: int, _: int) -> int:
    tables = (1 if config.tied else 2) * vocabulary * config.dim + _table_size(config)
    return config.layers * _block_size(config) + tables


@numbers_in.register
def _recurrent_size(config: RecurrentConfig, vocabulary: int, _: int) -> int:
    cells = matrices(readers(config)) + matrices(writer(config))
    return cells + TABLES[config.tied] * vocabulary * config.embedding


def _convolution_size(config: CnnConfig | ImageClassifierConfig) -> int:
    stem = 3 * (2 * config.patch + 1) ** 2 * config.channels[0]
    halving = sum(9 * a * b for a, b in zip(config.channels, config.channels[1:], strict=False))
    return stem + halving + sum(config.blocks * 18 * channels**2 for channels in config.channels)


def _pretrained_size(encoder: EyeConfig | VitConfig) -> int:
    if isinstance(encoder, EyeConfig):
        return sum(encoder.weights_by_stage)
    patches = (3 * encoder.patch**2 + encoder.states) * encoder.dim
    return patches + encoder.layers * _block_size(encoder)


@numbers_in.register
def _captioner_size(config: CaptionerConfig, vocabulary: int, _: int) -> int:
    encoder, decoder = config.encoder, config.decoder
    cells, dim = encoder.grid[0] * encoder.grid[1], decoder.dim
    grid = config.memory == "grid"
    joined = cells * dim if grid else cells * (dim // 4) * dim
    seen = encoder.width * dim
    if isinstance(encoder, CnnConfig):
        seen += _convolution_size(encoder)
    elif isinstance(encoder, EyeConfig | VitConfig):
        seen += _pretrained_size(encoder)
    read = config.reader.layers and config.reader.layers * _block_size(config.reader.stack(dim))
    if isinstance(decoder, RnnDecoderConfig):
        written = matrices(writer(decoder.recurrent(looks=grid))) + vocabulary * decoder.embedding
    else:
        written = decoder.layers * _block_size(decoder, cross=True)
        written += vocabulary * dim + _table_size(decoder)
    return joined + seen + read + written


@numbers_in.register
def _picture_size(config: ImageClassifierConfig, _: int, labels: int) -> int:
    if config.encoder is not None:
        return _pretrained_size(config.encoder) + labels * config.encoder.width
    looked = (*config.attention_after, *config.mixing_after)
    among = sum(4 * config.channels[stage - 1] ** 2 for stage in looked)
    return _convolution_size(config) + among + labels * config.channels[-1]
