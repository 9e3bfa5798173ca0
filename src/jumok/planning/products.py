"""The products of matrices in a training step, part by part.

A product of an (m k) and a (k n) matrix takes 2 m k n FLOP. The backward pass takes twice those of
the forward pass: one product for the gradient of each factor. Sums, norms, activations and
softmaxes are not counted. Scores that a mask hides are: a row of T tokens has T^2 of them, but for
those beyond a window. What blocks multiply is in `blocks.py`.

Source: Chowdhery et al. 2022 (PaLM), appendix B, has the same definition for decoders.
"""

from dataclasses import dataclass, replace
from functools import singledispatch

from jumok.config import Config
from jumok.config.captioner import CaptionerConfig, CnnConfig, RnnDecoderConfig
from jumok.config.captions import CaptionDataConfig
from jumok.config.causal import CausalConfig
from jumok.config.families import CaptionConfig, MaskedLanguageModelConfig
from jumok.config.masked import EncoderConfig, MaskedConfig, TextClassifierConfig
from jumok.config.pictures import ImageClassifierConfig
from jumok.config.recurrent import RecurrentConfig
from jumok.config.section import ModelSection
from jumok.config.stack import StackConfig
from jumok.config.training import TrainingConfig, TranslationTrainingConfig
from jumok.config.transformer import TransformerConfig
from jumok.errors import ConfigError
from jumok.models import tensors
from jumok.models.size import TABLES
from jumok.planning import blocks
from jumok.specs import matrices

LABELS = 10
"""Labels of a classifier, which only the data knows; their number hardly matters."""


@dataclass(frozen=True)
class Part:
    """A part of a model.

    Attributes:
        name: in words.
        weights: the numbers in its matrices; biases and the gains of norms are left out.
        forward: FLOP of its products for one target, forward.
        backward: FLOP of their gradients.
        again: FLOP of the products that are computed a second time, for the backward pass.
    """

    name: str
    weights: int
    forward: float
    backward: float
    again: float = 0.0

    @property
    def both(self) -> float:
        """FLOP forward and backward."""
        return self.forward + self.backward + self.again


@dataclass(frozen=True)
class Lengths:
    """The mean numbers of tokens, END included, of a text and of its source.

    A classifier and a masked language model read `target` tokens; images count as one.
    """

    source: float
    target: float

    @property
    def ratio(self) -> float:
        """Source tokens for each target token."""
        return self.source / self.target


def parts_of(config: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    """The parts of a recipe's model with their products for one target.

    A target is what `training.tokens_per_batch` counts: a target token, of a masked language model
    and a text classifier a token, of an image classifier an image.

    Raises:
        ConfigError: the kind of model or one of its parts is a plugin's, its sizes are in another
            model, or it has no blocks that could be computed again.
    """
    if type(config.model) not in _counted.registry:
        known = [kind for kind in _counted.registry if issubclass(kind, ModelSection)]
        raise ConfigError(
            "the products of this kind of model are not known.",
            expected=", ".join(str(kind.model_fields["kind"].default) for kind in known),
            got=config.model.kind,
        )
    if isinstance(config.model, TextClassifierConfig) and config.model.pretrained is not None:
        raise ConfigError(
            "the sizes of this model are those of a pretrained one, which a plan does not read.",
            got=f"model.pretrained = {config.model.pretrained}",
            do="plan the recipe with its sizes: model.dim, model.layers, ...",
        )
    _check_parts(config.model)
    parts = _counted(config.model, config, vocabulary, lengths)
    if not config.training.recompute:
        return [replace(part, again=0.0) for part in parts]
    if not any(part.again for part in parts):
        raise ConfigError(
            "training.recompute computes blocks again, and this model has none.",
            got="training.recompute = true",
            do="leave it out; a lower training.tokens_per_micro_batch needs less memory, too",
        )
    return parts


@singledispatch
def _counted(model: object, config: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    """The parts of a model, by the class of its section."""
    raise NotImplementedError


def _check_parts(model: ModelSection) -> None:
    """Checks that every part of the model has a record, which a plugin's may not have.

    Raises:
        ConfigError: its products are not known.
    """
    for key, name, spec in model.parts():
        if spec is None:
            raise ConfigError(
                "the products of this part are not known.",
                got=f"{key} = {name}",
                do="give its record where it is registered: "
                "jumok.register(ROLE, NAME, PART, spec=...)",
            )


def readings_of(training: TrainingConfig) -> int:
    """How often each target is computed in a step: twice with R-Drop."""
    doubled = isinstance(training, TranslationTrainingConfig) and training.consistency
    return 2 if doubled else 1


def _part(name: str, weights: int, forward: float) -> Part:
    return Part(name, weights, forward, 2.0 * forward)


def _block_part(name: str, weights: int, forward: float) -> Part:
    """A part of blocks, which are computed again if the recipe says so."""
    return Part(name, weights, forward, 2.0 * forward, forward)


def _stack(
    name: str, config: StackConfig, layers: int, length: float, positions: float, *, causal: bool
) -> list[Part]:
    """Blocks of self-attention.

    Args:
        length: of the text, in tokens.
        positions: of the stack for each target.
        causal: whether a token sees only those before it.
    """
    keys = blocks.keys_seen(config, layers, length, causal=causal)
    attention = positions * sum(blocks.self_attention(config, seen) for seen in keys)
    inner = layers * positions * blocks.feedforward(config)
    weights = [matrices(part(config)) for part in (tensors.self_attention, tensors.feedforward)]
    return [
        _block_part(f"{name}: attention", layers * weights[0], attention),
        _block_part(f"{name}: feed-forward", layers * weights[1], inner),
    ]


def _cross(config: StackConfig, layers: int, keys: float, positions: float) -> Part:
    """Attention of a decoder to the Memory, which has `positions` for each target."""
    forward = layers * blocks.cross_attention(config, keys, positions)
    weights = layers * matrices(tensors.cross_attention(config))
    return _block_part("decoder: cross-attention", weights, forward)


def _logits(vocabulary: int, width: int, tables: int, share: float = 1.0) -> Part:
    """The tables of embeddings, of which the last one is a product."""
    weights = tables * vocabulary * width
    return _part("embeddings and logits", weights, share * 2.0 * vocabulary * width)


def _learned(config: StackConfig) -> list[Part]:
    """Position vectors, if they are learned."""
    parts = []
    if config.positions == "learned":
        parts.append(Part("positions", config.max_length * config.dim, 0.0, 0.0))
    if config.positions_join == "concatenate":
        parts.append(_part("positions", 2 * config.dim**2, 4.0 * config.dim**2))
    return parts


@_counted.register
def _transformer(
    model: TransformerConfig, _: Config, vocabulary: int, lengths: Lengths
) -> list[Part]:
    source, target, ratio = lengths.source, lengths.target, lengths.ratio
    return [
        *_stack("encoder", model, model.encoder_layers, source, ratio, causal=False),
        *_stack("decoder", model, model.decoder_layers, target, 1.0, causal=True),
        _cross(model, model.decoder_layers, source, ratio),
        _logits(vocabulary, model.dim, TABLES[model.tied]),
        *2 * _learned(model),
    ]


@_counted.register
def _causal(model: CausalConfig, _: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    blocks = _stack("blocks", model, model.layers, lengths.target, 1.0, causal=True)
    return [*blocks, _logits(vocabulary, model.dim, 1 if model.tied else 2), *_learned(model)]


@_counted.register
def _masked(model: MaskedConfig, config: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    assert isinstance(config, MaskedLanguageModelConfig)
    share = config.masking.share
    head = _part("prediction head", model.dim**2, share * 2.0 * model.dim**2)
    return [
        *_encoder(model, lengths),
        head,
        _logits(vocabulary + 1, model.dim, 1, share),  # the mask is a token
        *_learned(model),
    ]


@_counted.register
def _texts(model: TextClassifierConfig, _: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    labels = LABELS * model.dim
    return [
        *_encoder(model, lengths),
        _part("labels", labels, 2.0 * labels / lengths.target),
        Part("embeddings", (vocabulary + 1) * model.dim, 0.0, 0.0),  # the mask is a token
        *_learned(model),
    ]


def _encoder(model: EncoderConfig, lengths: Lengths) -> list[Part]:
    return _stack("blocks", model, model.layers, lengths.target, 1.0, causal=False)


@_counted.register
def _recurrent(model: RecurrentConfig, _: Config, vocabulary: int, lengths: Lengths) -> list[Part]:
    encoder, ratio = matrices(tensors.readers(model)), lengths.ratio
    return [
        _part("encoder: cells", encoder, ratio * 2.0 * encoder),
        *_writer(model, lengths.source, lengths.target, ratio),
        _logits(vocabulary, model.embedding, TABLES[model.tied]),
    ]


def _writer(model: RecurrentConfig, source: float, target: float, ratio: float) -> list[Part]:
    """The cells of an RNN decoder, its attention and its readout."""
    names = "cells", "first", "readout", "attention.score.query", "attention.score.key"
    shapes = tensors.writer(model)
    cells, first, readout, queries, keys = (matrices(shapes, f"decoder.{each}") for each in names)
    parts = [
        _part("decoder: cells", cells + first, 2.0 * (cells + first / target)),
        _part("decoder: readout", readout, 2.0 * readout),
    ]
    if not model.looks:
        return parts
    # A score that is no product is computed element by element; the sum of values is one.
    products = (1 + model.score.product) * source * model.dim
    forward = 2.0 * (queries + ratio * keys + products)
    return [*parts, _part("decoder: cross-attention", queries + keys, forward)]


@_counted.register
def _captioner(
    model: CaptionerConfig, config: Config, vocabulary: int, lengths: Lengths
) -> list[Part]:
    assert isinstance(config, CaptionConfig)
    encoder, decoder, dim = model.encoder, model.decoder, model.decoder.dim
    images = 1.0 / (lengths.target * _captions(config.data))
    cells, grid = encoder.grid[0] * encoder.grid[1], model.memory == "grid"
    parts = []
    if isinstance(encoder, CnnConfig):
        side = encoder.size // encoder.patch
        parts += _convolutions(encoder.channels, encoder.blocks, 3, encoder.patch, side, side)
    if grid:
        written = encoder.width * dim
        parts.append(_part("cells to states", written, 2.0 * written * cells))
        reader, layers = model.reader.stack(dim), model.reader.layers
        parts += _stack("cells", reader, layers, cells, cells, causal=False)
    else:
        share = max(1, dim // 4)
        joined = share * cells * 2 * dim + 2 * dim * dim
        squeezed = encoder.width * share
        forward = 2.0 * (squeezed * cells + joined)
        parts.append(_part("cells to one vector", squeezed + joined, forward))
    parts = [
        replace(
            each,
            forward=images * each.forward,
            backward=images * each.backward,
            again=images * each.again,
        )
        for each in parts
        if each.weights
    ]
    keys = cells if grid else 1
    if isinstance(decoder, RnnDecoderConfig):
        recurrent = decoder.recurrent(looks=grid)
        written_by = _writer(recurrent, keys, lengths.target, keys / lengths.target)
        return [*parts, *written_by, _logits(vocabulary, decoder.embedding, 1)]
    return [
        *parts,
        *_stack("decoder", decoder, decoder.layers, lengths.target, 1.0, causal=True),
        _cross(decoder, decoder.layers, keys, images * keys),
        _logits(vocabulary, dim, 1),
        *_learned(decoder),
    ]


def _captions(data: CaptionDataConfig) -> int:
    """Captions for which an image is read once: those of a batch."""
    return data.captions_per_picture


def _convolutions(
    channels: tuple[int, ...], blocks: int, colours: int, patch: int, rows: int, columns: int
) -> list[Part]:
    """The convolutions over one image, of which the first stage has these rows and columns."""
    stem = colours * (2 * patch + 1) ** 2 * channels[0]
    forward = 2.0 * rows * columns * stem
    parts = [Part("convolutions: first", stem, forward, forward)]  # pixels need no gradient
    inner = None
    for number, width in enumerate(channels, 1):
        weights = blocks * 18 * width**2
        if inner is not None:
            rows, columns = -(-rows // 2), -(-columns // 2)
            weights += 9 * inner * width
        parts.append(
            _part(f"convolutions: stage {number}", weights, 2.0 * rows * columns * weights)
        )
        inner = width
    return parts


@_counted.register
def _image(model: ImageClassifierConfig, *_: object) -> list[Part]:
    rows, columns = -(-model.height // model.patch), -(-model.width // model.patch)
    parts = _convolutions(model.channels, model.blocks, model.colours, model.patch, rows, columns)
    for stage, width in enumerate(model.channels, 1):
        cells = rows * columns
        if stage in model.attention_after:
            forward = cells * (8.0 * width**2 + 4.0 * cells * width)
            parts.append(_part(f"attention after stage {stage}", 4 * width**2, forward))
        if stage in model.mixing_after:
            forward = 8.0 * cells * width**2
            parts.append(_part(f"mixing after stage {stage}", 4 * width**2, forward))
        rows, columns = -(-rows // 2), -(-columns // 2)
    labels = LABELS * model.channels[-1]
    return [*parts, _part("labels", labels, 2.0 * labels)]
